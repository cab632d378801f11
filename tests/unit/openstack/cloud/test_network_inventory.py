"""What a project has of an owner beside servers: how it is looked for, and what is known of it without asking again."""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

import pytest

from tests.unit.openstack.cloud.site import GOES_ON, MADE, MARK, NAMED, OURS, Site
from tests.unit.openstack.clouded import PROJECT
from windlass.openstack.cloud import balancer_requests as balancing
from windlass.openstack.cloud import network_requests as networking
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, InConflict, Unavailable
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.requests import CloudRequest, DeletePort, Describe, Intent, SetTags
from windlass.openstack.cloud.resources import FloatingIp, LoadBalancer, Network, Port, Router
from windlass.testing.memory_cloud import MemoryWire


async def whole(site: Site) -> dict[str, Any]:
    """One of each, made by our requests."""
    make = networking
    network = await site.carry(make.CreateNetwork(**MADE, body=NAMED))
    body = {**NAMED, "network_id": network.id, "ip_version": 4, "cidr": "10.9.0.0/24"}
    subnet = await site.carry(make.CreateSubnet(**MADE, body=body))
    gateway = {"network_id": site.external}
    router = await site.carry(make.CreateRouter(**MADE, body={**NAMED, "external_gateway_info": gateway}))
    group = await site.carry(make.CreateSecurityGroup(**MADE, body=NAMED))
    body = {"floating_network_id": site.external, "description": NAMED["description"]}
    address = await site.carry(make.CreateFloatingIp(**MADE, body=body))
    body = {**NAMED, "vip_subnet_id": subnet.id}
    balancer = await site.carry(balancing.CreateLoadBalancer(**MADE, body=body))
    return {
        "network": network.id,
        "subnet": subnet.id,
        "router": router.id,
        "group": group.id,
        "address": address.id,
        "balancer": balancer.id,
    }


def _same(request: CloudRequest, _: NetworkInventory) -> CloudRequest:
    return request


def changes(ids: dict[str, Any]) -> Iterator[Callable[[NetworkInventory], CloudRequest]]:
    """All requests that change what exists, in an order in which they can be sent; from what is known until then."""
    make, ssh = networking, {"direction": "ingress", "protocol": "tcp", "port_range_min": 22, "port_range_max": 22}
    interface = {**OURS, "id": ids["router"], "network": ids["network"], "subnet": ids["subnet"]}
    text = described("changed", MARK)
    tags: list[tuple[str, str]] = [("networks", "network"), ("subnets", "subnet"), ("routers", "router")]
    tags += [("security-groups", "group"), ("floatingips", "address")]
    for collection, which in tags:
        place: dict[str, Any] = {**OURS, "id": ids[which], "collection": collection}
        yield partial(_same, SetTags(**place, tags=("a",)))
        yield partial(_same, Describe(**place, description=text))
    yield lambda _: make.ChangeNameservers(**OURS, id=ids["subnet"], nameservers=["10.0.0.1"])
    yield lambda _: make.SetGateway(**OURS, id=ids["router"], gateway={"network_id": ids["external"]})
    yield lambda _: make.AddInterface(**interface)
    yield lambda seen: make.AssociateFloatingIp(
        **OURS, id=ids["address"], port=next(each.id for each in seen.ports if each.device_owner == "Octavia")
    )
    yield lambda seen: make.AssociateFloatingIp(
        **OURS, id=ids["address"], before=seen.floating_ips[0].port_id, port=None
    )
    yield lambda _: make.CreateRules(**OURS, intent=Intent(MARK), id=ids["group"], rules=[ssh])
    more = [{**ssh, "protocol": "udp"}, {**ssh, "remote_group_id": ids["group"]}]
    yield lambda _: make.CreateRules(**OURS, intent=Intent(MARK), id=ids["group"], rules=more)
    yield lambda seen: make.DeleteRule(
        **OURS, id=seen.groups[0].security_group_rules[-1].id, group=ids["group"], rule=ssh
    )
    yield lambda _: balancing.DescribeBalancer(**OURS, id=ids["balancer"], description=described("changed", MARK))
    yield lambda _: balancing.CreateListener(
        **OURS,
        intent=Intent(MARK),
        balancer=ids["balancer"],
        body={"loadbalancer_id": ids["balancer"], "protocol": "TCP", "protocol_port": 6443, "name": "x-6443"},
    )
    yield lambda _: balancing.DeleteLoadBalancer(**OURS, id=ids["balancer"])
    yield lambda _: make.RemoveInterface(**interface)
    yield lambda _: DeletePort(**OURS, id=ids["port"])
    yield lambda _: make.DeleteFloatingIp(**OURS, id=ids["address"])
    yield lambda _: make.DeleteRouter(**OURS, id=ids["router"])
    yield lambda _: make.DeleteNetwork(**OURS, id=ids["network"])
    yield lambda _: make.DeleteSecurityGroup(**OURS, id=ids["group"])


