"""How long tests wait for what they are not about, and how a test that is about time allows for a busy machine.

Four environment variables make tests larger than `make test` needs them:

| variable | default | with `make explore` | what it sets |
|---|---|---|---|
| `WINDLASS_FLEET` | 4 | 250 | the machines of each set in `tests/e2e/test_set_deletion.py`; deadlines grow too |
| `WINDLASS_QUIET` | 3 | 60 | the seconds without a write after each change in `tests/e2e/test_mixed_sets.py` |
| `WINDLASS_SOAK` | 40 | 1200 | the seconds of `tests/e2e/soak`, in which everybody is hostile |
| `WINDLASS_CHAOS` | 40 | 300 | the seconds of `tests/e2e/os_build_chaos`, in which builds go wrong |
"""

import asyncio
import os
import time
from types import TracebackType
from typing import Self

from tests.explore import usually

FLEET = int(os.environ.get("WINDLASS_FLEET") or usually(4, exploring=250))
"""Machines of a set, where a test is about many."""

QUIET = float(os.environ.get("WINDLASS_QUIET") or usually(3, exploring=60))
"""Seconds without a write that count as rest. Controllers that fight over a field write five times in each of them."""

SOAK = float(os.environ.get("WINDLASS_SOAK") or usually(40, exploring=1200))
"""Seconds for which everybody is hostile at once."""

CHAOS = float(os.environ.get("WINDLASS_CHAOS") or usually(40, exploring=300))
"""Seconds for which builds of OS images are disturbed."""

PATIENCE = 180.0 + 2.0 * FLEET
"""Seconds for something to come true where the test is not about how long it takes: what takes one on an idle machine
takes a minute beside everything else that a busy one may be doing."""


class Stalls:
    """How long the machine stood still within an `async with` block, as far as this event loop can tell.

    `seconds` is the sum of what sleeps took longer than asked. A test that has an upper bound for how long another
    process takes adds it to the bound: a machine that stood still does so for everybody.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    async def __aenter__(self) -> Self:
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.cancel()
        await asyncio.wait([self._watching])

    async def _watch(self) -> None:
        beat = 0.05
        while True:
            begun = time.monotonic()
            await asyncio.sleep(beat)
            self.seconds += time.monotonic() - begun - beat
