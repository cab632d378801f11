"""Shows how the update of the cluster goes: the UpdateStatus and the UpdateRecords that a controller keeps, or files.

| part | what |
|---|---|
| `clock` | for files: the moment that they show |
| `changed` | for an object: when something in it changed last, as its controller tells |
| `update` | the cluster as a whole, and its control plane |
| `operator/NAME`, `pool/NAME`, `node/NAME` | those of the report, as `windlass status -o json` has them |
| `cause/ID`, `insight/ID` | what needs attention, and why |
| `insight/INFORMER/ID` | what an informer of somebody else told |
| `record`, `took/operator/NAME`, `took/pool/NAME`, `took/node/NAME` | the newest update: when what began and ended |
| `history` | all recorded updates in a line each |
"""

import asyncio
import contextlib
import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import structs

from windlass.api.authorization import ResourceAttributes
from windlass.api.update import UPDATE_STATUS, UpdateStatus, UpdateStatusStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.api.update_record import NodeTook, Took, UpdateRecord
from windlass.kube.cache.reflector import Reflector
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.control.seen import Present, Unreadable, seen
from windlass.kube.object import NamespacedName, Object
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment import assess
from windlass.update_status.causes.symptoms import cause_of
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.history import REFUSED, followed
from windlass.update_status.reading import Reading
from windlass.update_status.reading.kept import silence
from windlass.update_status.record import Record, record_of
from windlass.update_status.report import Report
from windlass.update_status.text.records import newest_first, yes_or_no
from windlass.update_status.times import Moment, of_datetime, rfc3339
from windlass.update_status.view.brief import in_short
from windlass.update_status.view.troubles import PASSING, changed, troubles
from windlass.web.board import Board
from windlass.web.running import Alive, Runs
from windlass.web.view import BRIEF, RUNS, STALE, TROUBLES, Offer, View

if TYPE_CHECKING:
    from windlass.kube.client import Client

NAME: Final = "update-status"
TITLE: Final = "Update"
SCRIPTS: Final = "windlass.update_status.view"
RULE: Final = (
    ResourceAttributes(
        verb="get", group=UpdateStatus.RESOURCE.group, resource=UpdateStatus.RESOURCE.plural, name=UPDATE_STATUS
    ),
    ResourceAttributes(verb="list", group=UpdateRecord.RESOURCE.group, resource=UpdateRecord.RESOURCE.plural),
)
TICK: Final = 15.0
"""Seconds after which the document is made again, because estimates depend on the time."""
BREATH: Final = 0.1
"""Seconds between two documents: several changes that come together make one."""

NO_OBJECT: Final = f"there is no UpdateStatus {UPDATE_STATUS} yet: see whether Update status runs (docs/runbook.md)"
_PASSING: Final = ("duration",)
"""What a page computes itself, from moments."""


def live_view(client: "Client") -> View:
    """What the controller keeps."""

    async def source(board: Board) -> None:
        await _Following(client, board).run()

    return View(
        name=NAME,
        title=TITLE,
        scripts=SCRIPTS,
        rule=RULE,
        source=source,
        needs=needs(),
        clock=client.server_clock.now,
    )


def needs() -> tuple[Permission, ...]:
    """What following takes."""
    return (
        permission(UpdateStatus, "list", "watch"),
        permission(UpdateRecord, "list", "watch"),
        permission(UpdateStatusHeartbeat, "list", "watch"),
    )


def recorded_view(reading: Reading) -> View:
    """What files show. Raises Problem."""
    report = assess(reading.sources, now=reading.now, wall=reading.wall)
    # Of nodes and pools, files say where they are, and not when that began.
    history = reading.sources.cluster_version.status.history
    found = followed([], report, {}, now=reading.now, history=history)
    records = [structs.replace(record, nodes=[], pools=[]) for record in found]
    document = {
        **parts(report, records, now=reading.now),
        "clock": {"now": rfc3339(reading.now)},
        TROUBLES: [],
    }

    async def source(board: Board) -> None:
        board.show(document)
        await asyncio.Event().wait()

    return View(name=NAME, title=TITLE, scripts=SCRIPTS, rule=RULE, source=source)


def parts(report: Report, records: Sequence[Record], *, now: Moment) -> dict[str, Any]:
    """The document of a report and of the records that there are."""
    said = tree(report, now=now)
    plane = said["controlPlane"]
    operators, pools = plane.pop("operators"), said.pop("pools")
    causes, insights, informers = said.pop("causes"), said.pop("insights"), said.pop("informers")
    said.pop("time")
    for passing in _PASSING:
        plane.pop(passing, None)
    found: dict[str, Any] = {"update": said}
    for operator in operators:
        found[f"operator/{operator['name']}"] = _lean(operator)
    for place, pool in enumerate(pools):
        for node in pool.pop("nodes"):
            found[f"node/{node['name']}"] = _lean({**node, "pool": pool["name"]})
        found[f"pool/{pool['name']}"] = {**_lean(pool), "place": place}
    found |= _attention(report, _numbered("cause", causes, of=("type", "about")), insights)
    for informer in informers:
        found |= _informed(informer)
    newest = newest_first(records)
    if begun := [record for record in newest if record.state != REFUSED]:
        found |= _took(begun[0])
    found["history"] = [_line(record) for record in newest]
    found[BRIEF] = in_short(found)
    return found


