"""What of a cluster goes next, and what stays because it is not the cluster's."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.openstack.cluster.networked import FOREIGN, MARKED, NAME, OURS, PROVIDERS, sent
from windlass.openstack.cloud.marks import described, mark_for
from windlass.openstack.cloud.network_inventory import Balancer, NetworkInventory
from windlass.openstack.cloud.resources import (
    FloatingIp,
    LoadBalancer,
    Network,
    Port,
    PortAddress,
    Router,
    SecurityGroup,
    Subnet,
)
from windlass.openstack.cluster.part import Part
from windlass.openstack.cluster.removal import removal, staying
from windlass.openstack.status import DELETING, Reason

MACHINE = mark_for("1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", "u", "server/ns/one-workers-0")
NETWORK = Network(id="n", **MARKED)
SUBNET = Subnet(id="s", network_id="n", **MARKED)
ROUTER = Router(id="r", **MARKED)
GROUP = SecurityGroup(id="g", **{**MARKED, "name": "k8s-cluster-ns-one-secgroup-worker"})
ADDRESS = FloatingIp(id="f", floating_ip_address="203.0.113.5", port_id="vip", description=MARKED["description"])
NO_BALANCER = Part(condition=DELETING, reason=Reason.DELETING_LOAD_BALANCER)
DELETED = {"networks": "n", "routers": "r", "security-groups": "g", "floatingips": "f"}


def port(which: str, device: str = "", owner: str = "", *, subnet: str = "s", network: str = "n", **more: Any) -> Port:
    address = [PortAddress(subnet, "")]
    return Port(id=which, network_id=network, device_id=device, device_owner=owner, fixed_ips=address, **more)


INTERFACE = port("i", "r", "network:router_interface")
WHOLE = NetworkInventory(
    networks=(NETWORK,),
    subnets=(SUBNET,),
    routers=(ROUTER,),
    groups=(GROUP,),
    floating_ips=(ADDRESS,),
    ports=(INTERFACE, port("d", "dhcp", "network:dhcp")),
)


def goes(inventory: NetworkInventory, balancer: Part = NO_BALANCER) -> Part:
    return removal(OURS, inventory, names=("one", "ns-one"), balancer=balancer)


def test_all_goes_in_the_order_in_which_the_cloud_lets_it_go() -> None:
    left, order = WHOLE, []
    while not (part := goes(left)).is_there:
        order += [(part.reason, each) for each in sent(part)]
        assert len(part.requests) == 1
        match part.requests[0].verb:
            case "delete floating ip":
                left = replace(left, floating_ips=())
            case "remove interface":
                left = replace(left, ports=left.ports[1:])
            case "delete router":
                left = replace(left, routers=())
            case "delete network":
                left = replace(left, networks=(), subnets=(), ports=())
            case "delete security group":
                left = replace(left, groups=())
    assert order == [
        ("DeletingNetwork", "DELETE /v2.0/floatingips/f"),
        ("DeletingNetwork", "PUT /v2.0/routers/r/remove_router_interface"),
        ("DeletingNetwork", "DELETE /v2.0/routers/r"),
        ("DeletingNetwork", "DELETE /v2.0/networks/n"),
        ("DeletingSecurityGroups", "DELETE /v2.0/security-groups/g"),
    ]


def test_the_load_balancer_goes_after_its_floating_ip_and_before_the_network() -> None:
    waits = replace(NO_BALANCER, waits="load balancer x: PENDING_DELETE")
    assert sent(goes(WHOLE, waits)) == ["DELETE /v2.0/floatingips/f"]
    assert goes(replace(WHOLE, floating_ips=()), waits) == waits


def test_a_router_of_the_user_loses_its_interface_and_stays() -> None:
    theirs = replace(ROUTER, **FOREIGN)
    for routers in ((theirs,), ()):
        inventory = replace(WHOLE, floating_ips=(), routers=routers)
        assert sent(goes(inventory)) == ["PUT /v2.0/routers/r/remove_router_interface"]
        assert sent(goes(replace(inventory, ports=()))) == ["DELETE /v2.0/networks/n"]


def test_a_floating_ip_of_the_user_is_taken_off_and_stays() -> None:
    theirs = replace(ADDRESS, description="keep")
    balancer = LoadBalancer(id="lb", vip_port_id="vip", description=MARKED["description"])
    ports = (port("left", name="one-0-0"), port("used", "server", "compute:nova"))
    inventory = replace(WHOLE, floating_ips=(theirs,), ports=ports, balancers=(Balancer(balancer),))
    for leads in ("vip", "left"):
        (off,) = goes(replace(inventory, floating_ips=(replace(theirs, port_id=leads),))).requests
        assert off.http.body == {"floatingip": {"port_id": None}}
    for leads in ("elsewhere", "used"):
        part = goes(replace(inventory, floating_ips=(replace(theirs, port_id=leads),)))
        assert sent(part) == ["DELETE /v2.0/routers/r"], "it stays where it leads"
    assert staying(OURS, inventory) == ("floating IP f",)


@pytest.mark.parametrize(
    ("left", "is_left"),
    [
        (port("p", name="lost", description=described("", "m")), True),
        (port("p", "server", "compute:nova", description=described("", "m")), True),
        (port("p", name="one-workers-x2-0"), True),
        (port("p", name="ns-one-workers-0"), True),
        (port("p", name="one"), True),
        (port("p", "server", "compute:nova", name="one-workers-x2-0"), False),
        (port("p", name="oneness"), False),
        (port("p", name="one-workers-0", description=described("", MACHINE)), False),
    ],
    ids=["mark", "mark and device", "name", "namespace", "whole name", "in use", "another name", "another mark"],
)
def test_ports_that_were_left_go_and_those_of_others_are_named(left: Port, is_left: bool) -> None:
    inventory = replace(WHOLE, floating_ips=(), routers=(), ports=(left, port("d", "dhcp", "network:dhcp")))
    part = goes(inventory)
    if is_left:
        assert sent(part) == ["DELETE /v2.0/ports/p"]
        return
    (obstacle,) = part.obstacles
    assert part.requests == ()
    assert f"{left.name} (p) of " in str(obstacle.why)
    assert any(
        each in str(obstacle.why) for each in ("compute:nova server", "no device", "OpenStackServer ns/one-workers-0")
    )


def test_a_router_that_leads_to_others_is_not_cut_off() -> None:
    shared = port("j", "r", "network:router_interface", subnet="theirs", network="n9")
    part = goes(replace(WHOLE, floating_ips=(), ports=(shared,)))
    assert part.requests == ()
    assert "leads to subnets of others: theirs" in str(part.obstacles[0].why)


def test_what_an_earlier_provider_recorded_is_marked_and_then_deleted() -> None:
    inventory = NetworkInventory(networks=(Network(id="n", **PROVIDERS),), routers=(Router(id="r", **PROVIDERS),))
    assert sent(goes(inventory)) == ["PUT /v2.0/networks/n", "PUT /v2.0/routers/r"]
    assert staying(OURS, inventory) == ("network n", "router r")


def test_what_has_no_mark_of_the_cluster_stays_and_is_named() -> None:
    balancer = Balancer(LoadBalancer(id="l", description="somebody's"))
    inventory = NetworkInventory(
        networks=(Network(id="n", **FOREIGN),), groups=(SecurityGroup(id="g", name=NAME),), balancers=(balancer,)
    )
    assert goes(inventory).is_there
    assert staying(OURS, inventory) == ("network n", "security group g", "load balancer l")
    assert staying(OURS, WHOLE) == ()


def test_the_end_is_certain_only_when_no_request_can_arrive_any_more() -> None:
    part = goes(NetworkInventory(certain=False, certain_in=9.0))
    assert "may arrive in the next 9 s" in part.waits
    assert part.again > 9.0
    assert goes(NetworkInventory()).is_there
