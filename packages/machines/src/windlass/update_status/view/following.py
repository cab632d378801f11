"""Follows the objects that a controller keeps, and publishes what they say.

| the UpdateStatus | the document |
|---|---|
| is kept up to date | what it says |
| is not, for `LASTING` seconds | what it said, not current; and that nobody relies on it |
| does not exist, or may not be read | why; and that nobody relies on it |
| cannot be read at the moment | what it said, and why |
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from windlass.api.update import UPDATE_STATUS, UpdateStatus, UpdateStatusStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.api.update_record import UpdateRecord
from windlass.kube.cache.health import FollowStage
from windlass.kube.cache.reflector import Reflector
from windlass.kube.control.seen import Present, Unreadable, seen
from windlass.kube.object import NamespacedName, Object
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.reading.kept import NOT_SERVED, incomplete, silence
from windlass.update_status.record import record_of
from windlass.update_status.times import Moment, of_datetime
from windlass.update_status.view.parts import parts
from windlass.update_status.view.troubles import PASSING, changed, troubles
from windlass.web.board import Board
from windlass.web.running import Alive, Runs
from windlass.web.view import ELSEWHERE, RUNS, STALE, TROUBLES

if TYPE_CHECKING:
    from windlass.kube.client import Client

TICK: Final = 15.0
"""Seconds after which the document is made again, because estimates depend on the time."""
BREATH: Final = 0.1
"""Seconds between two documents: several changes that come together make one."""
LASTING: Final = 10.0
"""Seconds after which an UpdateStatus that nobody keeps up to date is relied on no more."""

NO_OBJECT: Final = f"there is no UpdateStatus {UPDATE_STATUS} yet: see whether Update status runs (docs/runbook.md)"


class _Latest:
    """The sink of a reflector: the objects by name, and a call whenever one changes."""

    def __init__(self, changed: asyncio.Event) -> None:
        self.found: dict[str, Object[Any]] = {}
        self._changed = changed

    async def replace(self, objects: dict[NamespacedName, Object[Any]], version: str) -> None:
        self.found = {item.name: item for item in objects.values()}
        self._changed.set()

    rewind = replace

    def put(self, new: Object[Any]) -> None:
        self.found[new.name] = new
        self._changed.set()

    def delete(self, last: Object[Any]) -> None:
        self.found.pop(last.name, None)
        self._changed.set()

    def reach(self, version: str) -> None:
        """Nothing is resumed."""


class Following:
    """Follows the objects on a cluster, and keeps the document up to date."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._why = ""
        self._unreliable_since = 0.0
        self._changed = asyncio.Event()
        self._status, self._records = _Latest(self._changed), _Latest(self._changed)
        self._of_status = Reflector(client, UpdateStatus, self._status)
        self._of_records = Reflector(client, UpdateRecord, self._records)
        # A beat changes nothing that is shown: whether it is missing is looked at with each document.
        self._beats = _Latest(asyncio.Event())
        self._of_beats = Reflector(client, UpdateStatusHeartbeat, self._beats)

    @property
    def why(self) -> str:
        """Why the UpdateStatus is not relied on; empty if it is."""
        return self._why

    async def run(self, board: Board) -> None:
        """Publish what the objects say until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._of_status.run(), name="follow UpdateStatus")
            tasks.create_task(self._of_records.run(), name="follow UpdateRecords")
            tasks.create_task(self._of_beats.run(), name="follow UpdateStatusHeartbeats")
            await self._keep_shown(board)

    async def _keep_shown(self, board: Board) -> None:
        while True:
            # Until the first list is complete there is nothing to show, unless it fails.
            if self._is_listed() or self._troubles(None):
                board.show(self._document(of_datetime(self._client.server_clock.now())))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), TICK if board.shown else 1.0)
            await asyncio.sleep(BREATH)
            self._changed.clear()

    def _is_listed(self) -> bool:
        beats = self._of_beats.pulse
        return self._of_status.pulse.listed and (beats.listed or beats.failures > 0)

    def _document(self, now: Moment) -> dict[str, Any]:
        item = self._status.found.get(UPDATE_STATUS)
        kept = seen(item) if item is not None else None
        status = kept.object.status if isinstance(kept, Present) else None
        missing = kept.why if isinstance(kept, Unreadable) else ""
        try:
            report = read(status, now=now) if status is not None else None
        except NothingWritten as nothing:
            report, missing = None, str(nothing)
        if report is None or status is None:
            said = self._troubles(None) or [missing or NO_OBJECT]
            elsewhere = self._elsewhere(missing or self._absence(), at_once=True)
            return {TROUBLES: said, STALE: said[0], **elsewhere}
        looked = [seen(found) for found in self._records.found.values()]
        records = [record_of(found.object) for found in looked if isinstance(found, Present)]
        silent = self._silence(now)
        shown = {
            **parts(report, records, now=now),
            "changed": {"at": changed(status)},
            TROUBLES: self._troubles(status, silent),
            RUNS: Alive(Runs.STOPPED if silent else Runs.RUNS, silent),
            **self._elsewhere(incomplete(status) or self._death(now)),
        }
        if silent:
            shown[STALE] = silent
        return shown

    def _elsewhere(self, why: str | None, *, at_once: bool = False) -> dict[str, Any]:
        """The part that says why nobody relies on the UpdateStatus, unless it is so only for a moment: heartbeats are
        late after each restart of the API server. `why` None: that is unknown, and remains what it was."""
        now = asyncio.get_running_loop().time()
        if why is not None:
            since = self._unreliable_since or now
            self._unreliable_since = since if why else 0.0
            self._why = why if at_once or now - since >= LASTING else ""
        return {ELSEWHERE: self._why} if self._why else {}

    def _absence(self) -> str | None:
        """Why there is no UpdateStatus; None if the API server does not tell at the moment."""
        pulse = self._of_status.pulse
        if pulse.stage is FollowStage.NOT_SERVED:
            return NOT_SERVED
        if pulse.forbidden:
            return f"{UpdateStatus.RESOURCE.plural} may not be read"
        return f"there is no UpdateStatus {UPDATE_STATUS}" if pulse.listed and not pulse.failing else None

    def _death(self, now: Moment) -> str | None:
        """Why the controller seems not to live, empty if it does; None if that cannot be read at the moment."""
        pulse = self._of_beats.pulse
        known = not pulse.failing or pulse.forbidden or pulse.stage is FollowStage.NOT_SERVED
        return self._silence(now) if known else None

    def _troubles(self, status: UpdateStatusStatus | None, silent: str = "") -> list[str]:
        followed = ((UpdateStatus, self._of_status.pulse), (UpdateRecord, self._of_records.pulse))
        return troubles(status, followed, silence=silent)

    def _silence(self, now: Moment) -> str:
        """Why nobody seems to keep the UpdateStatus up to date; empty if somebody does."""
        pulse = self._of_beats.pulse
        if (why := pulse.failing) and (not pulse.listed or (pulse.failing_seconds or 0) > PASSING):
            return f"whether the controller lives is unknown: {why}"
        found = self._beats.found.get(UPDATE_STATUS)
        beat = seen(found) if found is not None else None
        if isinstance(beat, Unreadable):
            return f"whether the controller lives is unknown: {beat.why}"
        return silence(beat.object if isinstance(beat, Present) else None, now=now)
