"""One project: what is asked, what is kept, and when an absence is certain."""

import asyncio
from typing import Any

import pytest

from tests.unit.openstack.cloud.scripted_wire import EPOCH, ScriptedWire, account, clock, reply, virtual
from windlass.kube.logger import about
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.failures import (
    CloudFailure,
    Doubtful,
    Missing,
    NotSent,
    OverQuota,
    Throttled,
    Unavailable,
)
from windlass.openstack.cloud.inventory import MARK, Quota, Recorded
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import CreatePort, CreateServer, DeletePort, DeleteServer, Describe, Intent
from windlass.openstack.cloud.resources import Flavor, Image
from windlass.openstack.cloud.session import Reply
from windlass.openstack.cloud.wire import Http

SMALL = {"id": "f1", "name": "m1.small"}
FLAVOR = Query("flavor", filters=(("name", "m1.small"),))
LARGE = Query("flavor", filters=(("name", "m1.large"),))


def server(which: str = "s1", *, mark: str = "m", status: str = "ACTIVE", **more: Any) -> dict[str, Any]:
    return {"id": which, "name": which, "status": status, "metadata": {MARK: mark}, **more}


def port(which: str = "p1", *, mark: str = "m", **more: Any) -> dict[str, Any]:
    return {"id": which, "name": which, "description": f"{MARK}={mark}", **more}


def create_port(mark: str = "m") -> CreatePort:
    body = {"name": "w-0", "description": f"{MARK}={mark}"}
    return CreatePort(project="k", intent=Intent(mark), subject="w-0", body=body)


def create_server(mark: str = "m", flavor: str = "f") -> CreateServer:
    body = {"name": "w", "metadata": {MARK: mark}, "flavorRef": flavor}
    return CreateServer(project="k", intent=Intent(mark), subject="w", body=body, microversion="2.53")


def refuses(failure: CloudFailure, *, method: str = "POST") -> Any:
    return lambda request: failure if request.method == method else None


async def carried(project: Account, request: Any) -> CloudFailure | None:
    """Send it as the runtime does."""
    try:
        await project.carry(request)
    except CloudFailure as failure:
        if failure.unknown_outcome:
            project.knowledge.doubted(request)
        return failure
    return None


def names(answer: tuple[Any, ...] | CloudFailure) -> tuple[str, ...]:
    assert not isinstance(answer, CloudFailure)
    return tuple(each.name for each in answer)


# finding


@virtual
async def test_questions_are_asked_at_the_same_time_and_lists_once_for_all() -> None:
    wire = ScriptedWire()
    wire.things |= {"/flavors/detail": [SMALL], "/v2/images": [{"id": "i1", "name": "rhcos", "status": "active"}]}
    project = account(wire)
    image = Query("image", filters=(("name", "rhcos"),))
    began = clock()
    answers = await project.find([FLAVOR, LARGE, image])
    assert clock() - began == pytest.approx(wire.seconds)
    assert answers == {FLAVOR: (Flavor("f1", "m1.small"),), LARGE: (), image: (Image("i1", "rhcos", "active"),)}
    assert len(wire.asked) == 2


@virtual
async def test_those_who_ask_while_a_list_is_under_way_share_it() -> None:
    wire = ScriptedWire()
    wire.things["/flavors/detail"] = [SMALL]
    project = account(wire)
    found = await asyncio.gather(*(project.find([FLAVOR]) for _ in range(20)))
    assert {names(each[FLAVOR]) for each in found} == {("m1.small",)}
    assert len(wire.asked) == 1


@pytest.mark.parametrize(
    ("query", "path", "kept"),
    [
        (FLAVOR, "/flavors/detail", 300.0),
        (Query("image", filters=(("name", "m1.small"),)), "/v2/images", 300.0),
        (Query("extension"), "/v2.0/extensions", 3600.0),
        (Query("network", filters=(("name", "m1.small"),)), "/v2.0/networks", 0.0),
    ],
    ids=["flavors", "images", "extensions", "networks"],
)
def test_answers_are_kept_as_long_as_their_kind_changes_rarely(query: Query, path: str, kept: float) -> None:
    @virtual
    async def test() -> None:
        wire = ScriptedWire()
        wire.things[path] = [{**SMALL, "alias": "trunk"}]
        project = account(wire)
        await project.find([query])
        if kept:
            await asyncio.sleep(kept - 1)
            await project.find([query])
            assert len(wire.asked) == 1
            await asyncio.sleep(2)
        await project.find([query])
        assert len(wire.asked) == 2

    test()


