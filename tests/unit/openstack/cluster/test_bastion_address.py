"""The floating IP of a bastion, step by step."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.openstack.cloud.network_inventory import Unmarked
from windlass.openstack.cloud.resources import FloatingIp, Port
from windlass.openstack.cluster.bastion_address import next_step
from windlass.openstack.cluster.names import of_provider
from windlass.openstack.cluster.part import Part
from windlass.openstack.status import ROUTER_READY

from .parts import MARK, OURS, Tree, balancer, infra, inventory, sent

ADDRESS = "203.0.113.9"
PORT = Port(id="p1", network_id="n1")
MINE = FloatingIp(
    id="f1",
    floating_ip_address=ADDRESS,
    description=f"Bastion address made by Windlass for cluster ns-one windlass-owner={MARK}",
)
OLD = FloatingIp(id="f3", floating_ip_address=ADDRESS, description=of_provider("ns-one"))
OF_ENDPOINT = replace(OLD, floating_ip_address="203.0.113.7")
ENDPOINT: Tree = {"controlPlaneEndpoint": {"host": "203.0.113.7", "port": 6443}}
ROUTED: Tree = {"conditions": [{"type": ROUTER_READY, "status": "True", "reason": "Ready"}]}
STORED: Tree = {**ROUTED, "bastion": {"floatingIP": ADDRESS}}


def step(*floating: FloatingIp, status: Tree, port: Port | None = PORT, **more: Any) -> Part:
    found = infra({}, {"externalNetwork": {"id": "x1"}, **status})
    return next_step(found, port, OURS, inventory(floating=floating, **more), ports=("p1", "p2"))[0]


def test_none_is_created_while_an_earlier_request_may_arrive() -> None:
    part = step(status=ROUTED, certain=False, certain_in=7.0)
    assert part.requests == ()
    assert "in the next 7 s" in part.waits
    assert sent(step(status=ROUTED).requests) == ["create floating ip of the bastion"]


def test_its_address_is_stored_before_it_leads_to_the_server() -> None:
    assert step(MINE, status=ROUTED).waits == f"floating IP {ADDRESS} to be stored"
    assert step(MINE, status=ROUTED).requests == ()
    assert sent(step(MINE, status=STORED).requests) == [f"associate floating ip {ADDRESS}"]
    assert step(replace(MINE, port_id="p1"), status=STORED).is_there


@pytest.mark.parametrize("floating", [MINE, OLD], ids=["ours", "an earlier provider's"])
def test_it_is_not_led_away_from_a_port_that_is_not_the_bastions(floating: FloatingIp) -> None:
    part = step(replace(floating, port_id="other"), status=STORED)
    assert part.requests == (), "not even the mark"
    assert "leads to port other, which is not this cluster's" in str(part.obstacles[0].why)
    moved = step(replace(MINE, port_id="p2"), status=STORED)
    assert sent(moved.requests) == [f"associate floating ip {ADDRESS}"], "from one port of the bastion to the other"


@pytest.mark.parametrize(
    ("floating", "sends", "says"),
    [
        pytest.param((OLD,), [f"describe {ADDRESS}"], "", id="leads nowhere"),
        pytest.param((replace(OLD, port_id="p1"),), [f"describe {ADDRESS}"], "", id="leads to the bastion"),
        pytest.param((replace(OLD, port_id="other"),), [], f"floating IP {ADDRESS} (f3)", id="leads elsewhere"),
        pytest.param((OLD, replace(OLD, id="f4")), [], "2 floating IPs", id="two"),
        pytest.param((OF_ENDPOINT,), ["create floating ip of the bastion"], "", id="that of the endpoint"),
        pytest.param((replace(OLD, port_id="vip"),), ["create floating ip of the bastion"], "", id="of the balancer"),
    ],
)
def test_one_that_nothing_records_is_adopted_if_it_is_the_only_one(
    floating: tuple[FloatingIp, ...], sends: list[str], says: str
) -> None:
    found = infra(ENDPOINT, {"externalNetwork": {"id": "x1"}, **ROUTED})
    there = inventory(balancer(), unmarked=Unmarked(floating_ips=floating))
    part, _ = next_step(found, PORT, OURS, there, ports=("p1", "p2"))
    assert sent(part.requests) == sends
    assert (says in str(part.obstacles[0].why)) if says else not part.obstacles


def test_it_waits_for_the_port_and_for_the_router() -> None:
    assert step(MINE, status=STORED, port=None).waits == "the port of the bastion"
    assert step(MINE, status={"bastion": STORED["bastion"]}).waits == "the router"
