"""When the controller beats: every 10 s while it leads and follows all sources, by the API server's clock."""

import asyncio
from datetime import UTC, datetime

from msgspec import Struct, field

from tests.waiting import until
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.kube.errors import Fenced, NotServed, Status
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualLoop, run
from windlass.update_status.heartbeat import PERIOD, Heartbeat

from .controller.world import OWNED

SERVER_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Stage(Struct):
    """A heartbeat at work; the rest is what it looks at."""

    api: MemoryApi
    leads: bool = True
    interrupted: list[str] = field(default_factory=list)
    server_now: datetime = SERVER_NOW

    @property
    def version(self) -> str:
        return next((one.resource_version for one in self.api.listing(UpdateStatusHeartbeat)), "")

    def beat(self) -> UpdateStatusHeartbeat:
        return self.api.listing(UpdateStatusHeartbeat)[0].decode()


async def on(api: MemoryApi) -> tuple[Stage, "asyncio.Task[None]"]:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    stage = Stage(api)
    heartbeat = Heartbeat(
        api,
        controller="windlass_a",
        leading=lambda: stage.leads,
        interrupted=lambda: stage.interrupted,
        server_now=lambda: stage.server_now,
        clock=loop.clock,
    )
    return stage, asyncio.create_task(heartbeat.run())


def test_it_beats_by_the_servers_clock_once_in_a_period() -> None:
    async def main() -> None:
        stage, task = await on(MemoryApi(*OWNED))
        await until(lambda: stage.version)
        assert stage.beat().last_beat == "2026-01-01T00:00:00Z"
        assert (stage.beat().period_seconds, stage.beat().controller) == (PERIOD, "windlass_a")
        first, began = stage.version, asyncio.get_running_loop().time()
        stage.server_now = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)
        await until(lambda: stage.version != first)
        assert PERIOD - 0.2 <= asyncio.get_running_loop().time() - began <= PERIOD + 0.2
        assert stage.beat().last_beat == "2026-01-01T00:00:10Z"
        task.cancel()

    run(main())


def test_a_standby_and_a_leader_that_misses_a_source_do_not_beat_and_go_on_within_a_second() -> None:
    async def main() -> None:
        stage, task = await on(MemoryApi(*OWNED))
        stage.leads = False
        await asyncio.sleep(60)
        assert not stage.version
        stage.leads, stage.interrupted = True, ["nodes: connection refused"]
        await asyncio.sleep(60)
        assert not stage.version
        stage.interrupted = []
        await asyncio.sleep(1.1)
        assert stage.version
        task.cancel()

    run(main())


def test_a_write_that_is_held_back_or_refused_is_tried_again() -> None:
    class Refusing(MemoryApi):
        errors: tuple[Exception, ...] = (
            Fenced("not the leader"),
            NotServed(Status("Failure", "no such kind", "NotFound", 404)),
            RuntimeError("a bug"),
        )

        async def send(self, request):  # type: ignore[no-untyped-def]
            if self.errors:
                error, *rest = self.errors
                self.errors = tuple(rest)
                raise error
            return await super().send(request)

    async def main() -> None:
        stage, task = await on(Refusing(*OWNED))
        await asyncio.sleep(3.1)
        assert stage.version
        task.cancel()

    run(main())