@virtual
async def test_something_made_since_the_list_was_kept_is_found() -> None:
    wire = ScriptedWire()
    wire.things["/flavors/detail"] = []
    project = account(wire)
    wire.things["/flavors/detail"] = [{"id": "f2", "name": "m1.large"}]
    await project.find([LARGE])
    wire.things["/flavors/detail"] += [SMALL]
    assert (await project.find([FLAVOR]))[FLAVOR] == ()  # asked a moment ago
    await asyncio.sleep(11)
    assert names((await project.find([FLAVOR]))[FLAVOR]) == ("m1.small",)
    assert len(wire.asked) == 2


@virtual
async def test_a_failure_is_the_answer_to_its_own_question_only() -> None:
    wire = ScriptedWire()
    wire.things["/flavors/detail"] = [SMALL]
    wire.answer = lambda request: reply(404, {"message": "none"}) if request.service == "image" else None
    image = Query("image", id="i1")
    answers = await account(wire).find([FLAVOR, image])
    assert names(answers[FLAVOR]) == ("m1.small",)
    assert isinstance(answers[image], Missing)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (Query("image", id="i1"), (("id", "in:i1"),)),
        (Query("subnet", id="n1"), (("id", "n1"),)),
        (Query("network", filters=(("name", "^a.*"),)), (("name", "^a.*"),)),
        (Query("security group", filters=(("name", "x"),), own=True), (("name", "x"), ("project_id", "p1"))),
        (Query("extension"), (("fields", "alias"),)),
        (Query("server group", filters=(("name", "("),)), ()),
    ],
)
def test_filters_are_those_of_the_service(query: Query, asked: tuple[tuple[str, str], ...]) -> None:
    @virtual
    async def test() -> None:
        wire = ScriptedWire()
        wire.answer = lambda _: reply(200, {})
        await account(wire).find([query])
        assert wire.asked[0].query == asked

    test()


# looking


@virtual
async def test_a_mark_made_up_here_needs_no_look() -> None:
    wire = ScriptedWire()
    inventory = await account(wire, born={"m"}).look("m")
    assert (inventory.certain, inventory.servers, wire.asked) == (True, (), [])


@virtual
async def test_a_mark_of_an_earlier_life_is_looked_for_and_certain_after_the_longest_request() -> None:
    wire = ScriptedWire()
    project = account(wire)
    first = await project.look("m")
    assert not first.certain
    assert first.certain_in == pytest.approx(30, abs=1)
    assert [wire.count(path) for path in ("/servers/detail", "/v2.0/ports", "/v2.0/trunks")] == [1, 1, 1]
    wire.forget()
    assert not (await project.look("m")).certain
    assert wire.asked == []
    await asyncio.sleep(first.certain_in)
    assert (await project.look("m")).certain
    assert len(wire.asked) == 3
    wire.forget()
    assert (await project.look("m")).certain
    assert (await project.look("another")).certain
    assert wire.asked == []


@virtual
async def test_volumes_are_listed_only_for_those_who_have_them() -> None:
    wire = ScriptedWire()
    wire.things["/volumes/detail"] = [{"id": "v1", "name": "w-root", "status": "available", "metadata": {MARK: "m"}}]
    project = account(wire)
    assert (await project.look("m")).volumes == ()
    assert wire.count("/volumes/detail") == 0
    assert [each.id for each in (await project.look("m", services=["block-storage"])).volumes] == ["v1"]


@virtual
async def test_trunks_are_not_asked_for_where_neutron_has_none() -> None:
    wire = ScriptedWire()
    wire.things["/v2.0/extensions"] = [{"alias": "router"}]
    await account(wire).look("m")
    assert wire.count("/v2.0/trunks") == 0


