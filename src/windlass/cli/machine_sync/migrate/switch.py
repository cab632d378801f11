"""One object from one authority to the other: looked at once more, asked for, followed until it is at rest.

| what happens | what is done |
|---|---|
| somebody else wrote it between look and request | looked at again |
| no answer, or a busy server | looked at again: whether the request was carried out shows |
| the look says no by now | waited for a moment, then failed |
| the API server refuses | failed, with its message |
| the controller says that it fails | waited for a moment, since that heals often; then failed |
| it does not get there within the time | timed out, with what it waits for |
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from random import Random
from typing import TypeAlias

from msgspec import Struct

from windlass.cli.conventions import complaints
from windlass.cli.machine_sync.migrate.board import Board
from windlass.cli.machine_sync.migrate.look import FIELD_MANAGER, change
from windlass.cli.machine_sync.migrate.progress import Audience
from windlass.cli.machine_sync.migrate.selection import Subject
from windlass.cli.machine_sync.migrate.stages import Stage, Step, step
from windlass.kube.backoff import Exponential
from windlass.kube.control.seen import Present
from windlass.kube.errors import Conflict, KubeError
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.preflight import Answer, Candidate, Verdict, preflight

SETTLING = 15.0
"""Seconds that a failure is given to heal: a controller that failed tries again within them, several times."""

BETWEEN_LOOKS = Exponential(0.2).at_most(5.0).jittered(0.5)


class Outcome(StrEnum):
    """What became of one object."""

    MIGRATED = "migrated"
    REQUESTED = "requested"
    THERE = "already there"
    REFUSED = "refused"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    LEFT = "left under way"
    NOT_BEGUN = "not begun"


class Result(Struct, frozen=True):
    """`reason` is for people, empty if all is well. `seconds` since the request, None if nothing was asked for."""

    outcome: Outcome
    reason: str = ""
    seconds: float | None = None


Look: TypeAlias = Callable[[Subject], Awaitable[Candidate]]
"""How to look at one object live; `windlass.cli.machine_sync.migrate.look.Looker` is one."""


class Switch:
    """Moves one object at a call. `limit`: seconds for each, None for ever. `wait`: until it is there."""

    def __init__(
        self,
        api: Api,
        look: Look,
        board: Board,
        *,
        target: str,
        limit: float | None,
        wait: bool,
        tell: Audience,
        random: Random | None = None,
    ) -> None:
        self._api = api
        self._look = look
        self._board = board
        self._target = target
        self._limit = limit
        self._wait = wait
        self._tell = tell
        self._random = random or Random()
        self._reached: dict[Subject, Step] = {}

    async def __call__(self, subject: Subject) -> Result:
        """Never raises KubeErrors."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        result = Result(Outcome.MIGRATED if self._wait else Outcome.REQUESTED)
        try:
            async with asyncio.timeout(self._limit):
                version = await self._ask(subject)
                if self._wait:
                    await self._follow(subject, since=version)
        except _Failed as failure:
            result = Result(Outcome.FAILED, str(failure))
        except TimeoutError:
            result = Result(Outcome.TIMED_OUT, self.where(subject))
        result = Result(result.outcome, result.reason, loop.time() - began)
        self._tell.finish(subject, _severity(result), _told(result))
        return result

    def where(self, subject: Subject) -> str:
        """How far it is, as far as is known."""
        return str(self._reached.get(subject, "whether it was asked for is unknown"))

    async def _ask(self, subject: Subject) -> str:
        """Make the request; returns the resourceVersion that has it. Raises _Failed."""
        loop = asyncio.get_running_loop()
        began, attempt = loop.time(), 0
        while True:
            attempt += 1
            try:
                candidate = await self._look(subject)
                report = preflight(candidate)
                found = candidate.machine_api
                if report.verdict is not Verdict.REFUSED and isinstance(found, Present):
                    if report.verdict is not Verdict.READY:
                        return found.metadata.resource_version
                    written = await self._api.patch(
                        subject.kind,
                        subject.name,
                        change(found, self._target),
                        type=PatchType.MERGE,
                        namespace=found.metadata.namespace,
                        field_manager=FIELD_MANAGER,
                    )
                    return written.resource_version
                if loop.time() - began >= SETTLING:
                    raise _Failed("; ".join(report.reasons(Answer.NO)))
            except KubeError as error:
                if not (isinstance(error, Conflict) or error.transient or error.unknown_outcome):
                    raise _Failed(complaints.explain(error)) from error
            await asyncio.sleep(BETWEEN_LOOKS.delay(attempt, self._random))

    async def _follow(self, subject: Subject, *, since: str) -> None:
        """Until it is there. Raises _Failed."""
        loop = asyncio.get_running_loop()
        bell = self._board.bell(subject)
        stuck_since: float | None = None
        while True:
            bell.clear()
            seen = self._board.latest(subject, since=since)
            reached = Step(Stage.ASKED) if seen is None else step(seen, self._target)
            self._reached[subject] = reached
            self._tell.step(subject, reached)
            if reached.stage is Stage.THERE:
                return
            if reached.stage is Stage.LOST:
                raise _Failed(reached.text)
            left: float | None = None
            if reached.stuck:
                stuck_since = loop.time() if stuck_since is None else stuck_since
                left = stuck_since + SETTLING - loop.time()
                if left <= 0:
                    raise _Failed(str(reached))
            else:
                stuck_since = None
            await _rings(bell, within=left)


async def _rings(bell: asyncio.Event, *, within: float | None) -> None:
    """Wait for the bell, at most `within` seconds."""
    try:
        async with asyncio.timeout(within):
            await bell.wait()
    except TimeoutError:
        pass


class _Failed(Exception):
    """It cannot go on; the text says why."""


def _severity(result: Result) -> str:
    return "info" if result.outcome in (Outcome.MIGRATED, Outcome.REQUESTED) else "error"


def _told(result: Result) -> str:
    return f"{result.outcome} after {result.seconds or 0:.1f} s" + (f": {result.reason}" if result.reason else "")
