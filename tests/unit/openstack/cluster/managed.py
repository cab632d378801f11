"""A cluster with a network and security groups of its own, on the models."""

from typing import Any

from windlass.api.capo_cluster import OpenStackCluster
from windlass.openstack.cloud.wire import Http, Method

from ..clouded import PROJECT
from .cases import HOST, Tree, World, cluster, infra, secret

NAME = "k8s-clusterapi-cluster-ns-one"
CIDR = "10.6.0.0/24"
MANAGED: Tree = {
    "network": None,
    "disableExternalNetwork": None,
    "disableAPIServerFloatingIP": True,
    "controlPlaneEndpoint": HOST,
    "managedSubnets": [{"cidr": CIDR, "dnsNameservers": ["10.0.0.1"]}],
    "managedSecurityGroups": {},
    "tags": ["blue", "a,b"],
}
WHOLE = {"networks": 1, "subnets": 1, "routers": 1, "ports": 1, "security_groups": 2, "security_group_rules": 16}


def managed(**spec: Any) -> World:
    world = World(infra({**MANAGED, **spec}), cluster(), secret())
    world.external = world.cloud.services.external_network()  # type: ignore[attr-defined]
    return world


async def made(**spec: Any) -> World:
    world = managed(**spec)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True", world.tree()["status"]
    return world


def ask(world: World, method: Method, path: str, body: Any = None) -> Any:
    """Somebody else asks Neutron."""
    status, answer = world.cloud.services.handle(PROJECT, Http("network", method, f"/v2.0{path}", body=body))
    assert status < 300
    return answer


async def delete(api: Any) -> None:
    found = api.peek(OpenStackCluster, "one-infra", namespace="ns")
    if found is not None and not found.metadata.deletion_timestamp:
        await api.delete(OpenStackCluster, "one-infra", namespace="ns")