@virtual
async def test_servers_of_a_name_that_may_be_ones_own_are_found_in_a_list_that_is_young_enough() -> None:
    wire = ScriptedWire()
    marks = {"s1": "m", "s4": "m/h/server/a/w", "s5": "m/h/server/b/w"}
    there: list[Any] = [{**server(f"s{each}"), "metadata": {}, "name": "w"} for each in range(1, 8)]
    for each in there:
        each["metadata"] = {"windlass-owner": marks[each["id"]]} if each["id"] in marks else {}
    there[2]["name"], there[5]["status"], there[6]["OS-EXT-STS:task_state"] = "other", "SOFT_DELETED", "deleting"
    wire.things["/servers/detail"] = there
    project = account(wire)
    assert [each.id for each in await project.servers_named("w", at="server/a/w", age=60.0)] == ["s2", "s4"]
    wire.things["/servers/detail"] = []
    await asyncio.sleep(50)
    assert [each.id for each in await project.servers_named("w", at="server/a/w", age=60.0)] == ["s2", "s4"]
    await asyncio.sleep(50)
    assert await project.servers_named("w", at="server/a/w", age=60.0) == ()


@virtual
async def test_a_look_shows_what_has_another_mark_of_the_same_root_or_holder() -> None:
    wire = ScriptedWire()
    marks = {"own": "r/h/p", "root": "r/x/q", "holder": "z/h/p", "bare": "r", "other": "z/x/p"}
    wire.things["/servers/detail"] = [server(which, mark=mark) for which, mark in marks.items()]
    found = await account(wire).look("r/h/p")
    assert [each.id for each in found.servers] == ["own"]
    assert {each.id for each in found.others} == {"root", "holder", "bare"}


@virtual
async def test_all_who_look_at_the_same_moment_share_the_lists() -> None:
    wire = ScriptedWire()
    wire.things["/servers/detail"] = [server(f"s{n}", mark=f"m{n}") for n in range(50)]
    project = account(wire)
    found = await asyncio.gather(*(project.look(f"m{n}") for n in range(50)))
    assert [each.servers[0].id for each in found] == [f"s{n}" for n in range(50)]
    assert wire.count("/servers/detail") == 1


@virtual
async def test_one_who_asks_after_a_list_began_waits_for_the_next_one() -> None:
    wire = ScriptedWire()
    wire.seconds = 10.0
    project = account(wire, born={"m"})
    listing = asyncio.create_task(project.refresh(volumes=False))
    await asyncio.sleep(5)
    wire.things["/servers/detail"] = [server()]
    project.knowledge.doubt("m")
    assert [each.id for each in (await project.look("m")).servers] == ["s1"]
    assert wire.count("/servers/detail") == 2
    await listing


@virtual
async def test_our_own_answer_is_newer_than_a_list_that_began_before() -> None:
    wire = ScriptedWire()
    wire.things["/v2.0/ports"] = [port("old")]
    project = account(wire, born={"m"})
    await project.refresh(volumes=False)
    wire.seconds = 10.0
    listing = asyncio.create_task(project.refresh(volumes=False))
    await asyncio.sleep(1)
    wire.seconds = 1.0
    wire.answer = lambda request: reply(201, {"port": port("new")}) if request.method == "POST" else None
    await project.carry(create_port())
    await project.carry(DeletePort(project="k", mark="m", id="old"))
    await listing
    assert [each.id for each in (await project.look("m")).ports] == ["new"]
    await project.refresh(volumes=False)
    assert [each.id for each in (await project.look("m")).ports] == ["old"]  # as the cloud says now


@virtual
async def test_the_cloud_is_told_which_controller_writes_and_that_all_share_what_is_read() -> None:
    wire = ScriptedWire()
    wire.things["/flavors/detail"] = [SMALL]
    project = account(wire)
    await project.find([FLAVOR])
    for controller in ("openstack-server", "openstack-machine-api"):
        with about(controller=controller):
            await asyncio.create_task(project.carry(DeleteServer(project="k", mark="m", id="s1")))
    await project.carry(DeleteServer(project="k", mark="m", id="s2"))
    await project.refresh(volumes=False)
    assert wire.agents[:4] == ["lookup", "openstack-server", "openstack-machine-api", "create"]
    assert {*wire.agents[4:]} == {"poll"}


