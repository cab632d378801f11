"""Clusters with an endpoint of their own: what they ask for, and what they then have."""

from typing import Any

from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.wire import Http, Method, Service

from ..clouded import PROJECT
from .cases import Tree, World, cluster, infra, secret

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
