"""How what is made for a cluster is called and described: by us, and by Cluster API's own provider.

`cluster` is `NAMESPACE-NAME` of the Cluster. We give the provider's names, so that its clusters can be taken over.
"""

from typing import Final

CONTROL_PLANE: Final = "controlplane"
WORKER: Final = "worker"
BASTION: Final = "bastion"
ROLES: Final = (CONTROL_PLANE, WORKER, BASTION)
"""The roles that have a security group."""
GROUP_OF_PROVIDER: Final = "Cluster API managed group"
"""The description of every security group that the provider makes."""


def network_name(cluster: str) -> str:
    """The name of the network, of its subnet and of its router."""
    return f"k8s-clusterapi-cluster-{cluster}"


def balancer_name(cluster: str) -> str:
    return f"{network_name(cluster)}-kubeapi"


def group_name(cluster: str, role: str) -> str:
    return f"k8s-cluster-{cluster}-secgroup-{role}"


def role_of(group: str) -> str:
    """The role of a security group by its name."""
    return group.rpartition("-secgroup-")[2]


def names(cluster: str) -> frozenset[str]:
    """All of them."""
    return frozenset((network_name(cluster), balancer_name(cluster), *(group_name(cluster, role) for role in ROLES)))


def of_provider(cluster: str) -> str:
    """How the provider describes what it makes for the cluster, but for security groups."""
    return f"Created by cluster-api-provider-openstack cluster {cluster}"
