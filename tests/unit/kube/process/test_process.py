"""The process around managers: signals, the drain and its deadline, and clusters that do not concern each other."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from tests.patience import PATIENCE
from tests.unit.kube.process.scripted_world import World, running
from tests.waiting import until
from windlass.kube.control.metrics import Metrics
from windlass.kube.errors import TransportError
from windlass.kube.process.manager import Manager

pytestmark = pytest.mark.usefixtures("untouched_gc")


class Odd:
    """A source that cannot be attached."""

    def attach(self, wake: object) -> Callable[[], None]:
        raise RuntimeError("a source that cannot be attached")


class Pair:
    """Two clusters, each with a lease and a controller, as one process has them."""

    def __init__(self, world: World) -> None:
        self.east, self.west = world, World(world.loop)
        self.process = world.process(drain_seconds=8)
        self.managers: list[Manager] = []

    async def enter(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.process)
        for name, world in (("east", self.east), ("west", self.west)):
            manager = world.manager(world.election("me"), metrics=Metrics(host=name))
            await stack.enter_async_context(manager)
            self.process.add(manager, cluster=name)
            await manager.start(world.controller())
            self.managers.append(manager)


def test_a_signal_drains_the_managers_of_all_clusters(world: World) -> None:
    pair = Pair(world)
    for each in (pair.east, pair.west):
        each.server.put("a")
        each.hold.clear()

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            await pair.enter(stack)
            task = asyncio.create_task(pair.process.run())
            await asyncio.sleep(1)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(5)
            assert not task.done()
            assert (pair.east.holder(), pair.west.holder()) == ("me", "me"), "renewed while draining"
            pair.east.hold.set()
            await until(lambda: not pair.east.holder())
            assert pair.west.holder() == "me"
            pair.west.hold.set()
            await task
        assert not pair.west.holder()
        assert (pair.east.seen, pair.west.seen) == (["widgets:a"], ["widgets:a"])
        assert world.exits == []

    world.run(scenario())


def test_a_cluster_out_of_reach_leaves_the_other_at_work_and_is_named(world: World) -> None:
    pair = Pair(world)
    pair.west.server.fail(*[TransportError("connection refused")] * 1000)

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            await pair.enter(stack)
            async with running(pair.process):
                pair.east.server.put("a")
                await until(lambda: pair.east.seen == ["widgets:a"])
                await asyncio.sleep(120)
                pair.east.server.put("b")
                await until(lambda: "widgets:b" in pair.east.seen)
                troubled = {name: why for name, why in pair.process.report_ready().items() if why}
                assert troubled.keys() == {"west/controllers", "west/cache/widgets.example.com"}
                assert "connection refused" in troubled["west/cache/widgets.example.com"]
                assert not any(pair.process.report_live().values())

    world.run(scenario())


def test_one_scrape_has_the_figures_of_all_clusters_and_of_the_process(world: World) -> None:
    pair = Pair(world)

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            await pair.enter(stack)
            async with running(pair.process):
                pair.east.server.put("a")
                await until(lambda: pair.east.seen == ["widgets:a"])
                text = pair.process.metrics.text().decode()
        for cluster, reconciles in (("east", 1), ("west", 0)):
            labels = f'cluster="{cluster}",controller="widgets",result="success"'
            assert f"controller_runtime_reconcile_total{{{labels}}} {reconciles:.1f}" in text
        assert text.count("# TYPE controller_runtime_reconcile_total counter") == 1
        assert "\nwindlass_loop_lag_seconds_bucket" in text
        assert "\nprocess_cpu_seconds_total " in text

    world.run(scenario())


def test_of_a_single_cluster_neither_checks_nor_figures_are_named(world: World) -> None:
    async def scenario() -> None:
        async with world.process() as process, world.manager(metrics=Metrics()) as manager:
            process.add(manager)
            await manager.start(world.controller())
            async with running(process):
                assert set(process.report_ready()) == {
                    "controllers",
                    "election",
                    "webhooks",
                    "cache/widgets.example.com",
                }
                assert "cluster=" not in process.metrics.text().decode()
            with pytest.raises(ValueError, match="name each cluster once"):
                process.add(manager)

    world.run(scenario())


def test_a_drain_that_takes_too_long_ends_in_a_hard_exit_without_releasing_the_lease(world: World) -> None:
    world.server.put("stuck")

    async def scenario() -> None:
        election = world.election("one")
        async with world.process(drain_seconds=8) as process, world.manager(election) as manager:
            process.add(manager)
            world.hold.clear()
            await manager.start(world.controller())
            task = asyncio.create_task(process.run())
            await asyncio.sleep(1)
            assert manager.in_work() == {"widgets": ["stuck"]}
            process.shut_down()
            began = world.loop.time()
            await task
            assert world.loop.time() - began == pytest.approx(8)
        assert world.exits == [1]
        assert world.holder() == "one"

    world.run(scenario())


def test_asked_to_stop_twice_it_leaves_at_once(world: World) -> None:
    async def scenario() -> None:
        async with world.process() as process, world.manager() as manager:
            process.add(manager)
            await manager.start(world.controller())
            async with running(process):
                process.shut_down()
                process.shut_down()
                assert world.exits == [1]
                world.exits.clear()

    world.run(scenario())


def test_a_bug_in_the_machinery_of_one_cluster_drains_the_others_and_ends_the_process(world: World) -> None:
    pair = Pair(world)

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            await pair.enter(stack)
            await pair.managers[0].start(pair.east.controller("odd", sources=(Odd(),)))
            with pytest.raises(RuntimeError, match="cannot be attached"):
                await pair.process.run()
            assert not pair.west.holder()
            assert world.exits == []

    world.run(scenario())


def test_modules_and_then_what_the_caches_hold_are_taken_out_of_the_collectors_sight(world: World) -> None:
    async def scenario() -> None:
        async with world.process() as process, world.manager() as manager:
            process.add(manager)
            assert gc.get_threshold() == (50_000, 20, 100)
            modules = gc.get_freeze_count()
            assert modules > 0
            async with running(process):
                await manager.start(world.controller())
                await until(lambda: gc.get_freeze_count() > modules)

    world.run(scenario())


SLOW_START = """
import asyncio, signal
from windlass.kube.process.process import Process

async def main():
    async with Process(drain_seconds=600):
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
from windlass.kube.control.source import Mailbox
from windlass.kube.process.manager import Manager
from windlass.kube.process.process import Process
from windlass.testing.scripted import ScriptedServer, Widget

async def main():
    async with Process(drain_seconds=0.2) as process, Manager(ScriptedServer(Widget)) as manager:
        async def observe(key, last):
            process.shut_down()
            print("stuck", flush=True)
            threading.Event().wait()

        mailbox = Mailbox()
        mailbox.post("a")
        process.add(manager)
        await manager.start(Controller(name="c", sources=(mailbox,), observe=observe, decide=None))
        await process.run()

asyncio.run(main())
"""


def test_a_loop_that_is_stuck_does_not_outlive_the_drain_deadline() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STUCK_LOOP], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.stdout.splitlines()[-1] == "stuck"
    assert ended.returncode == 1
