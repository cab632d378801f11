"""What is called like a cluster's resources and has no mark: adopted, or in the way of everything that is created."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from windlass.openstack.cloud.network_inventory import Unmarked
from windlass.openstack.cloud.network_requests import CreateRouter
from windlass.openstack.cloud.resources import (
    LoadBalancer,
    Network,
    Port,
    PortAddress,
    Router,
    SecurityGroup,
    Subnet,
)
from windlass.openstack.cluster import unmarked
from windlass.openstack.cluster.names import of_provider
from windlass.openstack.cluster.part import NETWORK, ROUTER, Part

from .networked import NAME, OURS, PROVIDERS, sent

Step: TypeAlias = Callable[[], Part | None]
CIDR = "10.6.0.0/24"
N, OTHER = Network(id="n", **PROVIDERS), Network(id="n2", **PROVIDERS)
S = Subnet(id="s", network_id="n", cidr=CIDR, **PROVIDERS)
R = Router(id="r", **PROVIDERS)
LB = LoadBalancer(
    id="lb",
    name=f"{NAME}-kubeapi",
    description=of_provider("ns-one"),
    vip_network_id="n",
    provisioning_status="ACTIVE",
)
GROUP = "k8s-cluster-ns-one-secgroup-worker"
G = SecurityGroup(id="g", name=GROUP, description="Cluster API managed group")


def interface(subnet: str) -> Port:
    owner = "network:router_interface"
    return Port(id="i", device_id="r", device_owner=owner, fixed_ips=[PortAddress(subnet_id=subnet)])


def network(found: Unmarked) -> Part | None:
    return unmarked.network(OURS, found, cidr=CIDR)


def subnet(found: Unmarked, on: Network | None = N) -> Part | None:
    return unmarked.subnet(OURS, found, on, cidr=CIDR)


def router(found: Unmarked, to: Subnet | None = S) -> Part | None:
    return unmarked.router(OURS, found, to)


def balancer(found: Unmarked, on: Network | None = N) -> Part | None:
    return unmarked.balancer(OURS, found, on)


def groups(found: Unmarked) -> Part | None:
    return unmarked.groups(OURS, found, [GROUP])


@pytest.mark.parametrize(
    ("step", "request_"),
    [
        pytest.param(lambda: network(Unmarked(networks=(N,))), "networks/n", id="a network"),
        pytest.param(lambda: network(Unmarked(networks=(N,), subnets=(S,))), "networks/n", id="with its subnet"),
        pytest.param(lambda: subnet(Unmarked(subnets=(S,))), "subnets/s", id="a subnet"),
        pytest.param(lambda: router(Unmarked(routers=(R,))), "routers/r", id="a router that leads nowhere yet"),
        pytest.param(lambda: router(Unmarked(routers=(R,), interfaces=(interface("s"),))), "routers/r", id="a router"),
        pytest.param(lambda: router(Unmarked(routers=(R,)), None), "routers/r", id="a router, and nothing else yet"),
        pytest.param(lambda: groups(Unmarked(groups=(G,))), "security-groups/g", id="a group"),
        pytest.param(lambda: balancer(Unmarked(balancers=(LB,))), "lbaas/loadbalancers/lb", id="a load balancer"),
        pytest.param(
            lambda: balancer(Unmarked(balancers=(replace(LB, vip_network_id="x"),)), None),
            "lbaas/loadbalancers/lb",
            id="a load balancer on a network that the spec names",
        ),
    ],
)
def test_what_fits_gets_the_mark_and_an_event(step: Step, request_: str) -> None:
    part = step()
    assert part is not None
    assert [each.partition("/v2.0/")[2] for each in sent(part)] == [request_]
    assert [(each.reason, each.warning) for each in part.news] == [("AdoptingResource", False)]
    assert not part.holds


@pytest.mark.parametrize(
    ("step", "says"),
    [
        pytest.param(
            lambda: network(Unmarked(networks=(replace(N, description="x"),))), "its description is not", id="text"
        ),
        pytest.param(
            lambda: network(Unmarked(networks=(N,), subnets=(replace(S, cidr="10.7.0.0/24"),))),
            "its subnet s is 10.7.0.0/24, not 10.6.0.0/24",
            id="a network with another subnet",
        ),
        pytest.param(
            lambda: network(Unmarked(networks=(N, OTHER))), "(n), k8s-clusterapi-cluster-ns-one (n2)", id="two"
        ),
        pytest.param(
            lambda: subnet(Unmarked(subnets=(replace(S, cidr="10.7.0.0/24"),))), "it is 10.7.0.0/24", id="CIDR"
        ),
        pytest.param(lambda: subnet(Unmarked(subnets=(S,)), OTHER), "it is on network n", id="on another network"),
        pytest.param(
            lambda: subnet(Unmarked(subnets=(S,)), None), "it is on network n", id="before there is a network"
        ),
        pytest.param(
            lambda: router(Unmarked(routers=(R,), interfaces=(interface("x"),))), "it leads to subnet x", id="a router"
        ),
        pytest.param(
            lambda: router(Unmarked(routers=(R,), interfaces=(interface("x"),)), None),
            "subnet x",
            id="before anything else",
        ),
        pytest.param(
            lambda: groups(Unmarked(groups=(replace(G, description=""),))), "Cluster API managed group", id="group"
        ),
        pytest.param(lambda: balancer(Unmarked(balancers=(LB,)), OTHER), "its address is on network n", id="balancer"),
        pytest.param(
            lambda: balancer(Unmarked(balancers=(replace(LB, provisioning_status="ERROR"),))),
            "it is in ERROR",
            id="in error",
        ),
    ],
)
def test_what_does_not_fit_is_named_and_holds_the_cluster(step: Step, says: str) -> None:
    part = step()
    assert part is not None
    assert part.requests == ()
    assert part.holds
    assert says in str(part.obstacles[0].why)
    assert "openstack.windlass.dev/adopt of the OpenStackCluster to none" in str(part.obstacles[0].why)


@pytest.mark.parametrize(
    "step",
    [
        lambda: network(Unmarked()),
        lambda: subnet(Unmarked()),
        lambda: subnet(Unmarked(networks=(N,), subnets=(S,)), None),
        lambda: router(Unmarked()),
        lambda: groups(Unmarked(groups=(replace(G, name="k8s-cluster-ns-one-secgroup-controlplane"),))),
        lambda: balancer(Unmarked()),
    ],
    ids=["network", "subnet", "a subnet whose network comes first", "router", "group of another role", "balancer"],
)
def test_where_there_is_none_the_cluster_gets_its_own(step: Step) -> None:
    assert step() is None


def test_each_waits_for_what_it_has_to_fit_to() -> None:
    step = router(Unmarked(routers=(R,), subnets=(S,)), None)
    assert step is not None
    assert step.waits == f"subnet {NAME}"
    pending = balancer(Unmarked(balancers=(replace(LB, provisioning_status="PENDING_UPDATE"),)))
    assert pending is not None
    assert (pending.requests, pending.waits) == ((), f"load balancer {NAME}-kubeapi: PENDING_UPDATE")


def test_nothing_is_created_while_one_is_in_the_way() -> None:
    body: dict[str, Any] = {"name": NAME}
    creates = ROUTER.needs(OURS.create(CreateRouter, NAME, body), OURS.adopt(R))
    (kept,) = unmarked.held([creates])
    assert kept == creates
    _, held = unmarked.held([replace(NETWORK.hindered("whose is it?"), holds=True), creates])
    assert sent(held) == ["PUT /v2.0/routers/r"]
    assert not held.is_there
    assert held.waits
