"""The clock of the runtime, which tests and simulations can replace.

Everything in `windlass.kube` that measures, waits or stamps takes a `Clock`. It has two times: `monotonic` for
durations, which never goes back or jumps when the date is corrected, and `now`, the date, which is only written into
objects and read by people.

    from windlass.kube.clock import SystemClock

    clock = SystemClock()
    began = clock.monotonic()
    await clock.sleep(0.1)
    print(f"{clock.monotonic() - began:.3f} s later it is {clock.now():%H:%M}")

Tests run on `windlass.testing.clock.VirtualLoop`, whose time passes only when nothing else is left to do.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The clock that the runtime needs."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; differences are durations."""
        ...

    def now(self) -> datetime:
        """The date, with a time zone."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return `seconds` later; cancelling it is safe."""
        ...


class SystemClock:
    """The clocks of the operating system.

    On Linux `monotonic` also counts while the machine is suspended. A leader that resumes must find its lease expired;
    CLOCK_MONOTONIC would hide that.
    """

    __slots__ = ("_boottime",)

    def __init__(self) -> None:
        self._boottime: int | None = getattr(time, "CLOCK_BOOTTIME", None)

    def monotonic(self) -> float:
        return time.monotonic() if self._boottime is None else time.clock_gettime(self._boottime)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def rfc3339(moment: datetime) -> str:
    """`metav1.Time` text: UTC, whole seconds, `2026-11-21T16:20:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(moment: datetime) -> str:
    """`metav1.MicroTime` text: UTC, six decimals, `2026-11-21T16:20:00.000000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
