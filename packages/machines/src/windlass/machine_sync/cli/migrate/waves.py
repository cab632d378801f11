"""Migrates a few objects at a time: a wave starts when all objects of the one before have finished.

| what happens | the wave under way | the next ones |
|---|---|---|
| one fails or takes too long | continues | do not start, unless `keep_going` |
| Ctrl-C | continues | do not start |
| Ctrl-C again | is left to Machine sync | |
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from windlass.machine_sync.cli.migrate.migrator import MigrationOutcome, MigrationResult
from windlass.machine_sync.cli.migrate.progress import ProgressView
from windlass.machine_sync.cli.migrate.selection import ObjectKey

_FAILURES = (MigrationOutcome.FAILED, MigrationOutcome.TIMED_OUT)


class Waves:
    """Migrates `size` objects at a time with `migrator`. `where` says how far an object is that was left under way."""

    def __init__(
        self,
        migrator: Callable[[ObjectKey], Awaitable[MigrationResult]],
        where: Callable[[ObjectKey], str],
        *,
        size: int,
        keep_going: bool,
        tell: ProgressView,
    ) -> None:
        self._migrator = migrator
        self._where = where
        self._size = size
        self._keep_going = keep_going
        self._tell = tell
        self._moving: dict[ObjectKey, asyncio.Task[MigrationResult]] = {}
        self._failed = ""
        self.interrupted = False

    async def run(self, keys: Sequence[ObjectKey]) -> dict[ObjectKey, MigrationResult]:
        """The result of each."""
        results: dict[ObjectKey, MigrationResult] = {}
        for wave in _split(keys, self._size):
            if self.interrupted or (self._failed and not self._keep_going):
                why = "interrupted" if self.interrupted else f"{self._failed} failed; --keep-going continues"
                results |= {key: MigrationResult(MigrationOutcome.NOT_BEGUN, why) for key in wave}
                continue
            results |= await self._run(wave)
        return results

    def interrupt(self) -> None:
        """Once: start no more objects. Twice: leave those in progress."""
        under_way = [key for key, task in self._moving.items() if not task.done()]
        if self.interrupted:
            for key in under_way:
                self._moving[key].cancel()
            return
        self.interrupted = True
        self._tell.say(
            f"interrupted: no more objects are started; waiting for {len(under_way)} in progress "
            "(press Ctrl-C again to leave them to Machine sync)"
        )

    async def _run(self, wave: Sequence[ObjectKey]) -> dict[ObjectKey, MigrationResult]:
        self._moving = {key: asyncio.create_task(_as_task(self._migrator(key))) for key in wave}
        await asyncio.wait(self._moving.values())
        results = {}
        for key, task in self._moving.items():
            if task.cancelled():
                results[key] = MigrationResult(MigrationOutcome.LEFT, self._where(key))
                self._tell.finish(key, "warning", f"{MigrationOutcome.LEFT}: {self._where(key)}")
            else:
                results[key] = task.result()
            if not self._failed and results[key].outcome in _FAILURES:
                self._failed = str(key)
        return results


async def _as_task(result: Awaitable[MigrationResult]) -> MigrationResult:
    return await result


def _split(keys: Sequence[ObjectKey], size: int) -> Iterator[Sequence[ObjectKey]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]
