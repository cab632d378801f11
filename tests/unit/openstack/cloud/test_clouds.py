"""All projects of a process: who has one, who is woken when, and what ends when nobody needs it."""

import asyncio
import gc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tests.unit.openstack.cloud.scripted_wire import ScriptedWire, clock, now, reply, virtual
from windlass.kube.control.queue import Priority
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure, NotSent, OverQuota, Unauthenticated, Unavailable
from windlass.openstack.cloud.inventory import MARK, Recorded
from windlass.openstack.cloud.requests import CreateServer, CreateVolume, Intent

MINE = Credentials({"auth": {"username": "u"}}, "prod", where="Secret prod/cloud")
NEW = Credentials({"auth": {"username": "u", "password": "new"}}, "prod", where="Secret prod/cloud")


class Process:
    """One process; `wires` are those that it has made, in order. `fails`: what a login ends with."""

    def __init__(self) -> None:
        self.wires: list[ScriptedWire] = []
        self.fails: CloudFailure | None = None
        self.woken: list[Any] = []
        self.clouds = Clouds(wire=self._wire, now=now, clock=clock, times=Times(request=30.0))

    def _wire(self, _: Credentials) -> ScriptedWire:
        process, wire = self, ScriptedWire()

        async def project_id() -> str:
            await asyncio.sleep(0.1)
            if process.fails is not None:
                raise process.fails
            return "p1"

        wire.project_id = project_id  # type: ignore[method-assign]
        self.wires.append(wire)
        return wire

    def lead(self) -> Callable[[], None]:
        return self.clouds.polls.attach(self._wake)

    def _wake(self, key: Any, /, *, priority: Priority = Priority.NORMAL) -> None:
        self.woken.append(key)

    async def polls_within(self, seconds: float) -> int:
        """How many polls begin in the next `seconds`."""
        [wire] = self.wires
        before = wire.count("/servers/detail")
        await asyncio.sleep(seconds)
        return wire.count("/servers/detail") - before


def server(which: str, *, mark: str, status: str = "ACTIVE", **more: Any) -> dict[str, Any]:
    return {"id": which, "name": which, "status": status, "metadata": {MARK: mark}, **more}


def create_server(project: str, mark: str = "m") -> CreateServer:
    body = {"name": "w", "metadata": {MARK: mark}}
    return CreateServer(project=project, intent=Intent(mark), subject="w", body=body, microversion="2.53")


def makes(which: str) -> Any:
    return lambda request: reply(202, {"server": {"id": which}}) if request.method == "POST" else None


# having a project


@virtual
async def test_equal_credentials_share_a_project_and_those_who_ask_at_once_log_in_once() -> None:
    process = Process()
    projects = await asyncio.gather(*(process.clouds.project(MINE) for _ in range(20)))
    assert len({id(each) for each in projects}) == len(process.wires) == 1
    assert await process.clouds.project(NEW) is not projects[0]


@virtual
async def test_wrong_credentials_are_tried_once_in_five_minutes() -> None:
    process = Process()
    process.fails = Unauthenticated("identity", "wrong password", code=401)
    failures: list[type[Exception]] = []
    for _ in range(60):
        try:
            await process.clouds.project(MINE)
        except CloudFailure as failure:
            failures.append(type(failure))
        await asyncio.sleep(10)
    assert failures.count(Unauthenticated) == len(process.wires) == 2
    assert failures.count(NotSent) == 58
    assert all(wire.closed for wire in process.wires)


@virtual
async def test_new_credentials_are_tried_at_once() -> None:
    process = Process()
    process.fails = Unauthenticated("identity", "wrong password", code=401)
    with pytest.raises(Unauthenticated):
        await process.clouds.project(MINE)
    process.fails = None
    assert (await process.clouds.project(NEW)).where == "Secret prod/cloud"


@virtual
async def test_keystone_that_comes_back_is_tried_with_growing_pauses() -> None:
    process = Process()
    process.fails = Unavailable("identity", "Keystone does not answer")
    for _ in range(31):
        with pytest.raises(Unavailable if len(process.wires) == 0 else CloudFailure):
            await process.clouds.project(MINE)
        await asyncio.sleep(1)
    assert len(process.wires) == 6  # after 0, 1, 3, 7, 15, 30 s
    process.fails = None
    await asyncio.sleep(15)
    await process.clouds.project(MINE)


@virtual
async def test_a_project_that_nobody_has_any_more_is_closed_after_ten_minutes() -> None:
    process = Process()
    await process.clouds.project(MINE)
    await asyncio.sleep(601)
    await process.clouds.project(NEW)
    gc.collect()
    assert [wire.closed for wire in process.wires] == [True, False]


