"""A manager's life in virtual time: caches, leadership, start and stop at run time, and the end."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any, ClassVar

import pytest
from msgspec import Struct, structs

from tests.unit.kube.process.scripted_world import World, running
from tests.waiting import until
from windlass.api.coordination import Lease
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.control.controller import Controller, Index, Watch
from windlass.kube.control.metrics import Metrics
from windlass.kube.control.permissions import calls
from windlass.kube.control.plan import Call, Plan, Request, Target
from windlass.kube.control.poll import Poll, Polled
from windlass.kube.control.reader import CacheReader
from windlass.kube.errors import TransportError
from windlass.kube.object import Object
from windlass.kube.process.manager import Manager
from windlass.testing.scripted import Widget


class RingBell(Request, frozen=True):
    SYSTEM: ClassVar[str] = "tower"


class Tower:
    """Rings, and counts."""

    def __init__(self) -> None:
        self.rung = 0

    async def send(self, request: RingBell, /) -> None:
        self.rung += 1

    def doubt(self, request: RingBell, /) -> None:
        pass


def test_a_controller_sees_everything_there_is_and_every_change(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller())
            async with running(manager):
                assert world.seen == ["widgets:a"]
                world.server.put("b")
                world.server.delete("a")
                await until(lambda: set(world.seen) >= {"widgets:b", "widgets:a is gone"})

    world.run(scenario())


def test_controllers_start_and_stop_at_run_time_and_share_caches(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        async with world.manager() as manager, running(manager):
            await manager.start(world.controller("one"))
            await manager.start(world.controller("two"))
            await until(lambda: set(world.seen) == {"one:a", "two:a"})
            assert world.server.requests["stream"] == 1, "one cache for both"
            await manager.stop("one")
            world.server.put("b")
            await until(lambda: "two:b" in world.seen)
            await manager.stop("two")
            world.server.put("c")
            await asyncio.sleep(10)
            assert not any(each.endswith(":c") or each == "one:b" for each in world.seen)
            assert manager.report_ready() == {"controllers": "", "election": "", "webhooks": ""}
            await manager.start(world.controller("three"))
            await until(lambda: {"three:a", "three:b", "three:c"} <= set(world.seen))

    world.run(scenario())


def test_names_of_controllers_are_theirs_alone(world: World) -> None:
    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller())
            with pytest.raises(ValueError, match="widgets is started already"):
                await manager.start(world.controller())
            with pytest.raises(ValueError, match="no controller gadgets is started; there is: widgets"):
                await manager.stop("gadgets")

    world.run(scenario())


def test_a_client_that_another_election_fences_or_none_is_refused(world: World) -> None:
    config = ClusterConfig(server="https://api:6443")

    async def scenario() -> None:
        ours, another = world.election("one"), world.election("two")
        for fence, election in ((None, ours), (another, ours), (ours, None)):
            with pytest.raises(ValueError, match=r"Manager\(Client\(config, fence=election\), election=election\)"):
                Manager(Client(config, fence=fence), election=election)

    world.run(scenario())


def test_a_standby_fills_its_caches_is_ready_and_does_nothing(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        leader = world.election("leader")
        await leader.acquire()
        keeping = asyncio.create_task(leader.keep())
        async with world.manager(world.election("standby")) as manager:
            await manager.start(world.controller())
            async with running(manager):
                await asyncio.sleep(30)
                assert world.seen == []
                assert not manager.leading
                assert not any(manager.report_ready().values())
                keeping.cancel()
                await asyncio.wait([keeping])
                await leader.release()
                await until(lambda: world.seen == ["widgets:a"], within=5)

    world.run(scenario())


def test_a_controller_that_needs_no_leadership_works_on_standbys_and_through_a_change_of_leader(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        other = world.election("other")
        await other.acquire()
        holding = asyncio.create_task(other.keep())
        async with world.manager(world.election("one")) as manager:
            await manager.start(world.controller("writes"))
            await manager.start(world.controller("serves", needs_leadership=False))
            assert world.seen == []
            async with running(manager):
                await until(lambda: world.seen == ["serves:a"])
                assert not manager.leading
                holding.cancel()
                await other.release()
                await until(lambda: manager.leading)
                await until(lambda: "writes:a" in world.seen)
                world.leases.fail_next("", Lease, TransportError("no route"), times=9)
                await until(lambda: not manager.leading)
                world.server.put("b")
                await until(lambda: "serves:b" in world.seen)
                assert "writes:b" not in world.seen
                await until(lambda: "writes:b" in world.seen)
                assert world.seen.count("serves:a") == 1, "it was at work all the time"

    world.run(scenario())


def test_a_lost_lease_stops_the_work_keeps_the_caches_and_competes_again(world: World) -> None:
    world.server.put("a")
    metrics = Metrics()

    def master() -> float | None:
        return metrics.registry.get_sample_value("leader_election_master_status", {"name": "windlass"})

    async def scenario() -> None:
        async with world.manager(world.election("one"), metrics=metrics) as manager:
            await manager.start(world.controller())
            async with running(manager):
                await until(lambda: world.seen == ["widgets:a"])
                assert (master(), manager.term) == (1, 1)
                world.leases.fail_next("", Lease, TransportError("no route"), times=9)
                await until(lambda: not manager.leading)
                assert master() == 0
                world.server.put("b")
                await until(lambda: manager.leading)
                await until(lambda: world.seen == ["widgets:a", "widgets:a", "widgets:b"])
                assert world.server.requests["stream"] == 1, "the cache went on"
                assert manager.term == 2

    world.run(scenario())


def test_an_end_in_good_order_finishes_keys_in_work_and_releases_the_lease(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        election = world.election("one")
        async with world.manager(election) as manager:
            world.hold.clear()
            await manager.start(world.controller())
            task = asyncio.create_task(manager.run())
            await asyncio.sleep(1)
            manager.shut_down()
            await asyncio.sleep(5)
            assert not task.done()
            assert election.leading, "renewed while draining"
            world.hold.set()
            await task
        assert world.seen == ["widgets:a"]
        found = world.leases.peek(Lease, "windlass", namespace="system")
        assert found is not None
        assert not found.decode().spec.holder_identity
        assert world.exits == []

    world.run(scenario())


def test_an_end_while_a_controller_is_being_stopped_waits_for_its_keys_in_work(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        election = world.election("one")
        async with world.manager(election) as manager:
            world.hold.clear()
            await manager.start(world.controller())
            task = asyncio.create_task(manager.run())
            await asyncio.sleep(1)
            stopping = asyncio.create_task(manager.stop("widgets"))
            await asyncio.sleep(1)
            manager.shut_down()
            await asyncio.sleep(5)
            assert election.leading, "a write may be in flight"
            world.hold.set()
            await asyncio.gather(task, stopping)
        found = world.leases.peek(Lease, "windlass", namespace="system")
        assert found is not None
        assert not found.decode().spec.holder_identity

    world.run(scenario())


def test_a_controller_that_is_started_after_the_end_began_does_nothing(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        async with world.manager(world.election("one")) as manager:
            world.hold.clear()
            await manager.start(world.controller("early"))
            task = asyncio.create_task(manager.run())
            await asyncio.sleep(1)
            manager.shut_down()
            await manager.start(world.controller("late"))
            await asyncio.sleep(1)
            world.hold.set()
            await task
            assert world.seen == ["early:a"]
            await manager.stop("late")

    world.run(scenario())


def test_until_its_caches_are_filled_a_process_is_not_ready_and_says_why(world: World) -> None:
    world.server.fail(*[TransportError("connection refused")] * 4)

    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller())
            await asyncio.sleep(0.3)
            report = manager.report_ready()
            assert report["controllers"] == "waiting for the caches of widgets"
            assert "connection refused" in report["cache/widgets.example.com"]
            await manager.synced()
            await asyncio.sleep(0)
            assert not any(manager.report_ready().values())

    world.run(scenario())


def test_until_a_poll_is_answered_a_leader_is_not_ready_and_figures_tell_its_age(world: World) -> None:
    answers: list[Exception] = [OSError("the cloud is away")] * 3

    async def look() -> Polled[str]:
        if answers:
            raise answers.pop()
        return Polled(("a",))

    async def scenario() -> None:
        metrics = Metrics()
        async with world.manager(metrics=metrics) as manager:
            await manager.start(world.controller(sources=(Poll("cloud", look, period=60.0, random=Random(1)),)))
            assert manager.report_ready()["poll/cloud"] == "", "a standby asks nothing"
            async with running(manager):
                assert manager.report_ready()["poll/cloud"] == "no answer yet: OSError: the cloud is away"
                assert metrics.registry.get_sample_value("windlass_poll_age_seconds", {"poll": "cloud"}) is None
                await until(lambda: "widgets:a is gone" in world.seen)
                assert not any(manager.report_ready().values())
                await asyncio.sleep(10)
                age = metrics.registry.get_sample_value("windlass_poll_age_seconds", {"poll": "cloud"})
                assert age == pytest.approx(10, abs=0.1)
                assert metrics.registry.get_sample_value("windlass_poll_failures_total", {"poll": "cloud"}) == 3

    world.run(scenario())


def indexing(name: str, index: Index, woken: list[str]) -> Callable[[CacheReader], Controller[Any, Any]]:
    """A controller that wakes what its index `by` finds under "x"."""

    def make(reader: CacheReader) -> Controller[Any, Any]:
        def found(_: Object[Any]) -> list[str]:
            woken.extend(one.name for one in reader.known(Widget, "by", "x"))
            return []

        watch: Watch[str] = Watch(Widget, found, indexes={"by": index})
        return Controller(name=name, watches=(watch,), observe=never, decide=never)

    return make


async def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("no key is ever woken")


def test_each_controller_has_indexes_of_its_own_and_takes_them_with_it(world: World) -> None:
    one: list[str] = []
    other: list[str] = []
    asked: list[str] = []

    def counting(widget: Object[Any]) -> list[str]:
        asked.append(widget.name)
        return ["x"]

    async def scenario() -> None:
        async with world.manager() as manager, running(manager):
            await manager.start(indexing("one", counting, one))
            await manager.start(indexing("other", lambda _: ["y"], other))
            await manager.synced()
            world.server.put("a")
            await until(lambda: "a" in one)
            assert other == []
            assert world.server.requests["stream"] == 1, "one cache for both"
            await manager.stop("one")
            asked.clear()
            world.server.put("b")
            await asyncio.sleep(10)
            assert asked == [], "nobody pays for the index of a controller that is gone"
            assert "b" not in one

    world.run(scenario())


def test_a_controller_with_a_selected_cache_leaves_another_ones_absences_alone(world: World) -> None:
    world.server.put("a")

    async def scenario() -> None:
        chosen: Watch[str] = Watch(Widget, lambda widget: [widget.name], label_selector="chosen")
        async with world.manager() as manager, running(manager):
            await manager.start(world.controller("selective", watches=(chosen,)))
            await manager.start(world.controller("whole"))
            await until(lambda: set(world.seen) >= {"selective:a", "whole:a"})
            assert world.server.requests["get"] == 0
            world.server.delete("a")
            await until(lambda: set(world.seen) >= {"selective:a is gone", "whole:a is gone"})
            assert world.server.requests["get"] == 1, "what a selector may leave out is asked for, nothing else"

    world.run(scenario())


def test_caches_of_one_kind_do_not_hide_each_others_trouble(world: World) -> None:
    class Newer(Struct, frozen=True):
        RESOURCE: ClassVar[Resource] = structs.replace(Widget.RESOURCE, version="v2")
        metadata: ObjectMeta = ObjectMeta()

    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller("old"))
            await manager.synced()
            world.server.fail(*[TransportError("connection refused")] * 20)
            newer: Watch[str] = Watch(Newer, lambda widget: [widget.name])
            await manager.start(world.controller("new", watches=(newer,)))
            await manager.start(world.controller("old too", watches=(Watch(Widget, lambda _: ()),)))
            await asyncio.sleep(0.1)
            assert "connection refused" in manager.report_ready()["cache/widgets.example.com"]
            (figures,) = manager.pool.figures()
            assert not figures.synced

    world.run(scenario())


def test_a_watch_that_breaks_off_interrupts_its_cache_at_once_and_makes_it_unreliable_later(world: World) -> None:
    async def scenario() -> None:
        async with world.manager() as manager:
            assert manager.pool.interrupted() == ["nothing is followed yet"]
            await manager.start(world.controller())
            assert manager.pool.interrupted() == ["widgets.example.com: not listed yet"]
            await manager.synced()
            assert manager.pool.interrupted() == []
            world.server.fail(*[TransportError("connection refused")] * 4)
            world.server.cut(TransportError("connection reset"))
            await until(lambda: manager.pool.interrupted() == ["widgets.example.com: connection refused"])
            assert not any(manager.report_ready().values())
            await until(lambda: manager.pool.interrupted() == [])

    world.run(scenario())


def test_a_bug_in_the_machinery_ends_the_process(world: World) -> None:
    class Odd:
        def attach(self, wake: object) -> Callable[[], None]:
            raise RuntimeError("a source that cannot be attached")

    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller(sources=(Odd(),)))
            with pytest.raises(RuntimeError, match="cannot be attached"):
                await manager.run()

    world.run(scenario())


@pytest.mark.parametrize("loses", [False, True])
def test_calls_are_made_while_leading_and_only_then(world: World, loses: bool) -> None:
    world.server.put("a")
    tower = Tower()

    def ring(snapshot: str, *, now: datetime) -> Plan:
        if world.seen:
            return Plan.nothing()
        world.seen.append(snapshot)
        return Plan.of(Call(target=Target(Widget, "a", "default", "u"), request=RingBell()))

    async def scenario() -> None:
        election = world.election("one")
        made = world.controller(decide=ring, permissions=(calls(RingBell),))
        async with world.manager(election, systems={"tower": tower}) as manager:
            await manager.start(made)
            world.hold.clear()
            async with running(manager):
                await until(lambda: manager.leading)
                if loses:
                    world.leases.fail_next("patch", Lease, TransportError("gone"), times=1000)
                    await until(lambda: not election.leading)
                world.hold.set()
                await until(lambda: bool(world.seen))

    world.run(scenario())
    assert tower.rung == (0 if loses else 1)
