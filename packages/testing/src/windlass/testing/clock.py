"""An event loop with virtual time: time passes only when every task waits for it.

Code that sleeps for ten minutes is tested in a millisecond, and always with the same result: when every task waits for
a timer, the loop's clock jumps to the earliest one.

    from windlass.testing.clock import VirtualLoop

    loop = VirtualLoop()
    loop.run_until_complete(asyncio.sleep(600))
    assert loop.time() == 600
    loop.close()

`run(main())` is `asyncio.run` on such a loop; `loop.clock` is its `windlass.kube.clock.Clock`. Threads and loopback
sockets may be used, but the time they take does not count. If every task waits for something that can never happen, the
loop raises `Stuck` instead of hanging. It also does so after `limit` seconds of virtual time.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 60.0
"""Real seconds to wait for a thread or a socket when no timer is set."""


class Stuck(RuntimeError):
    """Nothing is ready, no timer is set, and nothing came from outside: the program would wait for ever."""


class VirtualClock:
    """The `Clock` of a `VirtualLoop`: starts at `epoch`, moves with the loop."""

    def __init__(self, loop: "VirtualLoop", epoch: datetime) -> None:
        self._loop = loop
        self.epoch = epoch

    def monotonic(self) -> float:
        return self._loop.time()

    def now(self) -> datetime:
        return self.epoch + timedelta(seconds=self._loop.time())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, *, epoch: datetime = datetime(2026, 1, 1, tzinfo=UTC), limit: float = 86_400.0) -> None:
        self._elapsed = 0.0
        self._limit = limit
        super().__init__(_Selector(self))
        self.clock = VirtualClock(self, epoch)

    def time(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass, running what becomes due. For use between `run_until_complete` calls."""
        self.run_until_complete(asyncio.sleep(seconds))

    def settle(self) -> None:
        """Run everything that can run without time passing."""
        self.run_until_complete(asyncio.sleep(0))
        while self._ready:  # type: ignore[attr-defined]
            self.run_until_complete(asyncio.sleep(0))


class _Selector(selectors.DefaultSelector):  # type: ignore[misc,valid-type,unused-ignore]
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            events = super().select(PATIENCE)
            if not events:
                raise Stuck("every task waits for something that nobody is going to do")
            return events
        events = super().select(0)
        if not events and timeout > 0:
            self._loop._elapsed += timeout
            if self._loop._elapsed > self._loop._limit:
                raise Stuck(f"{self._loop._limit:g} s have passed, and what was waited for has not happened")
        return events


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run(main)` on a `VirtualLoop`."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