@virtual
async def test_a_project_with_followers_stays() -> None:
    process = Process()
    process.clouds.follow("w", await process.clouds.project(MINE), "m")
    await asyncio.sleep(601)
    await process.clouds.project(NEW)
    gc.collect()
    assert [wire.closed for wire in process.wires] == [False, False]


@virtual
async def test_a_project_that_a_program_still_has_works_after_a_long_rest() -> None:
    process = Process()
    project = await process.clouds.project(MINE)
    await asyncio.sleep(601)
    await process.clouds.project(NEW)
    process.wires[0].answer = makes("s1")
    process.clouds.born("m")
    made = await process.clouds.send(create_server(project.key))
    assert made.id == "s1"
    assert await process.clouds.project(MINE) is project


@virtual
async def test_all_are_closed_at_the_end() -> None:
    process = Process()
    async with process.clouds:
        await process.clouds.project(MINE)
        await process.clouds.project(NEW)
    assert [wire.closed for wire in process.wires] == [True, True]


# polling


@virtual
async def test_a_project_at_rest_is_polled_once_a_minute_with_two_lists() -> None:
    process = Process()
    process.lead()
    project = await process.clouds.project(MINE)
    [wire] = process.wires
    wire.things["/servers/detail"] = [server(f"s{n}", mark=f"m{n}") for n in range(100)]
    for n in range(100):
        await project.look(f"m{n}")
        process.clouds.follow(f"w{n}", project, f"m{n}")
    await asyncio.sleep(31)
    wire.forget()
    await asyncio.sleep(600)
    assert (wire.count("/servers/detail"), wire.count("/v2.0/ports")) == (10, 10)
    assert len(wire.asked) == 20
    assert process.woken == []


@virtual
async def test_no_project_is_polled_by_a_standby() -> None:
    process = Process()
    project = await process.clouds.project(MINE)
    process.clouds.follow("w", project, "m")
    assert await process.polls_within(600) == 0
    stop = process.lead()
    assert await process.polls_within(1) == 1
    stop()
    assert await process.polls_within(600) == 0


@virtual
async def test_after_a_write_the_polls_are_dense_and_become_rare_while_it_builds() -> None:
    process = Process()
    process.lead()
    project = await process.clouds.project(MINE)
    process.clouds.follow("w", project, process.clouds.born("m"))
    await asyncio.sleep(10)
    [wire] = process.wires
    wire.answer = makes("s1")
    wire.things["/servers/detail"] = [server("s1", mark="m", status="BUILD")]
    wire.forget()
    await process.clouds.send(create_server(project.key))
    began, times = clock(), []
    wire.answer = lambda request: times.append(clock() - began) if request.path == "/servers/detail" else None
    await asyncio.sleep(60)
    gaps = [round(after - before, 3) for before, after in pairwise(times)]
    assert times[0] == pytest.approx(1, abs=0.3)
    assert gaps == sorted(gaps)
    assert gaps[0] < 1.5
    late = [gap - max(1.0, seen / 4) for seen, gap in zip(times, gaps, strict=False)]
    assert max(late) < 0.2, "what took the cloud long is seen a quarter of that later, at the most"
    assert gaps[-1] == pytest.approx(10, abs=0.5)
    assert wire.count("/v2.0/ports") <= 6 < len(times)
    wire.things["/servers/detail"] = [server("s1", mark="m")]
    await asyncio.sleep(11)
    assert await process.polls_within(120) == 2


@virtual
async def test_keys_are_woken_by_mark_when_something_of_theirs_differs_and_only_then() -> None:
    process = Process()
    process.lead()
    project = await process.clouds.project(MINE)
    [wire] = process.wires
    servers = wire.things["/servers/detail"] = [server("s1", mark="m1"), server("s2", mark="m2"), server("x", mark="")]
    for which in "12":
        await project.look(f"m{which}")
        process.clouds.follow(f"w{which}", project, f"m{which}")
    process.clouds.follow("w3", project, "m3", Recorded(server="x"))
    await asyncio.sleep(61)
    assert process.woken == []
    servers[0] = server("s1", mark="m1", status="SHUTOFF")
    await asyncio.sleep(61)
    assert process.woken == ["w1"]
    servers[2] = server("x", mark="", status="SHUTOFF")
    wire.things["/v2.0/ports"] = [{"id": "p", "description": f"a {MARK}=m2"}]
    await asyncio.sleep(61)
    assert process.woken == ["w1", "w2", "w3"]
    del servers[0]
    await asyncio.sleep(61)
    assert process.woken == ["w1", "w2", "w3", "w1"]
    await asyncio.sleep(61)
    assert len(process.woken) == 4


