"""Looking at all objects of a kind: what is there at one moment, whatever happened before and happens afterwards."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.explore import examples
from windlass.kube.cache import Cache
from windlass.kube.control.controller import Watch
from windlass.kube.control.memo import Memo
from windlass.kube.control.plan import Target
from windlass.kube.control.population import Population
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Present, Unreadable
from windlass.kube.errors import Forbidden, NotServed, Status, TransportError, Undeclared
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.clock import VirtualLoop, run
from windlass.testing.scripted import ScriptedServer, Widget


class World:
    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.server = ScriptedServer(Widget)
        self.cache = Cache(self.server, Widget, clock=loop.clock, random=Random(1))
        api: Any = self.server
        self.reader = CacheReader(api, [self.cache])

    async def all(self, **how: Any) -> Population[Widget]:
        found = await self.reader.see_all(Widget, **how)
        assert isinstance(found, Population)
        return found


def in_a_world(test: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        task = asyncio.create_task(world.cache.run())
        try:
            await test(world)
        finally:
            task.cancel()
            await asyncio.wait([task])

    run(main())


def scenario(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    def synchronous() -> None:
        in_a_world(test)

    synchronous.__name__ = test.__name__
    return synchronous


def content(found: Iterable[Present[Widget] | Unreadable]) -> list[tuple[str, str, Any]]:
    """Name, version, and spec (None: unreadable) of each, in their order."""
    return [
        (each.metadata.name, each.metadata.resource_version, each.object.spec if isinstance(each, Present) else None)
        for each in found
    ]


def expected(objects: Iterable[Object[Widget]]) -> list[tuple[str, str, Any]]:
    specs = ((one, one.tree()["spec"]) for one in objects)
    broken = ((one, None if isinstance(spec.get("size"), str) else spec) for one, spec in specs)
    return sorted((one.name, one.resource_version, spec) for one, spec in broken)


HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from(["put", "break", "delete", "we put", "we delete", "doubt", "mute", "cut", "pass"]),
        st.sampled_from(["a", "b", "c", "d"]),
    ),
    max_size=25,
)


@given(HAPPENINGS)
@examples(150)
def test_it_is_what_the_cache_holds_and_stays_so_and_in_the_end_what_the_server_has(happenings: Any) -> None:
    async def test(world: World) -> None:
        server, cache = world.server, world.cache
        taken: list[tuple[Population[Widget], list[tuple[str, str, Any]]]] = []
        for number, (what, name) in enumerate(happenings):
            there = server.objects.get(name)
            match what:
                case "put" | "break":
                    server.put(name, {"size": "large" if what == "break" else number})
                case "we put":
                    cache.wrote(server.put(name, {"size": number}))
                case "delete" if there is not None:
                    server.delete(name)
                case "we delete" if there is not None:
                    server.delete(name)
                    place = {"name": name, "namespace": "default"}
                    cache.removed(**place, uid=there.uid, resource_version=there.resource_version)
                case "doubt":
                    cache.doubt(name, "default")
                case "mute":
                    server.mute()
                case "cut":
                    server.cut(TransportError("connection reset"))
                case "pass":
                    server.unmute()
                    await asyncio.sleep(100.0)
            if what != "doubt":
                found = await world.all()
                assert content(found) == expected(cache.items())
                assert not cache.doubts, "the server was asked"
                taken.append((found, content(found)))
        server.unmute()
        await asyncio.sleep(200.0)
        assert content(await world.all()) == expected(server.objects.values())
        for population, before in taken:
            assert content(population) == before

    in_a_world(test)


@scenario
async def test_an_object_is_decoded_when_it_is_reached_and_once_for_each_version(world: World) -> None:
    for name in "abc":
        world.server.put(name, {"size": 1})
    first = await world.all()
    assert first[0] is first[0]
    world.server.put("b", {"size": 2})
    await asyncio.sleep(1)
    second = await world.all()
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, False, True]
    assert first != second
    assert second == await world.all()
    assert [widget.spec["size"] for widget in first.readable] == [1, 1, 1]


def sizes_counted() -> tuple[Memo[tuple[str, Any]], list[str]]:
    """A memo of names and sizes, and the names of the objects for which it computed them."""
    computed: list[str] = []

    def size(found: Object[Any]) -> tuple[str, Any]:
        computed.append(found.name)
        return found.name, found.decode().spec.get("size")

    return Memo(size), computed


@scenario
async def test_what_is_needed_of_each_object_is_computed_once_for_each_version(world: World) -> None:
    memo, computed = sizes_counted()
    for name in "cab":
        world.server.put(name, {"size": 1})
    assert (await world.all()).each(memo) == (("a", 1), ("b", 1), ("c", 1))
    computed.clear()
    world.server.put("b", {"size": 2})
    world.server.delete("c")
    await asyncio.sleep(1)
    assert (await world.all()).each(memo) == (("a", 1), ("b", 2))
    assert computed == ["b"]


async def test_on_the_model_too() -> None:
    api = MemoryApi(Widget)
    reader, (memo, computed) = MemoryReader(api), sizes_counted()

    async def sizes() -> tuple[Any, ...]:
        found = await reader.see_all(Widget)
        assert isinstance(found, Population)
        return found.each(memo)

    for name in "cab":
        identity = {"apiVersion": Widget.RESOURCE.api_version, "kind": "Widget", "metadata": {"name": name}}
        await api.create(Widget, {**identity, "spec": {"size": 1}}, namespace="default")
    assert await sizes() == (("a", 1), ("b", 1), ("c", 1))
    computed.clear()
    await api.patch(Widget, "b", {"spec": {"size": 2}}, type=PatchType.MERGE, namespace="default")
    await api.delete(Widget, "c", namespace="default")
    assert await sizes() == (("a", 1), ("b", 2))
    assert computed == ["b"]
    assert len(memo) == 2, "what is gone is forgotten"


@scenario
async def test_broken_objects_are_named_and_leave_the_others_alone(world: World) -> None:
    world.server.put("broken", {"size": "large"})
    world.server.put("sound", {"size": 1})
    found = await world.all()
    assert [widget.metadata.name for widget in found.readable] == ["sound"]
    (broken,) = found.unreadable
    assert broken.metadata.name == "broken"
    assert "size" in broken.why or "int" in broken.why


@scenario
async def test_a_kind_that_is_not_served_is_a_state_and_one_that_is_not_watched_an_error(world: World) -> None:
    world.server.fail(*[NotServed(Status("Failure", "the server could not find it", "NotFound", 404))] * 2)
    assert isinstance(await world.reader.see_all(Widget), NotServedKind)
    world.reader.remove(world.cache)
    with pytest.raises(Undeclared, match=r"looks at all widgets\.example\.com, which it does not watch"):
        await world.reader.see_all(Widget)


@scenario
async def test_metadata_is_looked_at_through_a_cache_that_holds_only_metadata(world: World) -> None:
    world.server.put("a", {"size": 1})
    await world.all()
    with pytest.raises(Undeclared, match=r"the metadata of all widgets\.example\.com, which it does not watch"):
        await world.all(metadata_only=True)
    world.reader.remove(world.cache)
    world.reader.add(world.cache, Watch(Widget, lambda _: (), metadata_only=True))
    assert [one.metadata.name for one in await world.all(metadata_only=True)] == ["a"]
    with pytest.raises(Undeclared):
        await world.all()


@scenario
async def test_a_kind_that_may_not_be_listed_is_a_state_where_it_is_optional(world: World) -> None:
    refusal = Forbidden(Status("Failure", "widgets is forbidden", "Forbidden", 403))
    world.reader.remove(world.cache)
    world.reader.add(world.cache, Watch(Widget, lambda _: (), optional=True))
    world.server.put("a", {"size": 1})
    world.server.fail(*[refusal] * 3)
    found = await world.reader.see_all(Widget)
    assert isinstance(found, ForbiddenKind)
    assert "widgets is forbidden" in found.why
    await world.cache.wait_synced()
    assert [one.metadata.name for one in await world.all()] == ["a"]


@scenario
async def test_it_may_be_of_one_namespace(world: World) -> None:
    world.server.put("a")
    assert len(await world.all(namespace="default")) == 1
    assert len(await world.all(namespace="other")) == 0


@scenario
async def test_a_write_of_unknown_outcome_is_looked_at_first(world: World) -> None:
    await world.all()
    world.server.mute()
    world.server.put("a", {"size": 1})
    world.reader.doubt(Target(Widget, "a", "default"))
    assert content(await world.all()) == expected(world.server.objects.values())
    assert world.server.requests["get"] == 1
