"""A manager's life in virtual time: caches, leadership, start and stop at run time, and the end."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from random import Random
from typing import Any, ClassVar, cast

import pytest
from msgspec import Struct, structs

from tests.patience import PATIENCE
from windlass.api.coordination import Lease
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.control.controller import Controller, Index, Watch
from windlass.kube.control.metrics import Metrics
from windlass.kube.control.plan import Outcome, Plan
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import Present
from windlass.kube.errors import TransportError
from windlass.kube.object import Object
from windlass.kube.process.lease import Election
from windlass.kube.process.manager import Manager
from windlass.kube.process.pool import ClusterClient
from windlass.testing.clock import VirtualLoop
from windlass.testing.memory import MemoryApi
from windlass.testing.scripted import ScriptedServer, Widget


class World:
    """A server with widgets, a server with a lease, and managers between them."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.server = ScriptedServer(Widget)
        self.leases = MemoryApi(Lease, clock=loop.clock.now)
        self.exits: list[int] = []
        self.seen: list[str] = []
        self.hold = asyncio.Event()
        self.hold.set()

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(main)

    def election(self, identity: str) -> Election:
        return Election(
            self.leases, "windlass", namespace="system", identity=identity, clock=self.loop.clock, random=Random(1)
        )

    def manager(self, election: Election | None = None, **settings: Any) -> Manager:
        return Manager(
            cast(ClusterClient, self.server),
            election=election,
            clock=self.loop.clock,
            random=Random(1),
            exit=self.exits.append,
            **settings,
        )

    def controller(self, name: str = "widgets", **settings: Any) -> Callable[[CacheReader], Controller[Any, Any]]:
        """Notes the name of every widget that it sees through its reader."""

        def make(reader: CacheReader) -> Controller[Any, Any]:
            async def observe(key: str, last: Outcome) -> str:
                await self.hold.wait()
                found = await reader.see(Widget, key, namespace="default")
                return f"{name}:{key}" if isinstance(found, Present) else f"{name}:{key} is gone"

            watch: Watch[str] = Watch(Widget, lambda widget: [widget.name])
            usual: dict[str, Any] = {"name": name, "watches": (watch,), "observe": observe, "decide": self.note}
            return Controller(**{**usual, **settings})

        return make

    def note(self, snapshot: str, *, now: datetime) -> Plan:
        self.seen.append(snapshot)
        return Plan.nothing()


@pytest.fixture
def world() -> Iterator[World]:
    loop = VirtualLoop()
    yield World(loop)
    loop.close()


@pytest.fixture(autouse=True)
def untouched_gc() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    """Run `manager` while the context is open, then shut it down in good order."""
    task = asyncio.create_task(manager.run())
    await asyncio.sleep(0.01)
    try:
        yield task
    finally:
        manager.shut_down()
        await task


async def until(true: Callable[[], bool], *, within: float = 60.0) -> None:
    async with asyncio.timeout(within):
        while not true():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.05)


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
            assert manager.report_ready() == {"controllers": ""}
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
                assert master() == 1
                world.leases.fail_next("", Lease, TransportError("no route"), times=9)
                await until(lambda: not manager.leading)
                assert master() == 0
                world.server.put("b")
                await until(lambda: manager.leading)
                await until(lambda: world.seen == ["widgets:a", "widgets:a", "widgets:b"])
                assert world.server.requests["stream"] == 1, "the cache went on"

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


def test_a_drain_that_takes_too_long_ends_in_a_hard_exit_without_releasing_the_lease(world: World) -> None:
    world.server.put("stuck")

    async def scenario() -> None:
        async with world.manager(world.election("one"), drain_seconds=8) as manager:
            world.hold.clear()
            await manager.start(world.controller())
            task = asyncio.create_task(manager.run())
            await asyncio.sleep(1)
            manager.shut_down()
            began = world.loop.time()
            await task
            assert world.loop.time() - began == pytest.approx(8)
        assert world.exits == [1]
        found = world.leases.peek(Lease, "windlass", namespace="system")
        assert found is not None
        assert found.decode().spec.holder_identity == "one"

    world.run(scenario())


def test_asked_to_stop_twice_it_leaves_at_once(world: World) -> None:
    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller())
            async with running(manager):
                manager.shut_down()
                manager.shut_down()
                assert world.exits == [1]

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


def test_what_the_caches_hold_is_taken_out_of_the_collectors_sight_once_filled(world: World) -> None:
    async def scenario() -> None:
        async with world.manager() as manager:
            assert gc.get_threshold() == (50_000, 20, 100)
            assert gc.get_freeze_count() == 0
            await manager.start(world.controller())
            await until(lambda: gc.get_freeze_count() > 0)

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


SLOW_START = """
import asyncio, signal
from windlass.kube.process.manager import Manager
from windlass.testing.scripted import ScriptedServer, Widget

async def main():
    async with Manager(ScriptedServer(Widget), drain_seconds=600):
        print("starting", flush=True)
        await asyncio.Event().wait()
    print("ended in good order", flush=True)

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as the kernel does for PID 1 of a container
asyncio.run(main())
"""


def test_a_process_that_has_not_come_to_run_yet_ends_when_it_is_told_to() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW_START], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "starting\n"
            process.terminate()
            said, _ = process.communicate(timeout=PATIENCE)
            assert said.splitlines()[-1] == "ended in good order"
            assert process.returncode == 0
        finally:
            process.kill()


STUCK_LOOP = """
import asyncio, threading
from windlass.kube.control.controller import Controller
from windlass.kube.process.manager import Manager
from windlass.kube.control.source import Mailbox
from windlass.testing.scripted import ScriptedServer, Widget

async def main():
    async with Manager(ScriptedServer(Widget), drain_seconds=0.2) as manager:
        async def observe(key, last):
            print("stuck", flush=True)
            manager.shut_down()
            threading.Event().wait()

        mailbox = Mailbox()
        mailbox.post("a")
        await manager.start(Controller(name="c", sources=(mailbox,), observe=observe, decide=None))
        await manager.run()

asyncio.run(main())
"""


def test_a_loop_that_is_stuck_does_not_outlive_the_drain_deadline() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STUCK_LOOP], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.stdout.splitlines()[-1] == "stuck"
    assert ended.returncode == 1
