"""Members of the load balancer, and the floating IP without one: which machines the endpoint leads to."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from windlass.api.capo import OpenStackMachine
from windlass.api.meta import ObjectMeta
from windlass.kube.control.seen import Present, Unreadable
from windlass.openstack.cloud.balancer_requests import CreateMember
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.resources import FloatingIp, Member, Subnet
from windlass.openstack.cluster import ingress
from windlass.openstack.cluster.ingress import Way
from windlass.openstack.cluster.snapshot import ControlMachine

from .parts import NAME, OURS, SUBNET, balancer, sent

ANNOTATION = "openstack.windlass.dev/ingress"
GONE = "2026-11-22T11:00:00Z"


def machine(
    name: str, *addresses: str, ports: tuple[str, ...] = (), ingress: str = "", created: str = "", **meta: Any
) -> ControlMachine:
    tree = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "annotations": {ANNOTATION: ingress} if ingress else {},
            **({"creationTimestamp": created} if created else {}),
            **meta,
        },
        "status": {"addresses": [{"type": "InternalIP", "address": each} for each in addresses]},
    }
    return ControlMachine(
        found=Present(msgspec.convert(tree, OpenStackMachine), msgspec.json.encode(tree)), ports=ports
    )


def member(name: str, address: str, port: int = 6443) -> Member:
    return Member(f"id-{name}-{address}", f"{NAME}-{port}-{name}", address, port)


def asked(*machines: ControlMachine, found: Balancer | None = None, ports: tuple[int, ...] = (6443,)) -> Way:
    about = balancer() if found is None else found
    return ingress.by_balancer(OURS, about, machines, name=NAME, ports=ports, subnets=(SUBNET,), network="n1")


def annotations(way: Way) -> dict[str, str | None]:
    """What becomes of the annotation of which machine."""
    return {
        each.target.name: dict(each.patch["metadata"]["annotations"] or {ANNOTATION: None}).get(ANNOTATION)
        for each in way.annotations
    }


A, B = machine("cp-0", "10.0.0.11"), machine("cp-1", "10.0.0.12")
LEAVES = machine("cp-0", "10.0.0.11", ingress="lb1", deletionTimestamp=GONE)
IN_A, IN_B = member("cp-0", "10.0.0.11"), member("cp-1", "10.0.0.12")


@pytest.mark.parametrize(
    ("machines", "members", "requests", "annotated"),
    [
        pytest.param((A,), (), [f"create member {NAME}-6443-cp-0"], {}, id="absent"),
        pytest.param((A,), (IN_A,), [], {"cp-0": "lb1"}, id="exists"),
        pytest.param((A, B), (IN_A,), [f"create member {NAME}-6443-cp-1"], {"cp-0": "lb1"}, id="one of two is in"),
        pytest.param((A,), (member("cp-0", "10.0.0.99"),), [f"create member {NAME}-6443-cp-0"], {}, id="wrong address"),
        pytest.param(
            (A,),
            (member("cp-0", "10.0.0.99"), IN_A),
            [f"delete member {NAME}-6443-cp-0"],
            {"cp-0": "lb1"},
            id="the wrong one goes after the right one came",
        ),
        pytest.param((machine("cp-0"),), (), [], {}, id="a machine without addresses"),
        pytest.param((machine("cp-0"),), (IN_A,), [], {}, id="a machine that lost its addresses keeps its member"),
        pytest.param((), (IN_A,), [f"delete member {NAME}-6443-cp-0"], {}, id="a machine that is gone"),
        pytest.param((), (Member("x", "by hand", "10.0.0.77", 6443),), [], {}, id="a member of somebody else"),
        pytest.param((A,), (Member("x", "by hand", "10.0.0.11", 6443),), [], {"cp-0": "lb1"}, id="added by hand"),
        pytest.param(
            (LEAVES, B), (IN_A,), [f"delete member {NAME}-6443-cp-0"], {}, id="who leaves is before who comes"
        ),
        pytest.param((LEAVES, B), (IN_B,), [], {"cp-0": None, "cp-1": "lb1"}, id="who left may be deleted"),
    ],
)
def test_the_members_are_the_machines_one_request_at_a_time(
    machines: tuple[ControlMachine, ...],
    members: tuple[Member, ...],
    requests: list[str],
    annotated: dict[str, str | None],
) -> None:
    way = asked(*machines, found=balancer(members=members))
    assert sent(way.part.requests) == requests
    assert annotations(way) == annotated


def test_a_machine_has_a_member_for_each_port_before_it_is_told() -> None:
    way = asked(A, found=balancer(ports=(6443, 8080), members=(IN_A,)), ports=(6443, 8080))
    assert sent(way.part.requests) == [f"create member {NAME}-8080-cp-0"]
    assert annotations(way) == {}
    without_pool = asked(A, found=balancer(ports=(6443,), members=(IN_A,)), ports=(6443, 8080))
    assert annotations(without_pool) == {}


@pytest.mark.parametrize(
    ("network", "subnet"), [pytest.param("n9", "s1", id="other network"), pytest.param("n1", None, id="the same")]
)
def test_the_subnet_is_named_where_the_load_balancer_is_on_another_network(network: str, subnet: str | None) -> None:
    (create,) = asked(A, found=balancer(vip_network_id=network)).part.requests
    assert isinstance(create, CreateMember)
    assert create.body.get("subnet_id") == subnet
    assert (create.body["address"], create.body["protocol_port"]) == ("10.0.0.11", 6443)


def test_of_several_addresses_the_one_on_the_network_of_the_cluster_is_taken() -> None:
    (create,) = asked(machine("cp-0", "192.0.2.1", "10.0.0.11")).part.requests
    assert isinstance(create, CreateMember)
    assert create.body["address"] == "10.0.0.11"


@pytest.mark.parametrize(
    ("found", "annotated"),
    [
        pytest.param(balancer("PENDING_UPDATE"), {}, id="busy"),
        pytest.param(balancer("ERROR", ports=()), {"cp-0": None}, id="in error: a machine that goes may go"),
    ],
)
def test_a_load_balancer_that_cannot_be_changed(found: Balancer, annotated: dict[str, Any]) -> None:
    way = asked(LEAVES, B, found=found)
    assert way.part.requests == ()
    assert annotations(way) == annotated


def test_a_machine_that_cannot_be_read_keeps_its_member_and_may_leave() -> None:
    meta = ObjectMeta(name="cp-0", namespace="ns", annotations={ANNOTATION: "lb1"})
    way = asked(ControlMachine(found=Unreadable(meta, "malformed")), found=balancer(members=(IN_A,)))
    assert way.part.requests == ()
    leaves = ControlMachine(found=Unreadable(replace(meta, deletion_timestamp=GONE), "malformed"))
    way = asked(leaves, found=balancer(members=(IN_A,)))
    assert sent(way.part.requests) == [f"delete member {NAME}-6443-cp-0"]
    assert annotations(asked(leaves)) == {"cp-0": None}


def test_a_machine_need_not_leave_a_load_balancer_that_is_gone() -> None:
    way = ingress.by_balancer(OURS, None, [LEAVES, B], name=NAME, ports=(6443,), subnets=(), network="n1")
    assert annotations(way) == {"cp-0": None}


OLD = machine("cp-1", ports=("cp-1-port",), created="2026-01-01T00:00:00Z")
NEW = machine("cp-0", ports=("cp-0-port",), created="2026-02-01T00:00:00Z")
OLD_LEAVES = machine("cp-1", ports=("cp-1-port",), ingress="f1", deletionTimestamp=GONE)


@pytest.mark.parametrize(
    ("machines", "leads", "to", "annotated"),
    [
        pytest.param((NEW, OLD), None, "cp-1-port", {}, id="to the oldest"),
        pytest.param((NEW, OLD), "cp-0-port", None, {"cp-0": "f1", "cp-1": "f1"}, id="it stays where it is"),
        pytest.param((NEW, OLD_LEAVES), "cp-1-port", "cp-0-port", {}, id="it moves when the machine goes"),
        pytest.param((NEW, OLD_LEAVES), "cp-0-port", None, {"cp-0": "f1", "cp-1": None}, id="it has moved"),
        pytest.param((OLD_LEAVES,), "cp-1-port", None, {"cp-1": None}, id="the last one goes with it"),
        pytest.param((machine("cp-0"),), None, None, {}, id="a machine without a port yet"),
        pytest.param((), None, None, {}, id="no machines"),
    ],
)
def test_without_a_load_balancer_the_floating_ip_leads_to_one_machine(
    machines: tuple[ControlMachine, ...], leads: str | None, to: str | None, annotated: dict[str, str | None]
) -> None:
    floating = FloatingIp(id="f1", floating_ip_address="203.0.113.9", port_id=leads)
    way = ingress.by_floating_ip(OURS, floating, machines)
    assert [each.port for each in way.part.requests if isinstance(each, AssociateFloatingIp)] == ([to] if to else [])
    assert annotations(way) == annotated


def test_the_floating_ip_is_not_led_away_from_a_port_that_is_no_machines() -> None:
    floating = FloatingIp(id="f1", floating_ip_address="203.0.113.9", port_id="other")
    way = ingress.by_floating_ip(OURS, floating, (NEW, OLD_LEAVES))
    assert way.part.requests == ()
    assert "(f1) leads to port other, which is not this cluster's" in str(way.part.obstacles[0].why)
    assert annotations(way) == {"cp-1": None}, "a machine that goes does not wait for it"


@pytest.mark.parametrize(
    ("vip", "expected"),
    [("fd00::5", "fd00::7"), ("10.0.0.5", "10.0.0.7"), ("", "10.0.0.7"), ("192.0.2.5", "10.0.0.7")],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_member_has_an_address_of_the_same_kind_as_the_load_balancer(vip: str, expected: str, turned: bool) -> None:
    addresses = ("fd00::7", "10.0.0.7")
    found = machine("cp-0", *(addresses[::-1] if turned else addresses))
    both = (SUBNET, Subnet(id="s6", network_id="n1", cidr="fd00::/64"))
    assert ingress.address_of(found, both, vip) == expected


def test_a_member_of_another_kind_is_better_than_none() -> None:
    only = (Subnet(id="s6", network_id="n1", cidr="fd00::/64"),)
    assert ingress.address_of(machine("cp-0", "10.0.9.9", "fd00::7"), only, "10.0.0.5") == "fd00::7"


def test_a_given_endpoint_leads_to_every_machine() -> None:
    assert annotations(ingress.given([A, LEAVES])) == {"cp-0": None}
    assert annotations(ingress.given([A, B])) == {"cp-0": "given", "cp-1": "given"}
    assert ingress.given([replace(A)]).part.is_there
