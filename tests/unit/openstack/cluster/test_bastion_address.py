"""The floating IP of a bastion, step by step."""

from typing import Any

from msgspec.structs import replace

from windlass.openstack.cloud.resources import FloatingIp, Port
from windlass.openstack.cluster.bastion_address import next_step
from windlass.openstack.cluster.part import Part
from windlass.openstack.status import ROUTER_READY

from .parts import MARK, OURS, Tree, estate, infra, sent

ADDRESS = "203.0.113.9"
PORT = Port(id="p1", network_id="n1")
MINE = FloatingIp(
    id="f1",
    floating_ip_address=ADDRESS,
    description=f"Bastion address made by Windlass for cluster ns-one windlass-owner={MARK}",
)
ROUTED: Tree = {"conditions": [{"type": ROUTER_READY, "status": "True", "reason": "Ready"}]}
STORED: Tree = {**ROUTED, "bastion": {"floatingIP": ADDRESS}}


def step(*floating: FloatingIp, status: Tree, port: Port | None = PORT, **more: Any) -> Part:
    found = infra({}, {"externalNetwork": {"id": "x1"}, **status})
    return next_step(found, port, OURS, estate(floating=floating, **more))[0]


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


def test_it_waits_for_the_port_and_for_the_router() -> None:
    assert step(MINE, status=STORED, port=None).waits == "the port of the bastion"
    assert step(MINE, status={"bastion": STORED["bastion"]}).waits == "the router"
