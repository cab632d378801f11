"""How a reflector follows a server through whatever happens to it, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests.waiting import until
from windlass.kube.cache.health import FollowStage
from windlass.kube.cache.reflector import Reflector
from windlass.kube.cache.store import Change, Store
from windlass.kube.errors import (
    Busy,
    DecodeError,
    Forbidden,
    Gone,
    KubeError,
    NotServed,
    Status,
    TransportError,
    Unauthorized,
    api_error,
)
from windlass.testing.clock import VirtualLoop, run
from windlass.testing.scripted import ScriptedServer, Widget

GONE = Gone(Status("Failure", "too old resource version", "Expired", 410))
RESET = TransportError("connection reset by peer")


class Follower:
    """A reflector at work on a scripted server; `told` is every change, `state` what they add up to."""

    def __init__(self, server: ScriptedServer) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop = loop
        self.server = server
        self.store: Store[Widget] = Store()
        self.told: list[Change[Widget]] = []
        self.stages: list[FollowStage] = []
        self.reflector = Reflector(
            server, Widget, self, on_stage=self.stages.append, clock=loop.clock, random=Random(1)
        )

    async def replace(self, objects, version, /):  # type: ignore[no-untyped-def]
        self.told += self.store.replace(objects, version)

    async def rewind(self, objects, version, /):  # type: ignore[no-untyped-def]
        self.told += self.store.rewind(objects, version)

    def put(self, new, /):  # type: ignore[no-untyped-def]
        self.told += self.store.put(new)

    def delete(self, last, /):  # type: ignore[no-untyped-def]
        self.told += self.store.delete(last)

    def reach(self, version, /):  # type: ignore[no-untyped-def]
        self.store.reach(version)

    @property
    def state(self) -> dict[str, str]:
        return {item.name: item.resource_version for item in self.store.items()}

    async def catches_up(self, *, within: float = 120.0) -> None:
        """Wait until the store has what the server has."""
        await until(
            lambda: self.state == {n: o.resource_version for n, o in self.server.objects.items()}, within=within
        )

    async def watches(self) -> None:
        await until(lambda: self.reflector.stage is FollowStage.WATCHING)

    async def rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@asynccontextmanager
async def following(server: ScriptedServer) -> AsyncIterator[Follower]:
    follower = Follower(server)
    task = asyncio.create_task(follower.reflector.run())
    try:
        yield follower
    finally:
        task.cancel()
        await asyncio.wait([task])
        assert follower.reflector.stage is FollowStage.STOPPED


def scenario(test: Callable[[ScriptedServer], Awaitable[None]]) -> Callable[[], None]:
    """Run the coroutine `test` in virtual time, with a server that has objects a and b."""

    async def main() -> None:
        server = ScriptedServer(Widget)
        server.put("a")
        server.put("b")
        await test(server)

    def synchronous() -> None:
        run(main())

    synchronous.__name__ = test.__name__
    return synchronous


@scenario
async def test_one_stream_is_list_and_watch_where_the_server_can(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        assert set(follower.state) == {"a", "b"}
        server.put("c")
        server.delete("a")
        await follower.catches_up()
    assert server.requests == {"get": 0, "list": 0, "watch": 0, "stream": 1}
    assert follower.stages == [FollowStage.LISTING, FollowStage.WATCHING, FollowStage.STOPPED]


@scenario
async def test_where_streaming_is_refused_it_lists_in_pages_and_does_not_ask_again(
    server: ScriptedServer,
) -> None:
    server.streams_lists, server.page_size = False, 1
    async with following(server) as follower:
        await follower.catches_up()
        server.compact()
        server.put("c")
        server.compact()
        server.cut(GONE)
        server.put("d")
        await follower.catches_up()
    assert server.requests["stream"] == 1
    assert server.requests["list"] == 2


@scenario
async def test_a_server_that_ends_no_initial_events_is_listed_in_pages(server: ScriptedServer) -> None:
    server.mute()
    async with following(server) as follower:
        await until(lambda: server.requests["stream"] == 1)
        server.unmute()
        server.cut(RESET)
        await follower.catches_up()
        assert server.requests["list"] == 0

    class Older(ScriptedServer):
        def _bookmark(self, *, end: bool = False):  # type: ignore[no-untyped-def]
            return super()._bookmark(end=False)

    older = Older(Widget)
    older.put("x")
    async with following(older) as follower:
        await follower.catches_up()
    assert older.requests["list"] == 1


@scenario
async def test_a_streaming_list_that_keeps_failing_is_replaced_by_pages(server: ScriptedServer) -> None:
    server.fail(RESET, RESET, RESET)
    async with following(server) as follower:
        await follower.catches_up()
    assert server.requests["list"] == 1


def test_a_streaming_list_that_ends_before_it_is_complete_has_failed() -> None:
    class EndsEarly(ScriptedServer):
        async def watch(self, kind, **options):  # type: ignore[no-untyped-def]
            if options["send_initial_events"]:
                self.requests["stream"] += 1
                await asyncio.sleep(0.1)
                return
            async for event in super().watch(kind, **options):
                yield event

    async def main() -> None:
        server = EndsEarly(Widget)
        server.put("a")
        async with following(server) as follower:
            await follower.catches_up()
            assert follower.reflector.pulse.failures == 0
        assert (server.requests["stream"], server.requests["list"]) == (3, 1)

    run(main())


@scenario
async def test_what_is_missed_while_disconnected_is_told_once_and_in_order(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        follower.told.clear()
        server.cut(RESET)
        for _ in range(3):
            server.put("a")
        server.delete("b")
        await follower.catches_up()
        assert [(c.new or c.old).name for c in follower.told if c.new or c.old] == ["a", "a", "a", "b"]  # type: ignore[union-attr]
    assert server.requests["watch"] == 1
    assert server.requests["stream"] == 1


@scenario
async def test_events_sent_twice_are_told_once(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        server.put("a")
        server.repeat(3)
        server.put("b")
        await follower.catches_up()
        assert len(follower.told) == 4


@scenario
async def test_a_watch_that_ends_normally_is_continued_without_delay_or_fuss(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        await follower.rest(60)
        server.bookmark()
        server.cut()
        server.put("c")
        began = follower.loop.time()
        await follower.catches_up()
        assert follower.loop.time() - began < 0.1
        assert follower.reflector.pulse.failures == 0


@scenario
async def test_a_server_that_ends_every_watch_at_once_is_not_asked_in_a_tight_loop(
    server: ScriptedServer,
) -> None:
    async with following(server) as follower:
        await follower.watches()
        for _ in range(200):
            server.cut()
            await follower.rest(0.1)
        assert server.requests["watch"] < 15
        assert "as soon as it began" in follower.reflector.pulse.error


@scenario
async def test_a_version_that_expired_is_followed_by_a_list_that_tells_only_differences(
    server: ScriptedServer,
) -> None:
    async with following(server) as follower:
        await follower.watches()
        follower.told.clear()
        server.cut(RESET)
        server.put("a")
        server.delete("b")
        server.put("c")
        server.compact()
        await follower.catches_up()
        assert sorted((c.old is not None, c.new is not None) for c in follower.told) == [
            (False, True),
            (True, False),
            (True, True),
        ]
        assert follower.reflector.pulse.lists == 2


@pytest.mark.parametrize("times", [1, 2, 5])
def test_an_expired_version_at_any_stage_leads_to_another_list(times: int) -> None:
    @scenario
    async def expires(server: ScriptedServer) -> None:
        server.fail(*[GONE] * times)
        async with following(server) as follower:
            await follower.watches()
            server.put("a")
            await follower.catches_up()
            server.cut(GONE)
            server.fail(*[GONE] * times)
            server.put("c")
            await follower.catches_up()
            assert follower.reflector.stage is FollowStage.WATCHING

    expires()


@scenario
async def test_while_the_server_is_down_attempts_grow_rarer_and_then_it_goes_on_where_it_was(
    server: ScriptedServer,
) -> None:
    async with following(server) as follower:
        await follower.watches()
        server.fail(*[TransportError("connection refused")] * 8)
        server.cut(RESET)
        server.put("a")
        began = follower.loop.time()
        await follower.catches_up()
        assert 10 < follower.loop.time() - began < 120
        assert server.requests["stream"] == 1
        await until(lambda: follower.reflector.pulse.failures == 0)
        assert follower.reflector.pulse.error == ""


@scenario
async def test_after_a_long_outage_it_follows_again_within_seconds(server: ScriptedServer) -> None:
    """Attempts without an answer are never far apart, and what the server answers first is forgiven."""
    refused = TransportError("connection refused")
    starting = api_error(Status("Failure", "not ready", "ServiceUnavailable", 503))
    async with following(server) as follower:
        await follower.watches()
        server.put("a")
        server.compact()
        server.fail(*[refused] * 200, starting, starting)
        server.cut(RESET)
        began = follower.loop.time()
        await until(lambda: follower.reflector.pulse.failures == 201, within=900)
        assert follower.loop.time() - began > 300
        await follower.catches_up(within=5)
        assert follower.reflector.pulse.lists == 2


@scenario
async def test_a_version_that_is_too_old_is_followed_by_a_list_at_once(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        server.put("a")
        server.cut(GONE)
        await follower.catches_up(within=0.1)
    assert FollowStage.BACKING_OFF not in follower.stages


@scenario
async def test_a_server_whose_lists_expire_each_time_is_listed_ever_more_rarely(server: ScriptedServer) -> None:
    server.streams_lists = False
    server.refuse_watches(GONE)
    async with following(server) as follower:
        await follower.rest(900)
        assert 5 <= follower.reflector.pulse.lists <= 40


def test_each_cause_of_an_outage_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def refused(seconds: int) -> KubeError:
        return TransportError(f"GET https://api:6443/widgets?watch=1&timeoutSeconds={seconds}: connection refused")

    def starting(request_id: str) -> KubeError:
        return api_error(Status("Failure", f"no backend ({request_id})", "ServiceUnavailable", 503))

    @scenario
    async def outages(server: ScriptedServer) -> None:
        async with following(server) as follower:
            await follower.watches()
            for _ in range(2):
                server.fail(refused(301), refused(422), starting("a1"), refused(517), starting("b2"))
                server.cut(RESET)
                server.put("a")
                await follower.catches_up()

    with caplog.at_level("DEBUG", "windlass"):
        outages()
    warned = [each.getMessage().partition(" error=")[2] for each in caplog.records if each.levelname == "WARNING"]
    assert warned == 2 * [repr(said) for said in ("connection reset by peer", str(refused(301)), "no backend (a1)")]


@scenario
async def test_retry_after_is_waited_for(server: ScriptedServer) -> None:
    server.fail(Busy(Status("Failure", "too many requests", "TooManyRequests", 429), retry_after=17.0))
    async with following(server) as follower:
        await until(lambda: follower.reflector.stage is FollowStage.BACKING_OFF)
        began = follower.loop.time()
        await follower.watches()
        assert 17.0 <= follower.loop.time() - began <= 17.0 * 1.2 + 0.1


@pytest.mark.parametrize(
    ("code", "reason"), [(400, "BadRequest"), (403, "Forbidden"), (500, "InternalError"), (504, "Timeout")]
)
@pytest.mark.parametrize("opened", [False, True])
def test_a_version_that_the_server_refuses_to_watch_from_is_followed_by_a_list(
    code: int, reason: str, opened: bool
) -> None:
    """Some servers answer a watch with `504 Timeout: Too large resource version` for ever, and a list well."""
    refused = api_error(Status("Failure", "no watch from this version", reason, code))

    @scenario
    async def refuses(server: ScriptedServer) -> None:
        async with following(server) as follower:
            await follower.watches()
            server.refuse_watches(refused, opened=opened)
            server.cut(RESET)
            server.put("c")
            await follower.catches_up(within=20)
            assert (follower.reflector.pulse.lists, server.requests["watch"]) == (2, 3)

    refuses()


@scenario
async def test_a_throttled_watch_goes_on_from_where_it_was(server: ScriptedServer) -> None:
    throttled = api_error(Status("Failure", "too many requests", "TooManyRequests", 429))
    async with following(server) as follower:
        await follower.watches()
        server.fail(*[throttled] * 9)
        server.cut(RESET)
        server.put("a")
        await follower.catches_up(within=300)
        assert follower.reflector.pulse.lists == 1


@scenario
async def test_lists_after_refused_watches_grow_rarer(server: ScriptedServer) -> None:
    """Each list succeeds, and no watch after it ever does."""
    server.streams_lists = False
    server.refuse_watches(api_error(Status("Failure", "Timeout", "Timeout", 504)))
    async with following(server) as follower:
        await follower.rest(900)
        assert 5 <= follower.reflector.pulse.lists <= 15


@scenario
async def test_refused_credentials_are_named_and_tried_again(server: ScriptedServer) -> None:
    no: list[KubeError] = [
        Forbidden(Status("Failure", 'widgets is forbidden: User "x" cannot list', "Forbidden", 403)),
        Unauthorized(Status("Failure", "Unauthorized", "Unauthorized", 401)),
    ]
    server.fail(*no)
    async with following(server) as follower:
        await until(lambda: "cannot list" in follower.reflector.pulse.error)
        await follower.catches_up()
        assert follower.reflector.pulse.error == ""


@scenario
async def test_a_connection_that_died_without_a_word_is_found_out(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        server.mute()
        server.put("a")
        server.unmute()
        await follower.catches_up(within=80)
        assert server.requests["stream"] == 1


@scenario
async def test_a_kind_of_which_nothing_is_new_is_watched_anew_and_never_called_failing(server: ScriptedServer) -> None:
    """An API server sends no bookmark for the version that a watch began with."""
    async with following(server) as follower:
        await follower.watches()
        began = follower.loop.time()
        while follower.loop.time() < began + 900:
            await follower.rest(1)
            pulse = follower.reflector.pulse
            assert (pulse.failures, pulse.failing_seconds, pulse.error) == (0, None, "")
            assert pulse.silent_seconds < 76
        assert FollowStage.BACKING_OFF not in follower.stages
        assert server.requests["stream"] <= 1 + 900 / 150
        server.put("c")
        await follower.catches_up(within=1)


@scenario
async def test_a_watch_that_opens_ends_the_failing_before_anything_comes(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        server.fail(*[RESET] * 4)
        server.cut(RESET)
        await until(lambda: (follower.reflector.pulse.failing_seconds or 0) > 1)
        await until(lambda: follower.reflector.pulse.failing_seconds is None)
        assert follower.reflector.pulse.failures == 5
        assert follower.state == {"a": "101", "b": "102"}


@scenario
async def test_watches_that_open_and_break_off_at_once_are_failing(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        while (follower.reflector.pulse.failing_seconds or 0) < 30:
            server.cut(RESET)
            await follower.rest(0.1)


@scenario
async def test_silence_twice_in_a_row_leads_to_another_list(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        server.mute()
        server.put("a")
        await until(lambda: server.requests["stream"] == 2, within=200)
        server.unmute()
        await follower.catches_up(within=300)
        assert follower.reflector.pulse.silent_seconds < 1


@scenario
async def test_a_kind_that_is_not_served_is_a_stage_of_its_own_and_asked_for_seldom(
    server: ScriptedServer,
) -> None:
    unknown = NotServed(Status("Failure", "the server could not find the requested resource", "NotFound", 404))
    server.fail(*[unknown] * 6)
    async with following(server) as follower:
        await until(lambda: follower.reflector.stage is FollowStage.NOT_SERVED)
        began = follower.loop.time()
        await follower.catches_up(within=300)
        assert follower.loop.time() - began > 25
    assert FollowStage.BACKING_OFF not in follower.stages


@scenario
async def test_after_a_restored_backup_the_older_state_is_accepted_when_the_server_insists(
    server: ScriptedServer,
) -> None:
    async with following(server) as follower:
        await follower.watches()
        before = server.version
        server.put("later")
        await follower.catches_up()
        server.restore(version=before)
        server.bookmark()
        await follower.catches_up()
        assert set(follower.state) == {"a", "b"}
        server.put("c")
        await follower.catches_up()


@pytest.mark.parametrize("end", [RESET, None])
def test_a_backup_that_is_restored_while_the_connection_is_down_is_noticed_without_any_event(
    end: KubeError | None,
) -> None:
    """An API server that shuts down in order ends its watches without an error."""

    @scenario
    async def restored(server: ScriptedServer) -> None:
        async with following(server) as follower:
            await follower.watches()
            before = server.version
            server.put("later")
            await follower.catches_up()
            server.cut(end)
            server.restore(version=before)
            await follower.catches_up(within=10)
            assert set(follower.state) == {"a", "b"}

    restored()


@scenario
async def test_a_server_whose_versions_begin_again_is_noticed_by_its_events(server: ScriptedServer) -> None:
    """It keeps versions in memory, and a proxy kept the watch open while it restarted."""
    async with following(server) as follower:
        await follower.watches()
        server.restore(version=0)
        for name in ("c", "d", "e"):
            server.put(name)
        await follower.catches_up(within=10)
        assert set(follower.state) == {"c", "d", "e"}


@scenario
async def test_a_watch_that_lasted_as_long_as_asked_is_continued_without_a_question(server: ScriptedServer) -> None:
    async with following(server) as follower:
        await follower.watches()
        for _ in range(15):
            await follower.rest(60)
            server.bookmark()
        assert server.requests == {"get": 0, "stream": 1, "watch": 1, "list": 0}


@scenario
async def test_an_unforeseen_fault_does_not_leave_a_dead_cache(server: ScriptedServer) -> None:
    server.fail(RuntimeError("a bug"))  # type: ignore[arg-type]
    async with following(server) as follower:
        await follower.catches_up()


def test_objects_that_nobody_can_read_are_counted_and_left_out() -> None:
    class Poisoned(ScriptedServer):
        """Something among its objects cannot be read."""

        def watch(self, kind, **options):  # type: ignore[no-untyped-def]
            options["on_unreadable"](DecodeError("labels are not texts"))
            return super().watch(kind, **options)

    async def main() -> None:
        server = Poisoned(Widget)
        server.put("a")
        async with following(server) as follower:
            await follower.catches_up()
            assert follower.reflector.pulse.skipped == 1
            assert follower.reflector.pulse.failures == 0

    run(main())


def test_replicas_do_not_end_their_watches_together() -> None:
    asked: list[int | None] = []

    class Noting(ScriptedServer):
        def watch(self, kind, **options):  # type: ignore[no-untyped-def]
            asked.append(options["timeout_seconds"])
            return super().watch(kind, **options)

    async def main() -> None:
        server = Noting(Widget)
        async with following(server) as follower:
            for _ in range(40):
                server.bookmark()
                await follower.rest(60)

    run(main())
    assert len(asked) >= 4
    assert len(set(asked)) == len(asked)
    assert all(seconds is not None and 300 <= seconds <= 600 for seconds in asked)