@virtual
async def test_a_deleted_server_stays_until_a_list_shows_it_gone() -> None:
    wire = ScriptedWire()
    wire.things["/servers/detail"] = [server()]
    project = account(wire)
    await project.look("m")
    await project.carry(DeleteServer(project="k", mark="m", id="s1"))
    [going] = (await project.look("m")).servers
    assert going.task_state == "deleting"
    wire.things["/servers/detail"] = []
    await asyncio.sleep(1)
    await project.refresh(volumes=False)
    assert (await project.look("m")).servers == ()


@virtual
async def test_a_server_that_is_gone_already_is_gone_at_once() -> None:
    wire = ScriptedWire()
    wire.things["/servers/detail"] = [server()]
    project = account(wire)
    await project.look("m")
    wire.answer = lambda request: reply(404) if request.method == "DELETE" else None
    await project.carry(DeleteServer(project="k", mark="m", id="s1"))
    assert (await project.look("m")).servers == ()


@virtual
async def test_recorded_resources_are_found_without_a_mark_and_a_missing_server_is_told_since_when() -> None:
    wire = ScriptedWire()
    wire.things["/v2.0/ports"] = [port("p9", mark="other"), port("px", mark="", device_id="s9")]
    wire.things["/servers/detail"] = [server("s9", mark="")]
    project = account(wire)
    recorded = Recorded(server="s9", ports=("p9",))
    found = await project.look("m", recorded)
    assert ([each.id for each in found.servers], [each.id for each in found.ports]) == (["s9"], ["p9"])
    assert [each.id for each in found.attached] == ["px"]
    assert found.missing_since is None
    await asyncio.sleep(60)
    wire.things["/servers/detail"] = []
    await project.refresh(volumes=False)
    lost = await project.look("m", recorded)
    assert lost.missing_since == lost.as_of
    assert lost.as_of is not None
    assert (lost.as_of - EPOCH).total_seconds() == pytest.approx(60, abs=1)
    await asyncio.sleep(30)
    again = await project.look("m", recorded, fresh=True)
    assert again.missing_since == lost.missing_since
    assert again.as_of is not None
    assert again.as_of > lost.as_of


@virtual
async def test_the_pages_of_500_ports_are_followed() -> None:
    wire = ScriptedWire()
    ports = [port(f"p{n:03}", mark="m" if n == 499 else "") for n in range(500)]

    def page(request: Http) -> Any:
        if request.path != "/v2.0/ports":
            return None
        query = dict(request.query)
        start = int(query.get("marker", "p-1")[1:]) + 1
        some = ports[start : start + 100]
        href = f"http://internal:9696/v2.0/ports?project_id=p1&limit=100&marker={some[-1]['id']}"
        links = [{"rel": "next", "href": href}] if start + 100 < 500 else []
        return reply(200, {"ports": some, "ports_links": [{"rel": "previous", "href": "x"}, *links]})

    wire.answer = page
    found = await account(wire).look("m")
    assert [each.id for each in found.ports] == ["p499"]
    asked = [each for each in wire.asked if each.path == "/v2.0/ports"]
    assert len(asked) == 5
    assert ("project_id", "p1") in asked[0].query


@virtual
async def test_a_service_that_repeats_its_page_is_not_asked_for_ever() -> None:
    wire = ScriptedWire()
    links = [{"rel": "next", "href": "http://x/servers/detail?marker=s1"}]
    wire.answer = lambda _: reply(200, {"servers": [server()], "servers_links": links})
    with pytest.raises(Unavailable, match="has no end"):
        await account(wire).refresh(volumes=False)


@pytest.mark.parametrize("body", [[], {"servers": {}}, {"servers": [{"id": 1}]}, "x"], ids=repr)
def test_an_answer_that_cannot_be_read_is_a_failure_of_the_service(body: Any) -> None:
    @virtual
    async def test() -> None:
        wire = ScriptedWire()
        wire.answer = lambda request: reply(200, body) if request.service == "compute" else None
        with pytest.raises(Unavailable, match="not a list of servers"):
            await account(wire).look("m")

    test()


# asking


