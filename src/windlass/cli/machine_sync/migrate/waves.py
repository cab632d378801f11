"""A few objects at a time: a wave is begun when all of the one before are at rest.

| what happens | the wave under way | the next ones |
|---|---|---|
| one fails or takes too long | goes on | are not begun, unless `keep_going` |
| Ctrl-C | goes on | are not begun |
| Ctrl-C again | is left to Machine sync | |
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from windlass.cli.machine_sync.migrate.progress import Audience
from windlass.cli.machine_sync.migrate.selection import Subject
from windlass.cli.machine_sync.migrate.switch import Outcome, Result

_FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT)


class Waves:
    """`size` objects at a time through `switch`. `where` says how far one is that was left."""

    def __init__(
        self,
        switch: Callable[[Subject], Awaitable[Result]],
        where: Callable[[Subject], str],
        *,
        size: int,
        keep_going: bool,
        tell: Audience,
    ) -> None:
        self._switch = switch
        self._where = where
        self._size = size
        self._keep_going = keep_going
        self._tell = tell
        self._moving: dict[Subject, asyncio.Task[Result]] = {}
        self._failed = ""
        self.interrupted = False

    async def run(self, subjects: Sequence[Subject]) -> dict[Subject, Result]:
        """The result of each."""
        results: dict[Subject, Result] = {}
        for wave in _split(subjects, self._size):
            if self.interrupted or (self._failed and not self._keep_going):
                why = "interrupted" if self.interrupted else f"{self._failed} failed before; --keep-going goes on"
                results |= {subject: Result(Outcome.NOT_BEGUN, why) for subject in wave}
                continue
            results |= await self._run(wave)
        return results

    def interrupt(self) -> None:
        """Once: begin no more. Twice: leave those that are under way."""
        under_way = [subject for subject, task in self._moving.items() if not task.done()]
        if self.interrupted:
            for subject in under_way:
                self._moving[subject].cancel()
            return
        self.interrupted = True
        count = f"{len(under_way)} under way {'is' if len(under_way) == 1 else 'are'} waited for"
        self._tell.say(f"interrupted: no more are begun, {count} (Ctrl-C again leaves them to Machine sync)")

    async def _run(self, wave: Sequence[Subject]) -> dict[Subject, Result]:
        self._moving = {subject: asyncio.create_task(_as_task(self._switch(subject))) for subject in wave}
        await asyncio.wait(self._moving.values())
        results = {}
        for subject, task in self._moving.items():
            if task.cancelled():
                results[subject] = Result(Outcome.LEFT, self._where(subject))
                self._tell.finish(subject, "warning", f"{Outcome.LEFT}: {self._where(subject)}")
            else:
                results[subject] = task.result()
            if not self._failed and results[subject].outcome in _FAILURES:
                self._failed = str(subject)
        return results


async def _as_task(result: Awaitable[Result]) -> Result:
    return await result


def _split(subjects: Sequence[Subject], size: int) -> Iterator[Sequence[Subject]]:
    for start in range(0, len(subjects), size):
        yield subjects[start : start + size]
