"""Fields of an OpenStackCluster that ask for what this version does not make, each with what to set instead."""

from windlass.api.capo_cluster import OpenStackCluster
from windlass.openstack.status import ENDPOINT_READY, NETWORK_READY


def unsupported(infra: OpenStackCluster) -> dict[str, str]:
    """A sentence for each condition that such a field concerns."""
    spec = infra.spec
    found: dict[str, str] = {}
    if spec.bastion is not None and spec.bastion.enabled is not False:
        found[NETWORK_READY] = "spec.bastion is not supported yet: set spec.bastion.enabled to false"
    if spec.api_server_load_balancer is not None and spec.api_server_load_balancer.enabled is not False:
        remedy = "set its field enabled to false, and spec.controlPlaneEndpoint to a load balancer of yours"
        found[ENDPOINT_READY] = f"spec.apiServerLoadBalancer is not supported yet: {remedy}"
    return found