@virtual
async def test_the_server_that_was_made_is_known_at_once_with_its_mark() -> None:
    wire = ScriptedWire()
    wire.answer = lambda request: (
        reply(202, {"server": {"id": "s1", "links": []}}) if request.method == "POST" else None
    )
    project = account(wire, born={"m"})
    made = await project.carry(create_server())
    assert (made.id, made.status, made.metadata) == ("s1", "", {MARK: "m"})
    found = await project.look("m")
    assert ([each.id for each in found.servers], found.certain) == (["s1"], True)
    assert [each.method for each in wire.asked] == ["POST"]


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (Doubtful("network", "no answer in 28 s"), 30.0),
        (Doubtful("network", "no answer to POST /v2.0/ports: read timed out"), 30.0),
        (Doubtful("network", "no answer to POST /v2.0/ports: connection reset"), 30.0),
        (Doubtful("network", "bad gateway", code=502), 30.0),
        (Doubtful("network", "gateway time-out", code=504), 30.0),
        (Doubtful("network", "a bug", code=500), 0.0),
        (Doubtful("network", "not now", code=503), 0.0),
    ],
    ids=str,
)
def test_after_an_unknown_outcome_an_absence_is_certain_once_the_request_cannot_arrive_any_more(
    failure: CloudFailure, seconds: float
) -> None:
    @virtual
    async def test() -> None:
        wire = ScriptedWire()
        project = account(wire, born={"m"})
        wire.answer = refuses(failure)
        assert await carried(project, create_port()) is failure
        await asyncio.sleep(1)  # the gate
        wire.answer = lambda _: None
        found = await project.look("m")
        assert wire.count("/v2.0/ports") == 1
        assert found.certain == (seconds == 0)
        await asyncio.sleep(seconds)
        wire.things["/v2.0/ports"] = [port("late")]
        found = await project.look("m")
        assert found.certain
        assert [each.id for each in found.ports] == (["late"] if seconds else [])

    test()


@virtual
async def test_a_cancelled_request_counts_as_under_way() -> None:
    wire = ScriptedWire()
    project = account(wire, born={"m"})
    wire.seconds = 1000.0
    task = asyncio.create_task(project.carry(create_port()))
    await asyncio.sleep(5)
    task.cancel()
    await asyncio.wait([task])
    project.knowledge.doubted(create_port())
    wire.seconds = 0.1
    assert not (await project.look("m")).certain
    assert wire.count("/v2.0/ports") == 1


@virtual
async def test_a_request_whose_result_is_found_cannot_arrive_any_more() -> None:
    wire = ScriptedWire()
    project = account(wire, born={"m"})
    wire.answer = refuses(Doubtful("network", "no answer"))
    await carried(project, create_port())
    await asyncio.sleep(5)
    wire.answer = lambda _: None
    wire.things["/v2.0/ports"] = [port(name="of another part")]
    assert not (await project.look("m")).certain
    wire.things["/v2.0/ports"] = [port(name="w-0", mark="of another")]
    await project.refresh(volumes=False)
    assert not (await project.look("m")).certain
    wire.things["/v2.0/ports"] = [port(name="w-0")]
    await project.refresh(volumes=False)
    found = await project.look("m")
    assert (found.certain, found.certain_in, [each.id for each in found.ports]) == (True, 0.0, ["p1"])


@virtual
async def test_what_was_there_before_a_request_is_not_its_result() -> None:
    wire = ScriptedWire()
    project = account(wire, born={"m"})
    wire.things["/v2.0/ports"] = [port("broken", name="w-0")]
    await project.refresh(volumes=False)
    wire.answer = refuses(Doubtful("network", "no answer"))
    await carried(project, create_port())
    await asyncio.sleep(5)
    wire.answer = lambda _: None
    assert not (await project.look("m")).certain
    wire.things["/v2.0/ports"] += [port("new", name="w-0")]
    await project.refresh(volumes=False)
    assert (await project.look("m")).certain


@virtual
async def test_another_term_knows_nothing() -> None:
    wire = ScriptedWire()
    born = {"m"}
    project = account(wire, born=born)
    await project.look("m")
    await asyncio.sleep(100)
    born.clear()
    project.knowledge.begin_term(clock())
    assert not (await project.look("m")).certain
    assert wire.count("/servers/detail") == 1