@virtual
async def test_the_owner_of_a_volume_that_is_being_made_is_woken_when_it_is_there() -> None:
    process = Process()
    process.lead()
    project = await process.clouds.project(MINE)
    [wire] = process.wires
    mark = process.clouds.born("m")
    volume = {"id": "v1", "status": "creating", "metadata": {MARK: mark}}
    wire.answer = lambda request: reply(202, {"volume": volume}) if request.method == "POST" else None
    wire.things["/volumes/detail"] = [volume]
    body = {"name": "w-root", "metadata": {MARK: mark}}
    await process.clouds.send(CreateVolume(project=project.key, intent=Intent(mark), subject="w-root", body=body))
    process.clouds.follow("w", project, mark)
    await asyncio.sleep(5)
    assert process.woken == []
    wire.things["/volumes/detail"] = [{**volume, "status": "available"}]
    await asyncio.sleep(11)
    assert process.woken == ["w"]
    wire.forget()
    await asyncio.sleep(120)
    assert wire.count("/volumes/detail") == 0


@virtual
async def test_polls_of_a_cloud_that_does_not_answer_become_rare_and_go_on() -> None:
    process = Process()
    process.lead()
    project = await process.clouds.project(MINE)
    [wire] = process.wires
    wire.things["/servers/detail"] = [server("s1", mark="m")]
    await project.look("m")
    process.clouds.follow("w", project, "m")
    await asyncio.sleep(61)
    wire.answer = lambda request: Unavailable(request.service, "no answer")
    wire.forget()
    await asyncio.sleep(600)
    assert 3 <= wire.count("/servers/detail") <= 15
    wire.answer = lambda _: None
    wire.things["/servers/detail"] = []
    await asyncio.sleep(600)
    assert process.woken == ["w"]


@virtual
async def test_one_who_is_forgotten_is_not_woken_and_nothing_is_polled_for_nobody() -> None:
    process = Process()
    process.lead()
    project = await process.clouds.project(MINE)
    process.clouds.follow("w", project, "m")
    await asyncio.sleep(1)
    process.clouds.unfollow("w")
    process.wires[0].things["/servers/detail"] = [server("s1", mark="m")]
    assert await process.polls_within(600) == 0
    assert process.woken == []


@virtual
async def test_one_with_new_credentials_is_followed_there_only() -> None:
    process = Process()
    process.lead()
    process.clouds.follow("w", await process.clouds.project(MINE), "m")
    process.clouds.follow("w", await process.clouds.project(NEW), "m")
    await asyncio.sleep(5)
    for wire in process.wires:
        wire.forget()
    await asyncio.sleep(120)
    assert [wire.count("/servers/detail") for wire in process.wires] == [0, 2]


# terms of leadership


@virtual
async def test_a_term_forgets_what_was_certain() -> None:
    process = Process()
    stop = process.lead()
    project = await process.clouds.project(MINE)
    await asyncio.sleep(31)
    assert (await project.look("m")).certain
    process.clouds.born("new")
    stop()
    process.lead()
    assert not (await project.look("m")).certain
    assert not (await project.look("new")).certain


@virtual
async def test_a_request_by_old_credentials_counts_as_under_way() -> None:
    process = Process()
    process.lead()
    await asyncio.sleep(100)
    old = await process.clouds.project(MINE)
    process.clouds.born("m")
    process.wires[0].answer = makes("s1")
    await process.clouds.send(create_server(old.key))
    new = await process.clouds.project(NEW)
    assert not (await new.look("m")).certain
    assert (await new.look(process.clouds.born("other"))).certain


# metrics


@virtual
async def test_requests_durations_and_gates_are_metrics() -> None:
    process = Process()
    registry = CollectorRegistry()
    registry.register(process.clouds.figures)
    project = await process.clouds.project(MINE)
    [wire] = process.wires
    wire.answer = lambda request: OverQuota("compute", "Quota exceeded", code=403) if request.method == "POST" else None
    await project.look("m")
    with pytest.raises(OverQuota):
        await process.clouds.send(create_server(project.key))
    lines = generate_latest(registry).decode().splitlines()
    assert 'windlass_cloud_requests_total{code="200",method="GET",service="compute"} 1.0' in lines
    assert 'windlass_cloud_requests_total{code="0",method="POST",service="compute"} 1.0' in lines
    assert 'windlass_cloud_request_duration_seconds_count{method="GET",service="compute"} 1.0' in lines
    assert 'windlass_cloud_gate_closed{cloud="Secret prod/cloud",gate="quota:compute/servers"} 1.0' in lines
    assert 'windlass_cloud_gate_closed{cloud="Secret prod/cloud",gate="compute"} 0.0' in lines
