"""Migrates one object: checks it once more, requests the change, and follows it until it has arrived.

| what happens | what is done |
|---|---|
| another writer was first, after our check | checks again |
| no answer, or a busy server | checks again, and sees whether the request was carried out |
| the check now refuses | waits for a moment, then fails |
| the API server refuses | fails, with its message |
| the controller reports a failure | waits for a moment, since it often recovers; then fails |
| it does not finish within the time | times out, and names what it waits for |
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from random import Random
from typing import TypeAlias

from msgspec import Struct

from windlass.capability.conventions import complaints
from windlass.kube.backoff import Exponential
from windlass.kube.control.seen import Present
from windlass.kube.errors import Conflict, KubeError
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.cli.migrate.last_seen import LastSeen
from windlass.machine_sync.cli.migrate.look import FIELD_MANAGER, change
from windlass.machine_sync.cli.migrate.progress import ProgressView
from windlass.machine_sync.cli.migrate.selection import ObjectKey
from windlass.machine_sync.cli.migrate.stage import MigrationStage, Reached, how_far
from windlass.machine_sync.preflight import Answer, Candidate, PreflightVerdict, preflight

SETTLING = 15.0
"""Seconds to wait for recovery from a failure: a controller that failed tries again several times in this time."""

BETWEEN_LOOKS = Exponential(0.2).at_most(5.0).jittered(0.5)


class MigrationOutcome(StrEnum):
    """The outcome for one object."""

    MIGRATED = "migrated"
    REQUESTED = "requested"
    THERE = "already there"
    REFUSED = "refused"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    LEFT = "left under way"
    NOT_BEGUN = "not begun"


class MigrationResult(Struct, frozen=True):
    """`reason` is for users, empty without a problem. `seconds` since the request, None if nothing was requested."""

    outcome: MigrationOutcome
    reason: str = ""
    seconds: float | None = None


Look: TypeAlias = Callable[[ObjectKey], Awaitable[Candidate]]
"""Reads one object live; `windlass.machine_sync.cli.migrate.look.Looker` is one."""


class Migrator:
    """Moves one object with each call. `limit`: seconds for each, None means no limit. `wait`: wait until it has
    arrived."""

    def __init__(
        self,
        api: Api,
        look: Look,
        last_seen: LastSeen,
        *,
        target: str,
        limit: float | None,
        wait: bool,
        tell: ProgressView,
        random: Random | None = None,
    ) -> None:
        self._api = api
        self._look = look
        self._last_seen = last_seen
        self._target = target
        self._limit = limit
        self._wait = wait
        self._tell = tell
        self._random = random or Random()
        self._reached: dict[ObjectKey, Reached] = {}

    async def __call__(self, key: ObjectKey) -> MigrationResult:
        """Never raises KubeErrors."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        result = MigrationResult(MigrationOutcome.MIGRATED if self._wait else MigrationOutcome.REQUESTED)
        try:
            async with asyncio.timeout(self._limit):
                version = await self._ask(key)
                if self._wait:
                    await self._follow(key, since=version)
        except _Failed as failure:
            result = MigrationResult(MigrationOutcome.FAILED, str(failure))
        except TimeoutError:
            result = MigrationResult(MigrationOutcome.TIMED_OUT, self.where(key))
        result = MigrationResult(result.outcome, result.reason, loop.time() - began)
        self._tell.finish(key, _severity(result), _told(result))
        return result

    def where(self, key: ObjectKey) -> str:
        """How far it is, if known."""
        return str(self._reached.get(key, "unknown whether the move was requested"))

    async def _ask(self, key: ObjectKey) -> str:
        """Make the request; returns the resourceVersion that has it. Raises _Failed."""
        loop = asyncio.get_running_loop()
        began, attempt = loop.time(), 0
        while True:
            attempt += 1
            try:
                candidate = await self._look(key)
                report = preflight(candidate)
                found = candidate.machine_api
                if report.verdict is not PreflightVerdict.REFUSED and isinstance(found, Present):
                    if report.verdict is not PreflightVerdict.READY:
                        return found.metadata.resource_version
                    written = await self._api.patch(
                        key.kind,
                        key.name,
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

    async def _follow(self, key: ObjectKey, *, since: str) -> None:
        """Wait until it has arrived. Raises _Failed."""
        loop = asyncio.get_running_loop()
        bell = self._last_seen.bell(key)
        stuck_since: float | None = None
        while True:
            bell.clear()
            seen = self._last_seen.latest(key, since=since)
            reached = Reached(MigrationStage.ASKED) if seen is None else how_far(seen, self._target)
            self._reached[key] = reached
            self._tell.update(key, reached)
            if reached.stage is MigrationStage.THERE:
                return
            if reached.stage is MigrationStage.LOST:
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
    """The migration cannot continue; the text says why."""


def _severity(result: MigrationResult) -> str:
    return "info" if result.outcome in (MigrationOutcome.MIGRATED, MigrationOutcome.REQUESTED) else "error"


def _told(result: MigrationResult) -> str:
    return f"{result.outcome} after {result.seconds or 0:.1f} s" + (f": {result.reason}" if result.reason else "")
