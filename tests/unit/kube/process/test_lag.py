"""Loop lag: measured at each beat, and a reason not to be called alive while it is large."""

import asyncio

from windlass.kube.process.lag import LoopLag
from windlass.testing.clock import VirtualLoop


def test_a_stall_is_measured_and_fails_until_it_is_past() -> None:
    loop = VirtualLoop()
    beats: list[float] = []
    lag = LoopLag(clock=loop.clock, period=0.5, limit=5.0, window=15.0, on_beat=beats.append)

    async def scenario() -> None:
        task = asyncio.create_task(lag.run())
        await asyncio.sleep(3.25)
        assert lag.trouble == ""
        assert max(beats) < 0.001
        loop._elapsed += 7.25  # a callback that computes for so long; the beat was due 0.25 s into it
        assert lag.trouble == "the event loop was 7.0 s late (limit 5 s)"
        await asyncio.sleep(0.6)
        assert lag.trouble == "the event loop was 7.0 s late (limit 5 s)"
        await asyncio.sleep(20)
        assert lag.trouble == ""
        task.cancel()

    loop.run_until_complete(scenario())
    assert 6.9 < max(beats) < 7.1
    loop.close()
