"""Fields of an OpenStackCluster that ask for what this version does not make, each with what to set instead."""

from windlass.api.capo_cluster import OpenStackCluster
from windlass.openstack.status import ENDPOINT_READY, NETWORK_READY, SECURITY_GROUPS_READY


def unsupported(infra: OpenStackCluster) -> dict[str, str]:
    """A sentence for each condition that such a field concerns."""
    spec = infra.spec
    network = []
    if spec.managed_subnets:
        remedy = "make the network yourself, and name it in spec.network or spec.subnets"
        network.append(f"spec.managedSubnets is not supported yet: {remedy}")
    if spec.bastion is not None and spec.bastion.enabled is not False:
        network.append("spec.bastion is not supported yet: set spec.bastion.enabled to false")
    found = {NETWORK_READY: "; ".join(network)}
    if spec.managed_security_groups is not None:
        remedy = "make security groups yourself, and name them in spec.securityGroups of the OpenStackMachines"
        found[SECURITY_GROUPS_READY] = f"spec.managedSecurityGroups is not supported yet: {remedy}"
    if spec.api_server_load_balancer is not None and spec.api_server_load_balancer.enabled is not False:
        remedy = "set its field enabled to false, and spec.controlPlaneEndpoint to a load balancer of yours"
        found[ENDPOINT_READY] = f"spec.apiServerLoadBalancer is not supported yet: {remedy}"
    return {part: text for part, text in found.items() if text}


def left_in_cloud(infra: OpenStackCluster) -> str:
    """What an earlier provider made for the cluster, and nobody deletes now; empty if nothing is recorded."""
    spec, status = infra.spec, infra.status
    groups = (status.control_plane_security_group, status.worker_security_group, status.bastion_security_group)
    made = [
        *([f"network {status.network.id}"] if spec.managed_subnets and status.network and status.network.id else []),
        *([f"router {status.router.id}"] if spec.managed_subnets and status.router and status.router.id else []),
        *(f"security group {each.id}" for each in groups if each is not None and each.id),
    ]
    balancer = status.api_server_load_balancer
    if balancer is not None and balancer.id:
        made.append(f"load balancer {balancer.id}")
    return ", ".join(made)
