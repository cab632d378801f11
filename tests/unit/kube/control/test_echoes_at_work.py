"""Own writes through a running controller: their echoes cost no reconcile, whatever else happens still does."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from windlass.kube.cache.store import Change, Store
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Create, Merge, Outcome, Plan, Target, target_of
from windlass.kube.control.worker import Running
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.changes import Happened, StoredWrite
from windlass.testing.clock import VirtualLoop
from windlass.testing.scripted import Widget

NAMESPACE = "default"
SIZE = {"spec": {"size": 1}}


class Wire:
    """A watch of widgets whose events come when a test says: at once, which is before the write is answered, or late.

    What is under way is in `held`; `deliver` brings it.
    """

    def __init__(self, api: MemoryApi, *, late: bool) -> None:
        self.held: list[StoredWrite] = []
        self._late = late
        self._store: Store[Widget] = Store()
        self._listeners: list[Callable[[Change[Widget]], None]] = []
        api.subscribe(self._happened)

    def items(self, namespace: str | None = None) -> Iterator[Object[Widget]]:
        return self._store.items(namespace)

    def subscribe(
        self, listener: Callable[[Change[Widget]], None], /, *, returned: Callable[[], None]
    ) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def deliver(self) -> None:
        told, self.held = self.held, []
        for stored in told:
            found = Object.of(Widget, stored.tree)
            put = self._store.delete if stored.happened is Happened.DELETED else self._store.put
            for change in put(found):
                for listener in self._listeners:
                    listener(change)

    def _happened(self, stored: StoredWrite) -> None:
        self.held.append(stored)
        if not self._late:
            self.deliver()


class World:
    """A controller that gives every widget the size 1, and a second widget to those named in `twins`.

    `looks` has a name for each reconcile. `meanwhile` happens once, between an observation and the decision.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.api = MemoryApi(Widget, clock=loop.clock.now)
        self.twins: dict[str, str] = {}
        self.looks: list[str] = []
        self.meanwhile: Callable[[], Coroutine[Any, Any, object]] | None = None

    @asynccontextmanager
    async def running(self, *, late: bool) -> AsyncIterator[Wire]:
        wire = Wire(self.api, late=late)
        watch: Watch[str] = Watch(Widget, lambda widget: [widget.name])
        controller: Controller[str, Any] = Controller(
            name="sizes", watches=(watch,), observe=self._observe, decide=self._decide, resync=0
        )
        work = Running(controller, executor=Executor(self.api), caches=(wire,), clock=self.loop.clock)
        task = asyncio.create_task(work.run())
        await asyncio.sleep(0)
        try:
            yield wire
        finally:
            await work.drain()
            await task

    async def create(self, name: str) -> None:
        body = {"apiVersion": Widget.RESOURCE.api_version, "kind": "Widget", "metadata": {"name": name}, "spec": {}}
        await self.api.create(Widget, body, namespace=NAMESPACE)

    async def change(self, name: str, **spec: int) -> None:
        """Somebody else writes."""
        await self.api.patch(
            Widget, name, {"spec": spec}, type=PatchType.MERGE, namespace=NAMESPACE, field_manager="else"
        )

    def size(self, name: str) -> int | None:
        found = self.api.peek(Widget, name, namespace=NAMESPACE)
        assert found is not None
        return found.decode().spec.get("size")

    async def _observe(self, name: str, last: Outcome) -> tuple[str, Object[Widget] | None]:
        if not last.results:
            self.looks.append(name)
        found = self.api.peek(Widget, name, namespace=NAMESPACE)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return name, found

    def _decide(self, snapshot: tuple[str, Object[Widget] | None], *, now: datetime) -> Plan:
        name, found = snapshot
        twin = self.twins.get(name, "")
        if found is None:
            return Plan.nothing()
        if twin and self.api.peek(Widget, twin, namespace=NAMESPACE) is None:
            return Plan.of(Create(target=Target(Widget, twin, NAMESPACE), body=SIZE))
        observed = {key: value for key, value in found.decode().spec.items() if key == "size"}
        return Plan.of(Merge(target=target_of(Widget, found.metadata), observed={"spec": observed}, desired=SIZE))


@pytest.fixture
def world() -> Iterator[World]:
    loop = VirtualLoop()
    yield World(loop)
    loop.close()


@pytest.mark.parametrize("late", [True, False], ids=["after the answer", "before the answer"])
def test_the_echo_of_an_own_write_costs_no_reconcile_and_what_another_writes_next_does(
    world: World, *, late: bool
) -> None:
    async def scenario() -> None:
        async with world.running(late=late) as wire:
            await world.create("a")
            wire.deliver()
            await asyncio.sleep(60)
            assert world.size("a") == 1
            assert len(wire.held) == late, "the echo, if it is late"
            wire.deliver()
            await asyncio.sleep(60)
            assert world.looks == ["a"]

            await world.change("a", size=7)
            wire.deliver()
            await asyncio.sleep(60)
            wire.deliver()
            await asyncio.sleep(60)
            assert world.size("a") == 1
            assert world.looks == ["a", "a"]

    world.loop.run_until_complete(scenario())


def test_a_change_of_another_that_comes_with_the_echo_is_not_taken_for_it(world: World) -> None:
    async def scenario() -> None:
        async with world.running(late=True) as wire:
            await world.create("a")
            wire.deliver()
            await asyncio.sleep(60)
            await world.change("a", size=7)
            assert [stored.tree["spec"] for stored in wire.held] == [{"size": 1}, {"size": 7}]
            wire.deliver()
            await asyncio.sleep(60)
            assert world.size("a") == 1
            assert world.looks == ["a", "a"]

    world.loop.run_until_complete(scenario())


def test_a_change_of_another_while_the_key_is_in_work_brings_it_back(world: World) -> None:
    async def scenario() -> None:
        async with world.running(late=False):
            await world.create("a")
            await asyncio.sleep(60)
            # The next look finds nothing to do, and what it found is out of date before it is over.
            world.meanwhile = lambda: world.change("a", size=7)
            await world.change("a", weight=2)
            await asyncio.sleep(60)
            assert world.size("a") == 1
            assert world.looks == ["a", "a", "a"]

    world.loop.run_until_complete(scenario())


def test_what_one_key_writes_is_news_to_another(world: World) -> None:
    """The widget that `a` creates is `b`, and nobody but `b` looks after `b`."""
    world.twins["a"] = "b"

    async def scenario() -> None:
        async with world.running(late=True) as wire:
            await world.create("a")
            for _ in range(3):
                wire.deliver()
                await asyncio.sleep(60)
            assert world.looks == ["a", "b"]

    world.loop.run_until_complete(scenario())


def test_the_end_of_an_object_that_the_key_wrote_brings_it_back(world: World) -> None:
    async def scenario() -> None:
        async with world.running(late=True) as wire:
            await world.create("a")
            wire.deliver()
            await asyncio.sleep(60)
            await world.api.delete(Widget, "a", namespace=NAMESPACE)
            wire.deliver()
            await asyncio.sleep(60)
            assert world.looks == ["a", "a"]

    world.loop.run_until_complete(scenario())
