"""When Octavia is asked for the parts of a load balancer, and what is known of them meanwhile."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.unit.openstack.cloud.site import GOES_ON, MADE, MARK, NAMED, OURS, Site
from tests.unit.openstack.clouded import PROJECT
from windlass.openstack.cloud import balancer_requests as balancing
from windlass.openstack.cloud.balancers import KEPT, QUIET
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.cloud.resources import LoadBalancer
from windlass.openstack.cloud.wire import Http, Method

LONG: Final = 100.0
STATE: Final = ["loadbalancers"]
PARTS: Final = ["healthmonitors", "listeners", "loadbalancers", "status"]
CHECK: Final = {"type": "TCP", "delay": 10, "timeout": 5, "max_retries": 5}


class Octavia(Site):
    """With a complete load balancer of the owner, which somebody has made long ago."""

    settles: float = GOES_ON

    def __init__(self) -> None:
        super().__init__(born=False)
        network = self.cloud.services.network("n")
        body = {**NAMED, "vip_subnet_id": self.cloud.services.networks[network]["subnets"][0]}
        self.lb = self.ask("POST", "/loadbalancers", loadbalancer=body)["id"]
        listener = {"name": "x-1", "loadbalancer_id": self.lb, "protocol": "TCP", "protocol_port": 1}
        self.listener = self.ask("POST", "/listeners", listener=listener)["id"]
        pool = {"name": "x-1", "listener_id": self.listener, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
        self.pool = self.ask("POST", "/pools", pool=pool)["id"]
        monitor = {"name": "x-1", "pool_id": self.pool, **CHECK}
        self.monitor = self.ask("POST", "/healthmonitors", healthmonitor=monitor)["id"]
        member = {"name": "a", "address": "10.0.0.9", "protocol_port": 1}
        self.member = self.ask("POST", f"/pools/{self.pool}/members", member=member)["id"]
        self.cloud.pass_time(LONG)

    def ask(self, method: Method, path: str, **body: Any) -> Any:
        """Somebody else asks Octavia, and the load balancer settles."""
        http = Http("load-balancer", method, f"/v2.0/lbaas{path}", body=body or None)
        status, answer = self.cloud.services.handle(PROJECT, http)
        assert status < 300, answer
        self.cloud.pass_time(self.settles)
        self.cloud.services.advance()
        return next(iter(answer.values())) if answer else None

    async def look(self, *, again: bool = False) -> tuple[Balancer, list[str]]:
        """The load balancer, and what Octavia was asked for, by the ends of the paths."""
        before = len(self.cloud.requests)
        [found] = (await self.account.network_inventory(MARK, kinds=[LoadBalancer], again=again)).balancers
        asked = [each.path.removesuffix(f"/{self.lb}").rpartition("/")[2] for each in self.cloud.requests[before:]]
        return found, sorted(asked)

    async def read(self) -> Balancer:
        """What another process finds."""
        [found] = (await Site(self.cloud, born=False).account.network_inventory(MARK, kinds=[LoadBalancer])).balancers
        return found


def parts(found: Balancer) -> Any:
    """What decisions look at."""
    return (
        [(each.id, each.name, each.default_pool_id, sorted(each.allowed_cidrs or ())) for each in found.listeners],
        [(each.id, each.name, each.health_monitor and each.health_monitor.id, members(each)) for each in found.pools],
        [(each.id, each.delay, each.timeout, each.max_retries, each.max_retries_down) for each in found.monitors],
    )


def members(pool: Any) -> list[Any]:
    return [(each.id, each.name, each.address, each.protocol_port) for each in pool.members]


async def test_parts_are_read_once_while_nothing_changes() -> None:
    site = Octavia()
    found, asked = await site.look()
    assert (found.confirmed, asked) == (True, PARTS)
    for _ in range(3):
        site.cloud.pass_time(LONG)
        again, asked = await site.look()
        assert (parts(again), again.confirmed, asked) == (parts(found), True, STATE)
    site.cloud.pass_time(KEPT)
    assert (await site.look())[1] == PARTS, "after hours they are read in any case"


CHANGES: Final[dict[str, Callable[[Octavia], Any]]] = {
    "a member is removed": lambda site: site.ask("DELETE", f"/pools/{site.pool}/members/{site.member}"),
    "a member is added": lambda site: site.ask(
        "POST", f"/pools/{site.pool}/members", member={"name": "b", "address": "10.0.0.8", "protocol_port": 1}
    ),
    "allowed CIDRs are changed": lambda site: site.ask(
        "PUT", f"/listeners/{site.listener}", listener={"allowed_cidrs": ["10.0.0.0/8"]}
    ),
    "the listener is removed": lambda site: site.ask("DELETE", f"/listeners/{site.listener}"),
    "the monitor is changed": lambda site: site.ask(
        "PUT", f"/healthmonitors/{site.monitor}", healthmonitor={"delay": 60}
    ),
    "the monitor is removed": lambda site: site.ask("DELETE", f"/healthmonitors/{site.monitor}"),
    "the pool is removed": lambda site: site.ask("DELETE", f"/pools/{site.pool}"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_what_somebody_else_changes_is_seen_at_the_next_look(change: Callable[[Octavia], Any]) -> None:
    site = Octavia()
    before, _ = await site.look()
    change(site)
    site.cloud.pass_time(LONG)
    found, asked = await site.look()
    assert parts(found) == parts(await site.read()) != parts(before)
    assert (found.confirmed, asked) == (True, PARTS)


async def test_a_change_within_the_same_second_as_another_is_seen() -> None:
    site = Octavia()
    site.cloud.services.balance, site.settles = 0.1, 0.2
    site.cloud.pass_time(1.0 - site.cloud.services.now % 1)
    site.ask("PUT", f"/listeners/{site.listener}", listener={"allowed_cidrs": ["10.0.0.0/8"]})
    found, asked = await site.look()
    assert (found.confirmed, asked) == (False, PARTS)
    version = found.balancer.updated_at
    site.ask("PUT", f"/listeners/{site.listener}", listener={"allowed_cidrs": ["11.0.0.0/8"]})
    site.cloud.pass_time(LONG)
    found, asked = await site.look()
    assert found.balancer.updated_at == version, "the test says nothing otherwise"
    assert (found.listeners[0].allowed_cidrs, found.confirmed, asked) == (["11.0.0.0/8"], True, PARTS)


REQUESTS: Final[dict[str, Callable[[Octavia], tuple[type[Any], dict[str, Any]]]]] = {
    "create listener": lambda site: (
        balancing.CreateListener,
        {"body": {"name": "x-2", "loadbalancer_id": site.lb, "protocol": "TCP", "protocol_port": 2}},
    ),
    "change listener": lambda site: (
        balancing.ChangeListener,
        {"id": site.listener, "fields": {"allowed_cidrs": ["10.0.0.0/8"]}},
    ),
    "change monitor": lambda site: (balancing.ChangeMonitor, {"id": site.monitor, "fields": {"delay": 60}}),
    "create member": lambda site: (
        balancing.CreateMember,
        {"pool": site.pool, "body": {"name": "b", "address": "10.0.0.8", "protocol_port": 1}},
    ),
    "delete member": lambda site: (balancing.DeleteMember, {"pool": site.pool, "id": site.member}),
}


def request(site: Octavia, name: str) -> CloudRequest:
    kind, fields = REQUESTS[name](site)
    intent = {"intent": Intent(MARK)} if "create" in name else {}
    return kind(**OURS, **intent, balancer=site.lb, **fields)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", REQUESTS)
async def test_the_answer_to_a_request_tells_the_parts_until_octavia_confirms_them(name: str) -> None:
    site = Octavia()
    await site.look()
    await site.carry(request(site, name))
    found, asked = await site.look(again=True)
    assert (found.can_be_changed, asked) == (False, [])
    site.cloud.pass_time(GOES_ON)
    found, asked = await site.look()
    assert (found.confirmed, asked) == (False, STATE)
    assert parts(found) == parts(await site.read())
    found, asked = await site.look(again=True)
    assert (found.confirmed, asked) == (False, [])
    site.cloud.pass_time(QUIET)
    found, asked = await site.look()
    assert (found.confirmed, asked) == (True, PARTS)
    assert parts(found) == parts(await site.read())
    site.cloud.pass_time(LONG)
    assert (await site.look())[1] == STATE


async def test_a_new_load_balancer_is_known_by_the_answers_alone() -> None:
    site = Site()
    network = site.cloud.services.network("n")
    subnet = site.cloud.services.networks[network]["subnets"][0]
    made = await site.carry(balancing.CreateLoadBalancer(**MADE, body={**NAMED, "vip_subnet_id": subnet}))
    place = {**OURS, "intent": Intent(MARK), "balancer": made.id}

    async def look() -> Balancer:
        site.cloud.pass_time(GOES_ON)
        [found] = (await site.known()).balancers
        return found

    assert (await look()).listeners == ()
    body = {"name": "x-1", "loadbalancer_id": made.id, "protocol": "TCP", "protocol_port": 1}
    await site.carry(balancing.CreateListener(**place, body=body))
    [listener] = (await look()).listeners
    body = {"name": "x-1", "listener_id": listener.id, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
    await site.carry(balancing.CreatePool(**place, body=body))
    [pool] = (await look()).pools
    await site.carry(balancing.CreateMonitor(**place, body={"name": "x-1", "pool_id": pool.id, **CHECK}))
    found = await look()
    assert not any(each.path.endswith(("status", "listeners")) for each in site.cloud.requests if each.method == "GET")
    [there] = (await site.listed()).balancers
    assert parts(found) == parts(there)
    assert (found.confirmed, found.listeners[0].default_pool_id) == (False, pool.id)


@pytest.mark.parametrize("after", [True, False], ids=["done", "not done"])
async def test_after_a_request_without_an_answer_the_parts_are_read(after: bool) -> None:
    site = Octavia()
    await site.look()
    site.cloud.fault(method="POST", path="/members$", after=after, drop=True)
    with pytest.raises(CloudFailure):
        await site.carry(request(site, "create member"))
    site.cloud.pass_time(LONG)
    found, asked = await site.look()
    assert asked == PARTS
    assert len(found.pools[0].members) == 1 + after


async def test_somebody_elses_change_beside_a_request_of_ours_is_seen_when_octavia_confirms() -> None:
    site = Octavia()
    await site.look()
    await site.carry(request(site, "create listener"))
    site.cloud.pass_time(GOES_ON)
    site.ask("DELETE", f"/pools/{site.pool}/members/{site.member}")
    found, _ = await site.look()
    assert (len(found.pools[0].members), found.confirmed) == (1, False)
    site.cloud.pass_time(QUIET)
    found, _ = await site.look()
    assert (found.pools[0].members, found.confirmed) == ([], True)


async def test_an_octavia_that_does_not_tell_of_changes_is_asked_at_each_attempt() -> None:
    site = Octavia()
    site.cloud.services.loadbalancers[site.lb]["updated_at"] = None
    for _ in range(4):
        found, asked = await site.look()
        assert (found.confirmed, asked) == (True, PARTS)
        assert (await site.look(again=True))[1] == []
        site.cloud.pass_time(LONG)


async def test_another_term_begins_with_a_look() -> None:
    site = Octavia()
    await site.look()
    site.account.balancers.forget()
    site.cloud.pass_time(LONG)
    assert (await site.look())[1] == PARTS