@virtual
async def test_refusals_are_remembered_until_the_request_succeeds() -> None:
    wire = ScriptedWire()
    project = account(wire, born={"m"})
    full = OverQuota("network", "Quota exceeded for resources: ['port'].", code=409)
    wire.answer = refuses(full)
    await carried(project, create_port())
    [refusal] = project.blockers("m").refusals
    assert (refusal.what, refusal.subject, refusal.failure, refusal.times) == ("create port", "w-0", full, 1)
    assert project.blockers("other").refusals == ()
    assert list(project.blockers("other").gates) == ["quota:network/ports"]
    assert isinstance(await carried(project, create_port("other")), NotSent)
    assert project.blockers("other").refusals == ()
    await asyncio.sleep(60)
    await carried(project, create_port())
    assert project.blockers("m").refusals[0].times == 2
    wire.answer = lambda request: reply(201, {"port": port()}) if request.method == "POST" else None
    await asyncio.sleep(120)
    assert await carried(project, create_port()) is None
    assert project.blockers("m") == project.blockers("other")
    assert project.blockers("m").gates == {}


@virtual
async def test_quota_reached_costs_one_request_for_each_step_of_the_pauses_however_many_want_it() -> None:
    wire = ScriptedWire()
    marks = {f"m{n}" for n in range(10)}
    project = account(wire, born=set(marks))
    wire.answer, wire.instances = refuses(OverQuota("compute", "Quota exceeded for instances", code=403)), (3, 3)
    for _ in range(300):
        await asyncio.gather(*(carried(project, create_server(mark)) for mark in marks))
        await asyncio.sleep(1)
    assert wire.count("/servers", method="POST") == 3, "at once, then after 60 and 120 s"
    assert wire.count("/limits") <= 3, "once for each step"


@pytest.mark.parametrize("service", ["identity", "network"])
@virtual
async def test_after_an_outage_an_object_that_is_new_is_served_within_20_seconds(service: str) -> None:
    wire = ScriptedWire()
    project = account(wire, born={"old", "new"})
    down = Unavailable(service, "the service is down", code=503)
    wire.answer = refuses(down)
    loop = asyncio.get_running_loop()
    began = loop.time()
    while loop.time() - began < 300:
        failure = await carried(project, create_port("old"))
        assert failure is not None
        await asyncio.sleep(failure.retry_after or 1.0)
    tried = wire.count("/v2.0/ports", method="POST")
    wire.answer = lambda request: reply(201, {"port": port()}) if request.method == "POST" else None
    ended = loop.time()
    failure = await carried(project, create_port("new"))
    while failure is not None:
        await asyncio.sleep(failure.retry_after or 1.0)
        failure = await carried(project, create_port("new"))
    assert loop.time() - ended <= 20
    assert tried <= 300 / 15 + 6


