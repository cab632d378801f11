"""Clusters with an endpoint of their own: what they ask for, and what they then have."""

from typing import Any

from windlass.api.capo import OpenStackMachine
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.wire import Http, Method, Service

from ..clouded import PROJECT
from .cases import Tree, World, cluster, infra, secret, tree

LB = "k8s-clusterapi-cluster-ns-one-kubeapi"
BALANCED: Tree = {
    "disableExternalNetwork": None,
    "disableAPIServerFloatingIP": None,
    "controlPlaneEndpoint": None,
    "apiServerLoadBalancer": {"enabled": True},
}
FLOATING: Tree = {**BALANCED, "apiServerLoadBalancer": None}
WHOLE = {
    "routers": 1,
    "ports": 3,  # of the router, of the load balancer
    "floatingips": 1,
    "loadbalancers": 1,
    "listeners": 1,
    "pools": 1,
    "healthmonitors": 1,
}
INGRESS = "openstack.windlass.dev/ingress"


def laid_out(spec: Tree | None = None, *trees: Tree) -> World:
    """A cluster on an existing network with a router of the user."""
    world = World(infra({**BALANCED, **(spec or {})}), cluster(), secret(), *trees, times=Times(request=31.0))
    public = world.cloud.services.external_network()
    gateway = {"name": "edge", "external_gateway_info": {"network_id": public}}
    router = ask(world, "POST", "/v2.0/routers", {"router": gateway})["router"]["id"]
    (subnet,) = world.cloud.services.networks[world.network]["subnets"]
    ask(world, "PUT", f"/v2.0/routers/{router}/add_router_interface", {"subnet_id": subnet})
    return world


def ask(world: World, method: Method, path: str, body: Any = None) -> Any:
    """Somebody else asks Neutron, or Octavia."""
    service: Service = "load-balancer" if "/lbaas/" in path else "network"
    status, answer = world.cloud.services.handle(PROJECT, Http(service, method, path, body=body))
    assert status < 300
    return answer


async def made(spec: Tree | None = None, *trees: Tree) -> World:
    world = laid_out(spec, *trees)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True", world.tree()["status"]
    return world


def control_machine(name: str, *addresses: str, **meta: Any) -> Tree:
    labels = {"cluster.x-k8s.io/cluster-name": "one", "cluster.x-k8s.io/control-plane": ""}
    usual = {"labels": labels, "finalizers": ["openstackmachine.infrastructure.cluster.x-k8s.io"]}
    found = tree(OpenStackMachine, name, {}, **{**usual, **meta})
    return {**found, "status": {"addresses": [{"type": "InternalIP", "address": each} for each in addresses]}}


def members(world: World) -> dict[str, str]:
    return {each["name"]: each["address"] for each in world.cloud.services.members.values()}