def _attention(
    report: Report, causes: Mapping[str, Any], said: Sequence[Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Causes and insights. `under` names the part to which an insight belongs: its cause, or what it follows."""
    found = _numbered("insight", said, of=("pool", "summary", "resources"))
    keys = {id(cause): key for cause, key in zip(report.causes, causes, strict=True)}
    placed = [
        (key, insight, cause_of(insight, report.causes)) for key, insight in zip(found, report.insights, strict=True)
    ]
    owners = {
        one: key
        for key, insight, cause in placed
        if cause is None and insight.follows is None
        for one in insight.resources
    }
    for key, insight, cause in placed:
        if cause is not None:
            found[key]["under"] = keys[id(cause)]
        elif insight.follows in owners:
            found[key]["under"] = owners[insight.follows]
    return {**causes, **found}


def _informed(informer: Mapping[str, Any]) -> dict[str, Any]:
    """What an informer of somebody else told: its parts are below its name, so they replace none of others."""
    said = [{**one, "staleSince": informer["staleSince"]} for one in informer["insights"]]
    source = f"{informer['name']} in {informer['namespace']}"
    found = _numbered(f"insight/{informer['name']}", said, of=("uid",))
    return {key: {**one, "informer": source} for key, one in found.items()}


def _lean(said: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing: there may be hundreds."""
    return {key: value for key, value in said.items() if value not in (None, "", False, [])}


def _numbered(kind: str, said: Sequence[Mapping[str, Any]], *, of: tuple[str, ...]) -> dict[str, Any]:
    """Parts whose keys are the same for the same trouble at another time; two may have the same text."""
    found: dict[str, Any] = {}
    same: Counter[str] = Counter()
    for place, one in enumerate(said):
        identity = hashlib.sha256(msgspec.json.encode([one.get(key) for key in of])).hexdigest()[:12]
        same[identity] += 1
        found[f"{kind}/{identity}-{same[identity]}"] = {**_lean(one), "place": place}
    return found


def _took(record: Record) -> dict[str, Any]:
    kinds: tuple[tuple[str, Sequence[Took | NodeTook]], ...] = (
        ("operator", record.operators),
        ("pool", record.pools),
        ("node", record.nodes),
    )
    found: dict[str, Any] = {
        f"took/{kind}/{one.name}": msgspec.to_builtins(one) for kind, taken in kinds for one in taken
    }
    troubles = [_lean(msgspec.to_builtins(trouble)) for trouble in record.troubles]
    return {**found, "record": {**_line(record), "troubles": troubles}}


def _line(record: Record) -> dict[str, Any]:
    return _lean(
        {
            "name": record.name,
            "previous": record.previous,
            "target": record.target,
            "state": record.state,
            "started": record.started,
            "controlPlaneCompleted": record.control_plane_completed,
            "completed": record.completed,
            "image": record.image,
            "verified": yes_or_no(record.verified),
            "acceptedRisks": record.accepted_risks,
            "omitted": record.omitted,
            "issues": len(record.troubles),
        }
    )


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


class _Following:
    """Follows the objects on a cluster, and keeps the document up to date."""

    def __init__(self, client: "Client", board: Board) -> None:
        self._client = client
        self._board = board
        self._changed = asyncio.Event()
        self._status, self._records = _Latest(self._changed), _Latest(self._changed)
        self._of_status = Reflector(client, UpdateStatus, self._status)
        self._of_records = Reflector(client, UpdateRecord, self._records)
        # A beat changes nothing that is shown: whether it is missing is looked at with each document.
        self._beats = _Latest(asyncio.Event())
        self._of_beats = Reflector(client, UpdateStatusHeartbeat, self._beats)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._of_status.run(), name="follow UpdateStatus")
            tasks.create_task(self._of_records.run(), name="follow UpdateRecords")
            tasks.create_task(self._of_beats.run(), name="follow UpdateStatusHeartbeats")
            await self._keep_shown()

    async def _keep_shown(self) -> None:
        while True:
            # Until the first list is complete there is nothing to show, unless it fails.
            if self._is_listed() or self._troubles(None):
                self._board.show(self._document(of_datetime(self._client.server_clock.now())))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), TICK if self._board.shown else 1.0)
            await asyncio.sleep(BREATH)
            self._changed.clear()

    def _is_listed(self) -> bool:
        beats = self._of_beats.pulse
        return self._of_status.pulse.listed and (beats.listed or beats.failures > 0)

    def _document(self, now: Moment) -> dict[str, Any]:
        item = self._status.found.get(UPDATE_STATUS)
        kept = seen(item) if item is not None else None
        status = kept.object.status if isinstance(kept, Present) else None
        try:
            report = read(status, now=now) if status is not None else None
        except NothingWritten as nothing:
            return {TROUBLES: [str(nothing)]}
        if report is None:
            why = kept.why if isinstance(kept, Unreadable) else ""
            return {TROUBLES: self._troubles(None) or [why or NO_OBJECT]}
        looked = [seen(found) for found in self._records.found.values()]
        records = [record_of(found.object) for found in looked if isinstance(found, Present)]
        silent = self._silence(now)
        shown = {**parts(report, records, now=now), TROUBLES: self._troubles(status, silent)}
        shown[RUNS] = Alive(Runs.STOPPED if silent else Runs.RUNS, silent)
        if silent:
            shown[STALE] = silent
        return shown if status is None else {**shown, "changed": {"at": changed(status)}}

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


def _live(client: "Client", _: str) -> View:
    return live_view(client)


def _recorded(sources: Sequence[str]) -> View:
    import sys

    import click

    from windlass.update_status.assessment import Problem
    from windlass.update_status.reading.dump import read_dump

    try:
        return recorded_view(read_dump(sources, stdin=sys.stdin.buffer, wall=time.time_ns()))
    except Problem as problem:
        raise click.ClickException(str(problem)) from None


VIEW: Final = Offer(live=_live, needs=needs, recorded=_recorded)
