"""The virtual loop: time that passes only when nothing else is left to do."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from windlass.testing.clock import Stuck, VirtualLoop, run


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def test_a_day_passes_at_once(loop: VirtualLoop) -> None:
    began = time.monotonic()
    loop.run_until_complete(loop.clock.sleep(80_000))
    assert loop.time() == 80_000
    assert loop.clock.monotonic() == 80_000
    assert (loop.clock.now() - loop.clock.epoch).total_seconds() == 80_000
    assert time.monotonic() - began < 60


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    woken: list[int] = []

    async def sleeper(seconds: int) -> None:
        await asyncio.sleep(seconds)
        woken.append(seconds)

    async def main() -> None:
        await asyncio.gather(*map(sleeper, (30, 10, 20)))

    run(main())
    assert woken == [10, 20, 30]


def test_threads_may_answer_without_time_passing(loop: VirtualLoop) -> None:
    assert loop.run_until_complete(asyncio.to_thread(lambda: "done")) == "done"
    assert loop.time() == 0


def test_time_that_runs_away_is_stopped() -> None:
    loop = VirtualLoop(limit=100)

    async def forever() -> None:
        while True:  # noqa: ASYNC110 - that is the fault under test
            await asyncio.sleep(1)

    with pytest.raises(Stuck, match="100 s have passed"):
        loop.run_until_complete(asyncio.wait_for(asyncio.shield(asyncio.ensure_future(forever(), loop=loop)), None))
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.close()
