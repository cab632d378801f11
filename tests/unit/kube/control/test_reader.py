"""How `observe` sees objects, through caches and past them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from windlass.api.core import Pod
from windlass.kube.cache import Cache
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import Declared, permission
from windlass.kube.control.plan import Plan, Target
from windlass.kube.control.population import Population
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import Absent, NotServedKind, Present, Unreadable
from windlass.kube.errors import DecodeError, NotServed, Status, TransportError, Undeclared
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualLoop, run
from windlass.testing.scripted import ScriptedServer, Widget

UNKNOWN = NotServed(Status("Failure", "the server could not find the requested resource", "NotFound", 404))


class World:
    """A server, a synced cache of it, and a reader over both."""

    def __init__(self, server: ScriptedServer) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        api: Any = server  # speaks the reading verbs, which is all a reader uses
        self.server = server
        self.cache = Cache(server, Widget, namespace="default", clock=loop.clock, random=Random(1))
        self.cache.add_index("size", lambda item: [str(item.decode().spec["size"])])
        self.api = api
        self.reader = CacheReader(api, [self.cache])

    async def see(self, name: str, **how: bool) -> Any:
        return await self.reader.see(Widget, name, namespace="default", **how)

    def gets(self) -> int:
        return self.server.requests["get"]


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("only read by, not run")


@asynccontextmanager
async def following(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(world.cache.run())
    try:
        await world.cache.wait_settled()
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def scenario(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    async def main() -> None:
        server = ScriptedServer(Widget)
        server.put("a", {"size": 1})
        await test(World(server))

    def synchronous() -> None:
        run(main())

    synchronous.__name__ = test.__name__
    return synchronous


@scenario
async def test_what_the_cache_holds_costs_no_request(world: World) -> None:
    async with following(world):
        found = await world.see("a", confirm=True)
        assert isinstance(found, Present)
        assert found.object.spec == {"size": 1}
        assert found.tree["metadata"]["name"] == "a"
        assert await world.see("b") == Absent(confirmed=False)
    assert world.gets() == 0


@scenario
async def test_an_absence_is_confirmed_by_one_look_whose_find_is_kept(world: World) -> None:
    async with following(world):
        assert await world.see("b", confirm=True) == Absent(confirmed=True)
        world.server.mute()
        world.server.put("b", {"size": 2})
        assert isinstance(await world.see("b", confirm=True), Present)
        assert isinstance(await world.see("b", confirm=True), Present)
    assert world.gets() == 2


@scenario
async def test_a_presence_that_decides_is_looked_at_live_and_what_is_found_is_kept(world: World) -> None:
    async with following(world):
        world.server.mute()
        world.server.delete("a")
        assert isinstance(await world.see("a", confirm=True), Present)
        assert world.gets() == 0
        assert await world.see("a", live=True) == Absent(confirmed=True)
        assert await world.see("a") == Absent(confirmed=False)
    assert world.gets() == 1


@scenario
async def test_without_a_cache_or_before_it_is_synced_the_server_is_asked(world: World) -> None:
    assert isinstance(await world.see("a"), Present)
    assert await world.see("b") == Absent(confirmed=True)
    world.reader.remove(world.cache)
    world.reader.remove(world.cache)
    assert isinstance(await world.see("a"), Present)
    assert await world.see("b") == Absent(confirmed=True)
    assert world.gets() == 4


@scenario
async def test_the_server_is_asked_for_nothing_that_is_not_declared(world: World) -> None:
    permits = Declared([permission(Widget, "get", namespace="default", names=("a",))])
    api: Any = world.server
    reader = CacheReader(api, [world.cache], permits=permits)
    assert isinstance(await reader.see(Widget, "a", namespace="default"), Present)
    for name, namespace in (("b", "default"), ("a", "elsewhere")):
        with pytest.raises(Undeclared, match=f"may get widgets.example.com '{name}' in {namespace}"):
            await reader.see(Widget, name, namespace=namespace)
    async with following(world):
        assert await reader.see(Widget, "b", namespace="default") == Absent(), "the cache may always be asked"
        with pytest.raises(Undeclared):
            await reader.see(Widget, "b", namespace="default", confirm=True)
    assert world.gets() == 1


@scenario
async def test_other_namespaces_than_the_cache_has_are_read_from_the_server(world: World) -> None:
    async with following(world):
        await world.reader.see(Widget, "a", namespace="elsewhere")
    assert world.gets() == 1


@scenario
async def test_after_a_write_of_unknown_outcome_the_next_look_asks_the_server_once(world: World) -> None:
    async with following(world):
        world.server.mute()
        world.server.put("a", {"size": 9})
        world.reader.doubt(Target(Widget, "a", "default"))
        found = await world.see("a")
        assert found.object.spec == {"size": 9}
        await world.see("a")
    assert world.gets() == 1


@scenario
async def test_whoever_may_only_look_at_the_cache_does_so_while_another_controller_is_in_doubt(world: World) -> None:
    """Caches are shared. A controller that may not get the object did not write it either."""
    watch: Watch[Any] = Watch(Widget, lambda item: [item.key], namespace="default", cache_only=True)
    reader = CacheReader(world.api)
    reader.only(Controller(name="polish", watches=(watch,), observe=never, decide=never))
    reader.add(world.cache, watch)
    async with following(world):
        world.reader.doubt(Target(Widget, "a", "default"))
        assert isinstance(await reader.see(Widget, "a", namespace="default"), Present)
        everything = await reader.see_all(Widget, namespace="default")
        assert isinstance(everything, Population)
        assert [found.metadata.name for found in everything.readable] == ["a"]
        assert world.gets() == 0
        await world.see("a")
    assert world.gets() == 1, "the doubt was left to the one who may ask"


@scenario
async def test_what_became_of_writes_is_seen_at_once(world: World) -> None:
    async with following(world):
        world.server.mute()
        world.reader.wrote(world.server.put("a", {"size": 5}))
        assert (await world.see("a")).object.spec == {"size": 5}
        gone = world.server.delete("a")
        world.reader.removed(Target(Widget, "a", "default", gone.uid, "101"))
        assert await world.see("a") == Absent()
    assert world.gets() == 0


@scenario
async def test_what_we_deleted_is_gone_from_a_cache_of_metadata_too(world: World) -> None:
    named: dict[str, Any] = {"name": lambda item: [item.name]}
    reader = CacheReader(world.api)
    reader.add(world.cache, Watch(Widget, lambda item: [item.key], metadata_only=True, indexes=named))
    world.cache.add_index(("name", named["name"]), named["name"])
    async with following(world):
        world.server.mute()
        gone = world.server.delete("a")
        assert [item.name for item in reader.indexed(Widget, "name", "a")] == ["a"]
        reader.removed(Target(Widget, "a", "default", gone.uid, "101"))
        assert reader.indexed(Widget, "name", "a") == []


@scenario
async def test_content_of_another_shape_is_unreadable_and_says_why(world: World) -> None:
    world.server.put("a", {"size": "large"})
    async with following(world):
        found = await world.see("a")
        assert isinstance(found, Unreadable)
        assert found.metadata.name == "a"
        assert "Widget default/a" in found.why
        assert "spec" in found.why


@scenario
async def test_metadata_of_another_shape_is_unreadable_too(world: World) -> None:
    world.server.fail(DecodeError("Widget.example.com/v1: not a Kubernetes object: labels"))
    found = await world.see("a")
    assert isinstance(found, Unreadable)
    assert found.metadata.name == "a"


@scenario
async def test_a_kind_that_is_not_served_is_a_state_with_or_without_a_cache(world: World) -> None:
    world.server.fail(UNKNOWN)
    async with following(world):
        assert isinstance(await world.see("a", confirm=True), NotServedKind)
        assert world.gets() == 0
    world.reader.remove(world.cache)
    world.server.fail(UNKNOWN)
    found = await world.see("a")
    assert isinstance(found, NotServedKind)
    assert found.why.startswith("Widget.example.com/v1 is not served")


@scenario
async def test_a_server_that_does_not_answer_is_an_error_and_not_an_absence(world: World) -> None:
    async with following(world):
        world.server.fail(TransportError("timed out"))
        with pytest.raises(TransportError):
            await world.see("b", confirm=True)


@scenario
async def test_indexes_are_those_of_the_caches_of_the_kind(world: World) -> None:
    async with following(world):
        found: list[Object[Widget]] = world.reader.indexed(Widget, "size", "1")
        assert [item.name for item in found] == ["a"]
        with pytest.raises(KeyError, match="no index"):
            world.reader.indexed(Widget, "colour", "1")


@scenario
async def test_an_index_that_no_watch_declares_is_an_error_that_says_whose_and_what_to_do(world: World) -> None:
    watch: Watch[str] = Watch(Widget, lambda widget: [widget.name], indexes={"size": lambda _: ()})
    other: Watch[str] = Watch(Widget, lambda widget: [widget.name], namespace="other")
    reader = CacheReader(world.api)
    reader.only(Controller(name="polish", watches=(watch, other), observe=never, decide=lambda _, now: Plan.nothing()))
    reader.add(world.cache, watch)
    reader.add(world.cache, other)
    with pytest.raises(Undeclared, match=r"controller polish looks widgets\.example\.com up by 'colour'.*add it to"):
        reader.known(Widget, "colour", "1")
    with pytest.raises(Undeclared, match="none of its watches"):
        CacheReader(world.api).indexed(Widget, "size", "1")


@scenario
async def test_while_a_kind_is_not_served_an_index_wakes_what_it_knew_and_decides_nothing(world: World) -> None:
    async with following(world):
        world.server.fail(UNKNOWN)
        world.server.cut()
        async with asyncio.timeout(60):
            while world.cache.served:  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(0.01)
        assert [item.name for item in world.reader.known(Widget, "size", "1")] == ["a"]
        with pytest.raises(NotServed, match=r"Widget\.example\.com/v1 is not served"):
            world.reader.indexed(Widget, "size", "1")


class Selective(ScriptedServer):
    """Lists and watches nothing, as for a selector that matches nothing."""

    def _beginning(self, resource_version, *, whole):  # type: ignore[no-untyped-def]
        return [self._bookmark(end=True)] if whole else []


def test_what_a_selector_leaves_out_is_not_absent() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        world = World(Selective(Widget))
        world.server.put("a", {"size": 1})
        world.cache = Cache(world.server, Widget, label_selector="chosen", clock=loop.clock, random=Random(1))
        world.reader = CacheReader(world.api, [world.cache])
        async with following(world):
            assert isinstance(await world.see("a"), Present)
            assert await world.see("b") == Absent(confirmed=True)
            assert world.gets() == 2

    run(main())


def test_of_several_caches_one_without_a_selector_is_read() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        world = World(ScriptedServer(Widget))
        world.server.put("a", {"size": 1})
        chosen = Cache(Selective(Widget), Widget, label_selector="chosen", clock=loop.clock, random=Random(1))
        world.reader = CacheReader(world.api, [chosen, world.cache])
        async with following(world):
            assert isinstance(await world.see("a"), Present)
            assert await world.see("b") == Absent()
        assert world.gets() == 0

    run(main())


async def test_what_a_cache_should_not_hold_is_listed_by_the_server_if_that_is_declared() -> None:
    api = MemoryApi(Pod)
    body = {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "node-0"}}
    api.load(*({**body, "metadata": {"name": name, "namespace": name}} for name in ("a", "b")))
    api.load({**body, "metadata": {"name": "c", "namespace": "a"}, "spec": {"nodeName": "node-1"}})
    reader = CacheReader(api, permits=Declared([permission(Pod, "list")]))
    found = await reader.listed(Pod, field_selector="spec.nodeName=node-0")
    assert [each.object.metadata.name for each in found if isinstance(each, Present)] == ["a", "b"]
    reader = CacheReader(api, permits=Declared([permission(Pod, "list", namespace="a")]))
    with pytest.raises(Undeclared, match="may list pods cluster-wide"):
        await reader.listed(Pod, field_selector="spec.nodeName=node-0")
