"""A cache at work on a scripted server, in virtual time: what it shows, what it announces, how it says it is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests.waiting import until
from windlass.kube.cache import Cache
from windlass.kube.cache.health import FollowStage
from windlass.kube.cache.store import STEP, Change
from windlass.kube.errors import Gone, NotServed, Status, TransportError
from windlass.kube.object import Object
from windlass.testing.clock import VirtualLoop, run
from windlass.testing.scripted import ScriptedServer, Widget

UNKNOWN = NotServed(Status("Failure", "the server could not find the requested resource", "NotFound", 404))


def make(server: ScriptedServer, *, namespace: str | None = "default") -> Cache[Widget]:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return Cache(server, Widget, namespace=namespace, clock=loop.clock, random=Random(1))


@asynccontextmanager
async def running(cache: Cache[Widget], *, synced: bool = True) -> AsyncIterator[Cache[Widget]]:
    task = asyncio.create_task(cache.run())
    try:
        if synced:
            async with asyncio.timeout(60):
                await cache.wait_synced()
        yield cache
    finally:
        task.cancel()
        await asyncio.wait([task])


def scenario(test: Callable[[ScriptedServer], Awaitable[None]]) -> Callable[[], None]:
    async def main() -> None:
        server = ScriptedServer(Widget)
        server.put("a", {"size": 1})
        server.put("b", {"size": 2})
        await test(server)

    def synchronous() -> None:
        run(main())

    synchronous.__name__ = test.__name__
    return synchronous


def version(found: Object[Widget] | None) -> int:
    return 0 if found is None else int(found.resource_version)


@scenario
async def test_the_first_list_is_announced_as_initial_and_what_follows_is_not(server: ScriptedServer) -> None:
    cache = make(server)
    told: list[Change[Widget]] = []
    cache.subscribe(told.append)
    async with running(cache):
        assert [(c.new and c.new.name, c.initial) for c in told] == [("a", True), ("b", True)]
        server.put("a")
        server.cut(TransportError("reset"))
        server.put("c")
        server.compact()
        await until(lambda: cache.get("c") is not None)
        assert [c.initial for c in told[2:]] == [False, False]


@scenario
async def test_the_cache_shows_the_new_state_when_a_listener_hears_of_it(server: ScriptedServer) -> None:
    cache = make(server)
    seen: list[bool] = []

    def listener(change: Change[Widget]) -> None:
        assert change.new is not None
        seen.append(cache.get(change.new.name) is change.new)

    cache.subscribe(listener)
    async with running(cache):
        server.put("a")
        await until(lambda: len(seen) == 3)
    assert all(seen)


@scenario
async def test_a_listener_that_fails_or_leaves_does_not_concern_the_others(server: ScriptedServer) -> None:
    cache = make(server)
    told: list[str] = []

    def fails(change: Change[Widget]) -> None:
        raise RuntimeError("a bug in a listener")

    cache.subscribe(fails)
    stop = cache.subscribe(lambda change: told.append("left"))
    cache.subscribe(lambda change: told.append("stayed"))
    stop()
    stop()
    async with running(cache):
        assert told == ["stayed", "stayed"]


@scenario
async def test_own_writes_are_shown_at_once_and_survive_a_list_that_is_older(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        server.mute()
        written = server.put("a", {"size": 7})
        cache.wrote(written)
        assert version(cache.get("a")) == version(written)
        server.unmute()
        server.cut(TransportError("reset"))
        await until(lambda: cache.health.pending == 0)
        assert version(cache.get("a")) == version(written)


@scenario
async def test_a_removed_object_stays_removed_until_it_is_created_again(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        known = cache.get("a")
        assert known is not None
        server.mute()
        server.delete("a")
        cache.removed(name="a", namespace="default", uid=known.uid, resource_version=known.resource_version)
        cache.wrote(known)
        assert cache.get("a") is None
        recreated = server.put("a")
        cache.wrote(recreated)
        assert version(cache.get("a")) == version(recreated)


@scenario
async def test_a_removal_without_uid_makes_the_next_look_ask(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        cache.removed(name="a", namespace="default")
        assert cache.get("a") is not None
        assert cache.doubted("a")


@scenario
async def test_answers_of_other_namespaces_are_none_of_its_business(server: ScriptedServer) -> None:
    cache = make(server, namespace="elsewhere")
    cache.wrote(server.put("a"))
    cache.doubt("a", "default")
    assert list(cache.items()) == []
    assert not cache.doubted("a", namespace="elsewhere")


@scenario
async def test_asking_shows_what_the_stream_has_not_told_yet(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        server.mute()
        server.put("c")
        server.delete("a")
        assert cache.get("c") is None
        assert version(await cache.ask("c")) == version(server.objects["c"])
        assert version(cache.get("c")) == version(server.objects["c"])
        assert await cache.ask("a") is None
        assert cache.get("a") is None


@scenario
async def test_a_doubt_ends_with_an_answer_and_not_with_an_error(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        cache.doubt("a", "default")
        server.fail(TransportError("timed out"))
        with pytest.raises(TransportError):
            await cache.ask("a")
        assert cache.doubted("a")
        await cache.ask("a")
        assert not cache.doubted("a")


@scenario
async def test_an_object_created_while_we_ask_is_not_declared_gone(server: ScriptedServer) -> None:
    cache = make(server)

    class Slow(ScriptedServer):
        """Looks, and answers after somebody else has written."""

        async def get(self, kind, name, *, namespace=None):  # type: ignore[no-untyped-def]
            try:
                return await super().get(kind, name, namespace=namespace)
            finally:
                cache.wrote(self.put("a"))

    slow = Slow(Widget)
    slow.put("b")
    cache = make(slow)
    async with running(cache):
        slow.mute()
        found = await cache.ask("a")
        assert version(found) == version(slow.objects["a"])
        assert version(cache.get("a")) == version(slow.objects["a"])


@scenario
async def test_an_object_that_the_selectors_leave_out_is_found_by_asking(server: ScriptedServer) -> None:
    class Selective(ScriptedServer):
        """Lists and watches nothing, as for a selector that matches nothing."""

        def _beginning(self, resource_version, *, whole):  # type: ignore[no-untyped-def]
            return [self._bookmark(end=True)] if whole else []

    selective = Selective(Widget)
    selective.put("a")
    cache = make(selective)
    async with running(cache):
        assert cache.get("a") is None
        assert version(await cache.ask("a")) == version(selective.objects["a"])
        assert cache.get("a") is None


@scenario
async def test_a_kind_that_is_not_served_settles_but_does_not_sync_until_it_is(server: ScriptedServer) -> None:
    server.fail(UNKNOWN, UNKNOWN)
    cache = make(server)
    async with running(cache, synced=False):
        await cache.wait_settled()
        assert not cache.served
        assert not cache.synced.is_set()
        assert cache.health.trouble == ""
        assert "could not find" in cache.health.pulse.error
        await cache.wait_synced()
        assert cache.served


@scenario
async def test_a_kind_is_served_again_only_once_it_is_listed_again(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        server.fail(UNKNOWN, TransportError("connection refused"), UNKNOWN, TransportError("connection refused"))
        server.cut()
        await until(lambda: not cache.served)
        stages = set()
        while cache.health.pulse.lists == 1:
            stages.add(cache.health.pulse.stage)
            assert not cache.served
            assert "could not find" in cache.unserved
            await asyncio.sleep(0.1)
        assert stages == {FollowStage.NOT_SERVED, FollowStage.BACKING_OFF}
        assert cache.served


@scenario
async def test_listeners_hear_that_a_kind_is_back_although_nothing_differs(server: ScriptedServer) -> None:
    cache = make(server)
    heard: list[str] = []
    async with running(cache):
        cache.subscribe(lambda change: heard.append("change"), returned=lambda: heard.append("back"))
        server.fail(UNKNOWN)
        server.cut()
        await until(lambda: not cache.served)
        assert heard == []
        await until(lambda: cache.served)
        server.cut(Gone(Status("Failure", "too old resource version", "Expired", 410)))
        await until(lambda: cache.health.pulse.lists == 3)
        assert heard == ["back"]


@scenario
async def test_an_object_that_was_taken_for_deleted_is_shown_by_the_next_look(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        known = cache.get("a")
        assert known is not None
        cache.removed(name="a", namespace="default", uid=known.uid, resource_version=known.resource_version)
        assert cache.get("a") is None
        assert version(await cache.ask("a")) == version(known)
        assert cache.get("a") is not None


@scenario
async def test_objects_of_a_kind_that_vanished_are_announced_as_deleted_when_it_is_back(
    server: ScriptedServer,
) -> None:
    cache = make(server)
    told: list[Change[Widget]] = []
    async with running(cache):
        cache.subscribe(told.append)
        server.fail(UNKNOWN)
        server.cut()
        await until(lambda: not cache.served)
        server.mute()
        server.delete("a")
        server.unmute()
        await until(lambda: cache.served and cache.health.pulse.stage is FollowStage.WATCHING)
        assert [(c.old and c.old.name, c.new) for c in told] == [("a", None)]


@scenario
async def test_a_kind_of_which_nothing_is_new_is_no_trouble(server: ScriptedServer) -> None:
    cache = make(server)
    async with running(cache):
        server.fail(TransportError("connection refused"))
        server.cut(TransportError("reset"))
        await until(lambda: cache.health.pulse.stage is FollowStage.WATCHING)
        for _ in range(600):
            await asyncio.sleep(1)
            assert cache.health.trouble == ""


@scenario
async def test_health_says_what_is_wrong_and_since_when(server: ScriptedServer) -> None:
    cache = make(server)
    assert cache.health.trouble == "not started"
    server.fail(*[TransportError("connection refused")] * 4)
    async with running(cache, synced=False):
        await until(lambda: bool(cache.health.pulse.failures))
        assert cache.health.trouble == "not synced: backing off for 0 s: connection refused"
        await cache.wait_synced()
        assert cache.health.trouble == ""
        assert cache.health.objects == 2
        server.fail(*[TransportError("connection refused")] * 20)
        server.cut(TransportError("reset"))
        await until(lambda: bool(cache.health.trouble))
        assert cache.health.trouble.startswith("nothing heard for 30 s: backing off")
        assert cache.health.trouble.endswith("connection refused")
        await until(lambda: not cache.health.trouble, within=900)
    assert cache.health.trouble == "stopped"


@scenario
async def test_a_long_list_lets_others_have_a_turn_after_each_step(server: ScriptedServer) -> None:
    for number in range(10 * STEP):
        server.put(f"n{number}")
    cache = make(server)
    looked: list[str] = []

    def terms(item: Object[Widget]) -> list[str]:
        looked.append(item.name)
        return []

    cache.add_index("looks", terms)
    told: list[str] = []
    cache.subscribe(lambda change: told.append("told"))
    longest = 0
    async with running(cache, synced=False):
        while not cache.synced.is_set():
            before = len(looked), len(told)
            await asyncio.sleep(0)
            longest = max(longest, len(looked) - before[0], len(told) - before[1])
    assert len(looked) == len(told) == 10 * STEP + 2
    assert longest == STEP