class Nova(ScriptedWire):
    """Accepts what fits by its own count, and counts a server three seconds after it has accepted it."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.instances = (limit, 0)
        self.most = self.under_way = 0
        self.takes = 0.1
        self.answer = lambda request: reply(202, {"server": {"id": "s"}}) if request.method == "POST" else None

    async def send(self, request: Http, /, *, seconds: float, agent: str = "") -> Reply:
        if request.method == "GET":
            return await super().send(request, seconds=seconds, agent=agent)
        limit, used = self.instances
        if 0 <= limit <= used:
            raise OverQuota("compute", "Quota exceeded for instances", code=403)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.takes)
        answer = await super().send(request, seconds=seconds, agent=agent)
        self.under_way -= 1
        asyncio.get_running_loop().call_later(3, self._count)
        return answer

    def _count(self) -> None:
        limit, used = self.instances
        self.instances = (limit, used + 1)


@pytest.mark.parametrize(
    ("limit", "made", "together", "looks"),
    [(-1, 30, 30, 1), (100, 30, 30, 1), (12, 12, 12, 1), (1, 1, 1, 1)],
    ids=["no limit", "enough for all", "for some", "for one"],
)
@virtual
async def test_no_more_servers_are_asked_for_together_than_the_quota_allows(
    limit: int, made: int, together: int, looks: int
) -> None:
    wire = Nova(limit)
    marks = {f"m{n}" for n in range(30)}
    project = account(wire, born=set(marks))
    failures = await asyncio.gather(*(carried(project, create_server(mark)) for mark in marks))
    assert sum(failure is None for failure in failures) == made
    assert wire.most <= together
    assert wire.count("/limits") == looks
    assert wire.count("/servers", method="POST") == made, "Nova counts a server late, so it is not asked for more yet"


OF_4_CORES = {"id": "big", "name": "b", "vcpus": 4, "ram": 8192}
OF_1_CORE = {"id": "small", "name": "s", "vcpus": 1, "ram": 512}
CORES_LEFT_10 = {"maxTotalCores": 30, "totalCoresUsed": 20}
MEMORY_LEFT_9000 = {"maxTotalRAMSize": 10_000, "totalRAMUsed": 1_000}


@pytest.mark.parametrize(
    ("limits", "flavors", "made", "asked"),
    [
        (CORES_LEFT_10, ["big"] * 5, 2, 1),
        (CORES_LEFT_10, ["small"] * 12, 10, 1),
        (CORES_LEFT_10, ["big", "big", "small", "small", "small"], 4, 1),
        (MEMORY_LEFT_9000, ["big"] * 3, 1, 1),
        (CORES_LEFT_10 | MEMORY_LEFT_9000, ["big"] * 3, 1, 1),
        (CORES_LEFT_10, ["of somebody else"] * 5, 5, 1),
        ({"maxTotalCores": -1, "maxTotalRAMSize": -1}, ["big"] * 5, 5, 0),
        ({"maxTotalCores": 3, "totalCoresUsed": 0}, ["big"], 1, 0),
    ],
    ids=["cores", "small ones", "mixed", "memory", "both", "flavor that is not listed", "no limit", "one alone"],
)
@virtual
async def test_servers_together_need_no_more_cores_and_memory_than_the_quota_has(
    limits: dict[str, int], flavors: list[str], made: int, asked: int
) -> None:
    wire = Nova(-1)
    wire.limits, wire.things["/flavors/detail"] = limits, [OF_4_CORES, OF_1_CORE]
    project = account(wire, born={f"m{n}" for n in range(len(flavors))})
    wanted = [create_server(f"m{number}", flavor) for number, flavor in enumerate(flavors)]
    failures = await asyncio.gather(*(carried(project, each) for each in wanted))
    assert sum(failure is None for failure in failures) == made
    assert wire.count("/servers", method="POST") == made
    assert wire.count("/flavors/detail") == asked
    assert all("use up the quota of" in str(failure) for failure in failures if failure is not None)


@virtual
async def test_one_server_at_a_time_needs_no_look_at_the_quota() -> None:
    wire = Nova(1)
    project = account(wire, born={"m"})
    assert await carried(project, create_server()) is None
    assert wire.count("/limits") == 0


@virtual
async def test_room_that_somebody_makes_is_seen() -> None:
    wire = Nova(10)
    wire.instances, wire.takes = (10, 9), 8.0
    project = account(wire, born={"m1", "m2", "m3"})
    calls = [asyncio.create_task(carried(project, create_server(mark))) for mark in ("m1", "m2", "m3")]
    await asyncio.sleep(1)
    wire.instances = (12, 10)
    assert await asyncio.gather(*calls) == [None] * 3
    assert wire.most == 2, "one alone, then the other two"


@virtual
async def test_nothing_is_sent_to_a_service_that_asked_for_a_pause_and_others_go_on() -> None:
    wire = ScriptedWire()
    project = account(wire, born={"m"})
    wire.answer = refuses(Throttled("compute", "slow down", code=429, retry_after=30.0))
    assert isinstance(await carried(project, create_server()), Throttled)
    wire.forget()
    for _ in range(29):
        refused = await carried(project, create_server())
        assert isinstance(refused, NotSent)
        await asyncio.sleep(1)
    assert wire.asked == []
    wire.answer = lambda request: reply(201, {"port": port()}) if request.method == "POST" else None
    assert await carried(project, create_port()) is None


@virtual
async def test_requests_wait_for_the_one_that_tries_and_then_go_out() -> None:
    wire = ScriptedWire()
    project = account(wire)
    wire.answer = refuses(Unavailable("network", "no answer"), method="GET")
    with pytest.raises(Unavailable):
        await project.look("m")
    wire.answer = lambda _: None
    wire.forget()
    await asyncio.sleep(1)
    wire.seconds = 5.0
    assert (await project.look("m")).servers == ()  # both lists of the network service
    assert wire.count("/v2.0/ports") == wire.count("/v2.0/trunks") == 1


@virtual
async def test_requests_that_wait_for_one_that_fails_are_told_the_new_pause() -> None:
    wire = ScriptedWire()
    project = account(wire, born={"m"})
    down = Unavailable("network", "no answer")
    wire.answer = refuses(down)
    await carried(project, create_port())
    await asyncio.sleep(1)
    failures = await asyncio.gather(*(carried(project, create_port()) for _ in range(5)))
    assert [type(each) for each in failures] == [Unavailable, NotSent, NotSent, NotSent, NotSent]
    assert {each.retry_after for each in failures[1:] if each} == {2.0}


@virtual
async def test_one_that_tries_and_is_cancelled_lets_the_next_one_try() -> None:
    wire = ScriptedWire()
    project = account(wire, born={"m"})
    wire.answer = refuses(Unavailable("network", "no answer"))
    await carried(project, create_port())
    await asyncio.sleep(1)
    wire.answer = lambda request: reply(201, {"port": port()}) if request.method == "POST" else None
    wire.seconds = 20.0
    first, second = (asyncio.create_task(carried(project, create_port())) for _ in range(2))
    await asyncio.sleep(1)
    first.cancel()
    began = clock()
    assert await second is None
    assert clock() - began == pytest.approx(20)


@virtual
async def test_a_change_is_seen_at_once() -> None:
    wire = ScriptedWire()
    wire.things["/v2.0/ports"] = [port("p9", mark="")]
    project = account(wire)
    recorded = Recorded(ports=("p9",))
    await project.look("m", recorded)
    description = f"taken over {MARK}=m"
    await project.carry(Describe(project="k", mark="m", id="p9", collection="ports", description=description))
    [found] = (await project.look("m")).ports
    assert found.description == description


@virtual
async def test_quotas_of_all_services_are_asked_at_the_same_time() -> None:
    wire = ScriptedWire()
    nova = {"maxTotalInstances": 10, "totalInstancesUsed": 9, "maxTotalCores": -1, "totalCoresUsed": 9}
    cinder = {
        "maxTotalVolumes": 5,
        "totalVolumesUsed": 1,
        "maxTotalVolumeGigabytes": 100,
        "totalGigabytesUsed": 7,
    }
    quota = {"port": {"limit": 500, "used": 499, "reserved": 1}, "network": {"limit": 1, "used": 1, "reserved": 0}}

    def said(request: Http) -> Any:
        if request.service == "network":
            return reply(200, {"quota": quota})
        return reply(200, {"limits": {"absolute": nova if request.service == "compute" else cinder}})

    wire.answer = said
    began = clock()
    assert await account(wire).quotas() == (
        Quota("instances", 10, 9),
        Quota("cores", -1, 9),
        Quota("ram", -1, 0),
        Quota("port", 500, 500),
        Quota("volumes", 5, 1),
        Quota("gigabytes", 100, 7),
    )
    assert clock() - began == pytest.approx(wire.seconds)


UNREADABLE = [
    pytest.param(b"[" * 100_000, id="deep"),
    pytest.param(b'{"flavors": ' + b"[" * 100_000, id="a deep list"),
    pytest.param(b'{"flavors": 5, "limits": 5, "quota": [], "port": 5}', id="other types"),
    pytest.param(b'{"flavors": [], "flavors_links": [5], "limits": {}, "quota": {"port": 5}}', id="other fields"),
    pytest.param(b'{"flavors": [5], "limits": {"absolute": {"maxTotalInstances": "many"}}}', id="other values"),
    pytest.param(
        b'{"flavors": 5, "limits": {"absolute": {}}, "quota": {"port": {"limit":5, "used": 1e308, "reserved": 1e308}}}',
        id="numbers without a sum",
    ),
    pytest.param(b"\xff", id="no JSON"),
]


@pytest.mark.parametrize("body", UNREADABLE)
@virtual
async def test_an_answer_of_any_content_is_a_failure_of_the_cloud(body: bytes) -> None:
    wire = ScriptedWire()
    wire.answer = lambda _: Reply(200, {}, body)
    project = account(wire)
    assert isinstance((await project.find([FLAVOR]))[FLAVOR], Unavailable)
    assert isinstance(await carried(project, create_port()), Doubtful)
    with pytest.raises(Unavailable, match="the answer holds no quotas"):
        await project.quotas()
