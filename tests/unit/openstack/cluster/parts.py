"""A cluster and what the cloud has of it, for tests of single parts."""

from typing import Any

import msgspec

from windlass.api.capo_cluster import OpenStackCluster
from windlass.openstack.cloud.network_inventory import Balancer, NetworkInventory
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.cloud.resources import (
    FloatingIp,
    Gateway,
    HealthMonitor,
    Listener,
    LoadBalancer,
    Member,
    Network,
    Pool,
    PortAddress,
    Router,
    Subnet,
)
from windlass.openstack.cluster.new_balancer import Place
from windlass.openstack.cluster.part import Ours

Tree = dict[str, Any]

MARK = "7d3f0d9a-0000-4000-8000-000000000001"
MARKED = f"Made by Windlass windlass-owner={MARK}"
OURS = Ours(project="p", intent=Intent(MARK), cluster="ns-one")
NAME = "k8s-clusterapi-cluster-ns-one-kubeapi"
SUBNET = Subnet(id="s1", name="one", network_id="n1", cidr="10.0.0.0/24")
NETWORK, EXTERNAL = Network(id="n1", name="machines"), Network(id="x1", name="public")
ROUTER = Router(id="r1", external_gateway_info=Gateway("x1", [PortAddress("sx", "203.0.113.7")]))


def infra(spec: Tree | None = None, status: Tree | None = None) -> OpenStackCluster:
    return msgspec.convert({"spec": spec or {}, "status": status or {}}, OpenStackCluster)


def place(**fields: Any) -> Place:
    return Place(**{"network": NETWORK, "subnets": (SUBNET,), **fields})


def balancer(
    status: str = "ACTIVE",
    *,
    ports: tuple[int, ...] = (6443,),
    members: tuple[Member, ...] = (),
    cidrs: tuple[str, ...] = (),
    **fields: Any,
) -> Balancer:
    """A complete load balancer for these ports, with defaults; the members are in the pool of the first port."""
    usual = {
        "id": "lb1",
        "name": NAME,
        "description": MARKED,
        "provisioning_status": status,
        "provider": "amphora",
        "vip_address": "10.0.0.5",
        "vip_network_id": "n1",
        "vip_port_id": "vip",
    }
    listeners, pools, monitors = [], [], []
    for port in ports:
        name = f"{NAME}-{port}"
        monitors.append(HealthMonitor(f"m-{name}", name, 10, 5, 5, 3))
        pools.append(Pool(f"p-{name}", name, "", [*members] if port == ports[0] else [], monitors[-1]))
        listeners.append(Listener(f"l-{name}", name, port, "", f"p-{name}", [*cidrs]))
    lb = LoadBalancer(**{**usual, **fields})
    return Balancer(lb, tuple(listeners), tuple(pools), tuple(monitors))


def inventory(*balancers: Balancer, floating: tuple[FloatingIp, ...] = (), **fields: Any) -> NetworkInventory:
    return NetworkInventory(balancers=balancers, floating_ips=floating, **fields)


def sent(requests: tuple[CloudRequest, ...]) -> list[str]:
    """The requests in words: verb and subject."""
    return [f"{each.verb} {each.subject}" for each in requests]
