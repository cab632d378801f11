"""Which resources are orphans, and in which order they are deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from windlass.openstack.cloud.estate import Balancer, Estate
from windlass.openstack.cloud.inventory import Inventory
from windlass.openstack.cloud.resources import (
    Attachment,
    FloatingIp,
    LoadBalancer,
    Network,
    Port,
    PortAddress,
    Router,
    SecurityGroup,
    Server,
    Subnet,
    Trunk,
    Volume,
)
from windlass.openstack.create import mark_of_owner
from windlass.openstack.overview.orphans import Orphan, is_young, next_requests, orphans, still_there

from .cases import CLUSTER_MARK, OTHER_MARK, SERVER_MARK, held, holdings, uuid

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)

SERVER = held(Server, 1, SERVER_MARK, name="w", status="ACTIVE", created="2026-11-23T09:00:00Z")
PORT = held(Port, 2, SERVER_MARK, name="w-0", created_at="2026-11-23T08:59:00Z")


def test_what_has_a_mark_that_no_object_has_is_an_orphan() -> None:
    found = orphans(holdings(SERVER, PORT, held(Volume, 3, OTHER_MARK), held(Network, 4)), {OTHER_MARK})
    assert found == [
        Orphan("server", "w", uuid(1), SERVER_MARK, "2026-11-23T09:00:00Z"),
        Orphan("port", "w-0", uuid(2), SERVER_MARK, "2026-11-23T08:59:00Z"),
    ]


def test_if_an_object_names_one_resource_nothing_of_its_mark_is_an_orphan() -> None:
    assert orphans(holdings(SERVER, PORT), {PORT.id}) == []


@pytest.mark.parametrize("mark", [mark_of_owner("fleet-7/w-0"), "somebody", "0" * 32])
def test_what_a_program_has_marked_is_never_an_orphan(mark: str) -> None:
    assert orphans(holdings(held(Server, 1, mark)), ()) == []


@pytest.mark.parametrize(
    ("times", "young"),
    [
        (["2026-11-23T11:00:01Z"], True),
        (["2026-11-23T11:00:00Z"], False),
        (["2026-11-20T11:00:00Z", "2026-11-23T11:30:00Z"], True),
        (["2026-11-23T11:59:00"], True),
        (["2026-11-23T10:59:00.000000"], False),
        (["2026-11-23T10:00:00Z", ""], True),
    ],
)
def test_a_mark_is_young_if_it_was_used_in_the_last_hour_or_nobody_knows(times: list[str], young: bool) -> None:
    assert is_young([Orphan("port", "", "", "", each) for each in times], NOW) is young
    assert timedelta(hours=1) == NOW - datetime(2026, 11, 23, 11, tzinfo=UTC)


def test_what_is_gone_or_has_lost_its_mark_is_not_left() -> None:
    found = orphans(holdings(SERVER, PORT), ())
    assert still_there(holdings(held(Server, 1, OTHER_MARK), PORT), found) == [found[1]]


def interface(number: int, owner: str = "network:router_interface") -> Port:
    return Port(
        id=uuid(number), device_id=uuid(20), device_owner=owner, fixed_ips=[PortAddress(subnet_id=f"subnet-{number}")]
    )


BALANCER = held(LoadBalancer, 10, CLUSTER_MARK, name="api", provisioning_status="ACTIVE")
BUSY = held(LoadBalancer, 10, CLUSTER_MARK, name="api", provisioning_status="PENDING_UPDATE")
BROKEN = held(LoadBalancer, 10, CLUSTER_MARK, name="api", provisioning_status="ERROR")
NETWORKS: Any = {
    "networks": (held(Network, 22, CLUSTER_MARK, name="net"),),
    "subnets": (held(Subnet, 23, CLUSTER_MARK),),
    "groups": (held(SecurityGroup, 24, CLUSTER_MARK, name="group"),),
}
ROUTERS = (held(Router, 20, CLUSTER_MARK, name="router"),)
ADDRESSES = (held(FloatingIp, 21, CLUSTER_MARK, floating_ip_address="203.0.113.5"),)


@pytest.mark.parametrize(
    ("inventory", "estate", "sent", "waits"),
    [
        (
            Inventory(servers=(held(Server, 1, CLUSTER_MARK, name="w", status="ACTIVE"),)),
            Estate(balancers=(Balancer(BALANCER),), floating_ips=ADDRESSES, routers=ROUTERS, **NETWORKS),
            ["delete server w", "delete load balancer api", "delete floating ip 203.0.113.5"],
            "",
        ),
        (
            Inventory(
                ports=(held(Port, 2, CLUSTER_MARK, name="p"),),
                trunks=(held(Trunk, 3, CLUSTER_MARK, name="t"),),
                volumes=(held(Volume, 4, CLUSTER_MARK, name="v", status="available"),),
            ),
            Estate(routers=ROUTERS, **NETWORKS),
            ["delete port p", "delete trunk t", "delete volume v"],
            "",
        ),
        (
            Inventory(),
            Estate(balancers=(Balancer(BUSY),), routers=ROUTERS, **NETWORKS),
            [],
            f"load balancer api ({uuid(10)}) is PENDING_UPDATE",
        ),
        (Inventory(), Estate(balancers=(Balancer(BROKEN),)), ["delete load balancer api"], ""),
        (
            Inventory(),
            Estate(routers=ROUTERS, ports=(interface(30), interface(31, "network:router_gateway")), **NETWORKS),
            ["remove interface router"],
            "",
        ),
        (Inventory(), Estate(routers=ROUTERS, **NETWORKS), ["delete router router"], ""),
        (Inventory(), Estate(**NETWORKS), ["delete network net", "delete security group group"], ""),
        (Inventory(), Estate(), [], ""),
    ],
    ids=["first", "then", "busy", "broken", "interfaces", "router", "networks", "nothing"],
)
def test_orphans_go_in_the_order_in_which_clouds_let_them(
    inventory: Inventory, estate: Estate, sent: list[str], waits: str
) -> None:
    following = next_requests(inventory, estate, project="key", mark=CLUSTER_MARK)
    assert [f"{each.verb} {each.subject}" for each in following.requests] == sent
    assert (following.waits, following.stuck) == (waits, "")
    assert {each.mark for each in following.requests} <= {CLUSTER_MARK}


def test_a_volume_of_somebody_elses_server_is_stuck_and_holds_up_nothing() -> None:
    volume = held(Volume, 4, CLUSTER_MARK, name="v", status="in-use", attachments=[Attachment("other")])
    following = next_requests(Inventory(volumes=(volume,)), Estate(**NETWORKS), project="key", mark=CLUSTER_MARK)
    assert len(following.requests) == 2
    assert following.stuck == f"volume v ({uuid(4)}) stays: it is attached to server other"