def facts(inventory: NetworkInventory) -> Any:
    """What decisions look at. Of the ports that others make, only that they are there."""
    return (
        inventory.networks,
        [(each.id, each.dns_nameservers, each.tags, each.description) for each in inventory.subnets],
        inventory.routers,
        [
            (each.id, each.tags, each.description, sorted(rule.id for rule in each.security_group_rules))
            for each in inventory.groups
        ],
        [(each.id, each.port_id, each.tags, each.description) for each in inventory.floating_ips],
        [(each.balancer, [one.name for one in each.listeners]) for each in inventory.balancers],
        sorted(
            (each.id, each.device_id, each.device_owner, [one.subnet_id for one in each.fixed_ips])
            for each in inventory.ports
        ),
    )


async def test_what_is_known_after_each_request_is_what_another_process_finds() -> None:
    site = Site()
    ids = await whole(site)
    site.cloud.pass_time(GOES_ON)
    port = await site.raw("POST", "ports", network_id=ids["network"], name="left", description=described("", MARK))
    ids |= {"external": site.external, "port": port["id"]}
    site.cloud.pass_time(GOES_ON)
    await site.account.network_inventory(MARK)
    seen = []
    for request in changes(ids):
        made = request(await site.known())
        await site.carry(made)
        site.cloud.pass_time(GOES_ON)
        known, listed = await site.known(), await site.listed()
        assert facts(known) == facts(listed), made.verb
        seen.append(type(made))
    named = {*networking.OF_NETWORKS, *networking.OF_FLOATING_IPS}
    assert {each for each in named if not each.__name__.startswith("Create")} <= {*seen}
    assert site.cloud.services.held(PROJECT) == {}


async def test_what_is_made_is_known_without_a_list() -> None:
    site = Site()
    ids = await whole(site)
    asked = len(site.cloud.requests)
    found = await site.known()
    assert {found.networks[0].id, found.subnets[0].id, found.routers[0].id} == {
        ids["network"],
        ids["subnet"],
        ids["router"],
    }
    [state] = site.cloud.requests[asked:]
    assert (state.method, state.path) == ("GET", f"/v2.0/lbaas/loadbalancers/{ids['balancer']}")
    await site.account.network_inventory(MARK, again=True)
    assert len(site.cloud.requests) == asked + 1, "nor is the state of a load balancer asked for in the same attempt"
    assert found.certain


async def test_what_has_another_mark_is_not_found_unless_it_is_recorded() -> None:
    site = Site(born=False)
    other = await site.raw("POST", "networks", name="y", description=described("", "other"))
    port = await site.raw("POST", "ports", network_id=other["id"], name="p")
    assert (await site.account.network_inventory(MARK)).networks == ()
    found = await site.account.network_inventory(MARK, [other["id"]], age=inf)
    assert [each.id for each in found.networks] == [other["id"]]
    assert [each.id for each in found.ports] == [port["id"]], "all ports on its networks"


async def test_resources_come_oldest_first() -> None:
    site = Site(born=False)
    for name in ("z", "a"):
        await site.raw("POST", "networks", name=name, description=NAMED["description"])
        site.cloud.pass_time(5.0)
    assert [each.name for each in (await site.account.network_inventory(MARK)).networks] == ["z", "a"]


@pytest.mark.parametrize(
    ("passed", "how", "asks"),
    [
        (5.0, {"age": inf}, set()),
        (5.0, {"age": 10.0}, set()),
        (15.0, {"age": 10.0}, {"networks", "routers"}),
        (15.0, {"age": 10.0, "again": True}, set()),
    ],
    ids=["from memory", "young enough", "too old", "in the same attempt"],
)
async def test_lists_are_as_old_as_they_may_be(passed: float, how: dict[str, Any], asks: set[str]) -> None:
    site = Site(born=False)
    kinds = [Network, Router]
    await site.account.network_inventory(MARK, kinds=kinds)
    site.cloud.pass_time(passed)
    asked = len(site.cloud.requests)
    await site.account.network_inventory(MARK, kinds=kinds, **how)
    assert {each.path.rsplit("/", 1)[-1] for each in site.cloud.requests[asked:]} == asks


async def test_only_the_kinds_that_are_wanted_are_asked_for() -> None:
    site = Site(born=False)
    await site.account.network_inventory(MARK, kinds=[FloatingIp, Port])
    assert {each.path for each in site.cloud.requests} == {"/v2.0/floatingips", "/v2.0/ports"}


