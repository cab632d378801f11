"""Fields of an OpenStackCluster that ask for what this version does not make, each with what to set instead."""

from windlass.api.capo_cluster import OpenStackCluster
from windlass.openstack.status import NETWORK_READY


def unsupported(infra: OpenStackCluster) -> dict[str, str]:
    """A sentence for each condition that such a field concerns."""
    spec = infra.spec
    found: dict[str, str] = {}
    if spec.bastion is not None and spec.bastion.enabled is not False:
        found[NETWORK_READY] = "spec.bastion is not supported yet: set spec.bastion.enabled to false"
    return found
