"""A kind that is not served for a while: nobody can tell what there is of it, so nothing of it counts as gone."""

import asyncio
from random import Random
from typing import Any

import pytest

from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.cache import Cache
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Action, Delete, Merge, Plan, Target
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import NotServedKind, Present
from windlass.kube.errors import NotServed, Status
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.clock import VirtualLoop, run
from windlass.testing.scripted import ScriptedServer

UNKNOWN = NotServed(Status("Failure", "the server could not find the requested resource", "NotFound", 404))


class Told:
    """A ledger that only counts what is called gone."""

    def __init__(self) -> None:
        self.gone: list[str] = []

    def wrote(self, written: Object[Any]) -> None: ...

    def removed(self, target: Target) -> None:
        self.gone.append(target.name)

    def doubt(self, target: Target) -> None: ...


def deletion(aim: Target) -> Action:
    return Delete(target=aim)


def change(aim: Target) -> Action:
    return Merge(target=aim, observed={"spec": {}}, desired={"spec": {"size": 2}})


@pytest.mark.parametrize("action", [deletion, change])
async def test_a_write_that_is_refused_so_is_an_error_and_the_object_counts_as_there(action: Any) -> None:
    api, told = MemoryApi(Widget), Told()
    found = await api.create(Widget, widget("w"), namespace=NAMESPACE)
    aim = Target(Widget, "w", NAMESPACE, uid=found.uid, resource_version=found.resource_version)
    for verb in ("get", "patch", "delete"):
        api.fail_next(verb, Widget, UNKNOWN)
    outcome = await Executor(api, ledger=told).apply(Plan.of(action(aim)))
    assert outcome.error is UNKNOWN
    assert told.gone == []
    assert api.peek(Widget, "w", namespace=NAMESPACE) is not None


async def test_a_look_that_is_refused_so_finds_neither_a_presence_nor_an_absence() -> None:
    api = MemoryApi(Widget)
    await api.create(Widget, widget("w"), namespace=NAMESPACE)
    api.fail_next("get", Widget, UNKNOWN)
    assert isinstance(await MemoryReader(api).see(Widget, "w", namespace=NAMESPACE, live=True), NotServedKind)


def test_a_cached_object_of_such_a_kind_is_not_present_now_and_then() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        server: Any = ScriptedServer(Widget, namespace=NAMESPACE)
        server.put("w", {"size": 1})
        cache = Cache(server, Widget, clock=loop.clock, random=Random(1))
        reader = CacheReader(server, [cache])
        task = asyncio.create_task(cache.run())
        await cache.wait_synced()
        server.fail(*[UNKNOWN] * 5)
        server.cut()
        seen: list[type[Any]] = []
        async with asyncio.timeout(600):
            while cache.health.pulse.lists == 1:
                seen.append(type(await reader.see(Widget, "w", namespace=NAMESPACE)))
                await asyncio.sleep(0.01)
        first = seen.index(NotServedKind)
        assert set(seen[:first]) == {Present}
        assert set(seen[first:]) == {NotServedKind}
        assert isinstance(await reader.see(Widget, "w", namespace=NAMESPACE), Present)
        task.cancel()
        await asyncio.wait([task])

    run(scenario())