async def test_after_a_lost_answer_the_cloud_is_asked_and_an_absence_is_certain_only_later() -> None:
    site = Site()
    site.cloud.fault(method="POST", path="/networks$", drop=True)
    with pytest.raises(Doubtful):
        await site.carry(networking.CreateNetwork(**MADE, body=NAMED))
    site.cloud.pass_time(1.0)
    found = await site.known()
    assert (found.networks, found.certain) == ((), False)
    assert 20.0 < found.certain_in <= 30.0
    site.cloud.pass_time(31.0)
    assert (await site.known()).certain
    site.cloud.fault(method="POST", path="/networks$", after=True, drop=True)
    with pytest.raises(Doubtful):
        await site.carry(networking.CreateNetwork(**MADE, body=NAMED))
    site.cloud.pass_time(1.0)
    found = await site.known()
    assert [each.name for each in found.networks] == ["x"]
    assert found.certain, "what was asked for is there, so nothing else can arrive"


async def test_a_load_balancer_that_cannot_be_changed_is_asked_for_its_state_alone() -> None:
    site = Site(born=False)
    network = await site.raw("POST", "networks", name="n")
    subnet = await site.raw("POST", "subnets", network_id=network["id"], ip_version=4, cidr="10.9.0.0/24")
    await site.raw("POST", "lbaas/loadbalancers", vip_subnet_id=subnet["id"], **NAMED)
    [pending] = (await site.account.network_inventory(MARK, kinds=[LoadBalancer])).balancers
    assert (pending.balancer.provisioning_status, pending.can_be_changed) == ("PENDING_CREATE", False)
    asked = len(site.cloud.requests)
    site.cloud.pass_time(0.1)
    await site.account.network_inventory(MARK, kinds=[LoadBalancer], age=inf)
    assert len(site.cloud.requests) == asked + 1
    site.cloud.pass_time(GOES_ON)
    [active] = (await site.account.network_inventory(MARK, kinds=[LoadBalancer], age=inf)).balancers
    assert active.can_be_changed
    site.cloud.services.loadbalancers.clear()
    site.cloud.pass_time(0.1)
    assert (await site.account.network_inventory(MARK, kinds=[LoadBalancer], age=inf)).balancers == ()


class NoOctavia(MemoryWire, frozen=True):
    @property
    def services(self) -> frozenset[str]:
        return frozenset({"network"})


async def test_without_octavia_there_are_no_load_balancers_and_nobody_asks() -> None:
    site = Site(born=False)
    site.account.wire = NoOctavia(site.cloud, PROJECT)
    assert (await site.account.network_inventory(MARK)).balancers == ()
    assert not any("lbaas" in each.path for each in site.cloud.requests)


async def test_a_list_that_fails_is_the_failure() -> None:
    site = Site(born=False)
    site.cloud.fault(path="/routers$", status=503)
    with pytest.raises(Unavailable):
        await site.account.network_inventory(MARK)


EXISTS = InConflict("network", "Security group rule already exists. Rule id is 1.", code=409)
ONE: dict[str, Any] = {**OURS, "intent": Intent(MARK), "id": "g"}
SUBNET: dict[str, Any] = {**OURS, "id": "r", "subnet": "s"}


@pytest.mark.parametrize(
    ("request_", "failure", "done"),
    [
        (networking.CreateRules(**ONE, rules=[{}]), EXISTS, True),
        (networking.CreateRules(**ONE, rules=[{}, {}]), EXISTS, False),
        (networking.CreateRules(**ONE, rules=[{}]), InConflict("network", "busy", code=409), False),
        (networking.AddInterface(**SUBNET), EXISTS, False),
    ],
    ids=["the rule exists", "one of several exists", "another conflict", "not an interface"],
)
def test_some_refusals_mean_that_it_is_done(request_: CloudRequest, failure: CloudFailure, done: bool) -> None:
    assert request_.is_done(failure) is done


async def test_an_interface_that_is_there_or_gone_already_is_done_and_looked_for() -> None:
    site = Site()
    ids = await whole(site)
    interface = {**OURS, "id": ids["router"], "network": ids["network"], "subnet": ids["subnet"]}
    for kind, there in ((networking.AddInterface, 1), (networking.RemoveInterface, 0)):
        for _ in range(2):
            await site.carry(kind(**interface))
        site.cloud.pass_time(1.0)
        found = await site.known()
        assert sum(each.device_id == ids["router"] for each in found.ports) == there


async def test_a_floating_ip_without_a_mark_is_found_by_its_address() -> None:
    site = Site()
    made = await site.raw("POST", "floatingips", floating_network_id=site.external)
    other = await site.raw("POST", "floatingips", floating_network_id=site.external)
    found = await site.account.network_inventory(
        MARK, [made["floating_ip_address"], other["id"], "203.0.113.250"], age=0.0
    )
    assert {each.id for each in found.floating_ips} == {made["id"], other["id"]}
    assert (await site.account.network_inventory(MARK)).floating_ips == ()
