"""The objects that people create: each owner of resources in the cloud, with what it needs in its cluster."""

from collections.abc import Iterator
from typing import Any, Final

from tests.unit.openstack.clouded import secret
from windlass.api import capi, mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddressClaim
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER, Namespaces

Tree = dict[str, Any]

TEAMS: Final = ("team-a", "team-b")
MACHINES, MIRRORS = Namespaces()
"""Those of the Machine API, and of Cluster API's mirrors of its Machines."""
CLUSTER: Final = "shop"


def tree(kind: type[KubernetesObject], name: str, place: str, spec: Tree, **meta: Any) -> Tree:
    resource = kind.RESOURCE
    metadata = {"name": name, "namespace": place, **meta}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


IDENTITY: Final = {"type": "Secret", "name": "credentials", "cloudName": "one"}


def given_cluster(place: str) -> Iterator[Tree]:
    """A Cluster whose infrastructure somebody else provides."""
    group = OpenStackCluster.RESOURCE.group
    reference = {"apiGroup": group, "kind": "OpenStackCluster", "name": CLUSTER}
    provisioned = {"initialization": {"infrastructureProvisioned": True}}
    yield {**tree(capi.Cluster, CLUSTER, place, {"infrastructureRef": reference}), "status": provisioned}
    elsewhere = {"cluster.x-k8s.io/managed-by": "somebody"}
    yield tree(OpenStackCluster, CLUSTER, place, {"identityRef": IDENTITY}, annotations=elsewhere)


def server(network: str, name: str, place: str) -> list[Tree]:
    """An OpenStackServer that somebody makes by hand."""
    spec = {
        "identityRef": IDENTITY,
        "image": {"filter": {"name": "rhcos"}},
        "flavor": "m1.small",
        "sshKeyName": "",
        "ports": [{"network": {"id": network}}],
    }
    return [tree(OpenStackServer, name, place, spec)]


def machine(network: str, name: str, place: str) -> list[Tree]:
    """A Machine of Cluster API with its OpenStackMachine."""
    reference = {"apiGroup": OpenStackMachine.RESOURCE.group, "kind": "OpenStackMachine", "name": name}
    labels = {"cluster.x-k8s.io/cluster-name": CLUSTER}
    identity = {"name": "credentials", "cloudName": "one"}
    made = {"identityRef": identity, "image": {"filter": {"name": "rhcos"}}, "flavor": "m1.small"}
    ports = [{"network": {"id": network}}]
    data = {"dataSecretName": f"{name}-data"}
    spec = {"clusterName": CLUSTER, "bootstrap": data, "infrastructureRef": reference}
    return [
        {**secret(), "metadata": {"name": f"{name}-data", "namespace": place}, "data": {"value": "e30="}},
        tree(capi.Machine, name, place, spec, labels=labels, finalizers=[CLUSTER_API_FINALIZER]),
        tree(OpenStackMachine, name, place, {**made, "ports": ports}, labels=labels),
    ]


def machine_of_machine_api(network: str, name: str, place: str) -> list[Tree]:
    value = {
        "apiVersion": "machine.openshift.io/v1alpha1",
        "kind": "OpenstackProviderSpec",
        "cloudsSecret": {"name": "credentials", "namespace": MACHINES},
        "cloudName": "one",
        "flavor": "m1.small",
        "image": "rhcos",
        "networks": [{"uuid": network}],
        "userDataSecret": {"name": "worker-user-data"},
    }
    labels = {"machine.openshift.io/cluster-api-cluster": CLUSTER}
    spec = {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": value}}
    return [tree(mapi.Machine, name, MACHINES, spec, labels=labels)]


def managed_cluster(network: str, name: str, place: str) -> list[Tree]:
    """A Cluster with a network of its own."""
    reference = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": name}
    spec = {
        "identityRef": IDENTITY,
        "managedSubnets": [{"cidr": "10.6.0.0/24"}],
        "disableAPIServerFloatingIP": True,
        "controlPlaneEndpoint": {"host": "api.example", "port": 6443},
    }
    return [
        tree(capi.Cluster, name, place, {"infrastructureRef": reference}, finalizers=[CLUSTER_API_FINALIZER]),
        tree(OpenStackCluster, name, place, spec),
    ]


def pool(network: str, name: str, place: str) -> list[Tree]:
    """A pool of floating IPs, and a claim of one."""
    reference = {"apiGroup": OpenStackFloatingIPPool.RESOURCE.group, "kind": "OpenStackFloatingIPPool", "name": name}
    return [
        tree(OpenStackFloatingIPPool, name, place, {"identityRef": IDENTITY, "reclaimPolicy": "Delete"}),
        tree(IPAddressClaim, name, place, {"poolRef": reference}),
    ]


def owned_by(*owners: Any) -> list[Tree]:
    """The last one is the controller."""
    return [
        {
            "apiVersion": each.kind.RESOURCE.api_version,
            "kind": each.kind.RESOURCE.kind,
            "name": each.name,
            "uid": each.uid,
            "controller": each is owners[-1],
            "blockOwnerDeletion": True,
        }
        for each in owners
    ]
