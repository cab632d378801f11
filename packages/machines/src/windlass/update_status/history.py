"""Keeps a record of each update: how long every operator, node and pool took, and what went wrong.

    followed(records, report, insights, now) -> the records that change

A record follows from the one before and the report, so a controller that was restarted goes on where another stopped.
It changes when an operator, a node or a pool begins or ends to update, when a node is drained, or when a trouble comes
or goes; between these nothing is written. What cannot be read ends nothing, and a record that has ended stays as it is:
a node that joins later, or an update that is seen to go on, does not open it again.

Old records lose their nodes, then their troubles, then go: all of them stay below `LARGEST` bytes.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from windlass.api.config import UpdateHistory
from windlass.api.update_insights import MOST_SUMMARY, HealthInsight
from windlass.api.update_record import (
    MOST_IMAGE,
    MOST_NODES,
    MOST_RISKS,
    MOST_TARGET,
    MOST_TROUBLES,
    NodeTook,
    Took,
    Trouble,
)
from windlass.kube.shorten import shortened
from windlass.update_status.record import Record
from windlass.update_status.report import Level, Phase, Report, State
from windlass.update_status.times import Moment, moment, rfc3339

KEPT: Final = 10
"""Updates."""
LARGEST: Final = 512 * 1024
"""Bytes of JSON of all records."""

CREATED: Final = ""
"""A record that has just been created, and has nothing but its name: `status` is written after it."""
PROGRESSING: Final = "Progressing"
COMPLETED: Final = "Completed"
SUPERSEDED: Final = "Superseded"
REFUSED: Final = "Refused"
RUNNING: Final = frozenset({CREATED, PROGRESSING})

_DRAINED: Final = frozenset({Phase.UPDATING, Phase.REBOOTING})
_UNDER_WAY: Final = _DRAINED | {Phase.DRAINING}


def followed(
    records: Iterable[Record],
    report: Report,
    insights: Mapping[str, HealthInsight],
    *,
    now: Moment,
    nodes_known: bool = True,
    history: Sequence[UpdateHistory] = (),
) -> list[Record]:
    """The records that are new or changed. `insights` are those of the object by uid, `history` that of ClusterVersion.

    `nodes_known`: pools and nodes could be read; otherwise those of the report are no sign that any is updated.
    """
    records = list(records)
    plane = report.control_plane
    if plane.versions is None:
        return []  # without a history nobody knows which update it is
    refused = _refused(records, report, now)
    names = {one.name for one in refused}
    others = [one for one in records if one.name not in names]
    found = _followed(others, report, insights, now=now, nodes_known=nodes_known, history=history)
    return [*found, *refused]


def _followed(
    records: Sequence[Record],
    report: Report,
    insights: Mapping[str, HealthInsight],
    *,
    now: Moment,
    nodes_known: bool,
    history: Sequence[UpdateHistory],
) -> list[Record]:
    plane = report.control_plane
    assert plane.versions is not None
    running = [record for record in records if record.state in RUNNING]
    if not report.updating:
        known = nodes_known and plane.updating == "False" and plane.completed is not None
        ended = [record for record in running if known or record.target != plane.versions.target]
        return [_ended(record, report, now, history) for record in ended]
    begun = _begun(report)
    found = [_superseded(record, now, history) for record in running if record.name != begun.name]
    before = next((record for record in records if record.name == begun.name), begun)
    if before.state not in RUNNING:
        return found
    after = _described(_continued(before, report, insights, now, nodes_known=nodes_known), history)
    return [*found, after] if before is begun or _differ(before, after) else found


def _refused(records: Iterable[Record], report: Report, now: Moment) -> list[Record]:
    """A record of a request that was refused: one, however often the operator tries it again."""
    plane = report.control_plane
    request = plane.request
    if request is None or not plane.refused or plane.versions is None or not request.target:
        return []
    target = shortened(request.target, MOST_TARGET)
    same = [one for one in records if one.target == target and moment(one.started) >= plane.started]
    if any(one.state == REFUSED for one in same):
        return []
    created = next((one for one in same if one.state == CREATED and one.name != record_of(report)), None)
    since = created.started if created else rfc3339(now if request.since is None else max(request.since, plane.started))
    why = Trouble(
        uid="request",
        level=Level.ERROR.title,
        summary=shortened(request.message or request.reason, MOST_SUMMARY),
        first_seen=since,
        last_seen=since,
        resolved=since,
    )
    return [
        Record(
            name=record_name(target, since),
            previous=plane.versions.target,
            target=target,
            state=REFUSED,
            started=since,
            completed=since,
            troubles=[why],
        )
    ]


def kept(records: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """What all records have to become to be few and small enough: the changed ones, and those to delete."""
    newest = sorted(records, key=lambda record: record.started, reverse=True)
    gone, changed = newest[KEPT:], dict[str, Record]()
    newest = newest[:KEPT]
    sizes = {record.name: len(msgspec.json.encode(record)) for record in newest}
    for lighten in (_without_nodes, _without_troubles):
        for place in range(len(newest) - 1, 0, -1):
            if sum(sizes.values()) <= LARGEST:
                break
            lighter = lighten(newest[place])
            if lighter is not newest[place]:
                newest[place] = changed[lighter.name] = lighter
                sizes[lighter.name] = len(msgspec.json.encode(lighter))
    return list(changed.values()), gone


def record_name(target: str, started: str) -> str:
    """The name of a record: the version for people, and a digest that tells two updates to one version apart."""
    digest = hashlib.sha256(f"{target} {started}".encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9.]+", "-", target.lower()).strip("-.")[:48].strip("-.")
    return f"{readable}-{digest}" if readable else digest


def record_of(report: Report) -> str:
    """The name of the record of the update that is going on, "" if it is not known which that is."""
    plane = report.control_plane
    return "" if plane.versions is None else record_name(plane.versions.target, rfc3339(plane.started))


def _begun(report: Report) -> Record:
    plane = report.control_plane
    assert plane.versions is not None
    return Record(
        name=record_of(report),
        previous=plane.versions.previous or "",
        target=plane.versions.target,
        state=PROGRESSING,
        started=rfc3339(plane.started),
    )


def _continued(
    record: Record,
    report: Report,
    insights: Mapping[str, HealthInsight],
    now: Moment,
    *,
    nodes_known: bool = True,
) -> Record:
    completed = report.control_plane.completed
    return structs.replace(
        record,
        state=PROGRESSING,
        control_plane_completed=record.control_plane_completed or (rfc3339(completed) if completed else None),
        operators=_operators(record.operators, report, now),
        pools=_pools(record.pools, report, now) if nodes_known else record.pools,
        nodes=_nodes(record.nodes, report, now),
        troubles=_troubles(record.troubles, insights, now),
    )


def _operators(known: Sequence[Took], report: Report, now: Moment) -> list[Took]:
    entries = {entry.name: entry for entry in known}
    begun = report.control_plane.started
    for operator in report.control_plane.operators:
        entry = entries.get(operator.name)
        # The last transition of Progressing is when it began, or when it was done; an earlier one tells nothing.
        since = rfc3339(operator.since if operator.since >= begun else now)
        if operator.state is State.PROGRESSING and entry is None:
            entries[operator.name] = Took(name=operator.name, started=since)
        elif operator.state is State.UPDATED and entry is not None and entry.completed is None:
            entries[operator.name] = structs.replace(entry, completed=since)
        elif operator.state is State.UPDATED and entry is None and operator.since >= begun:
            entries[operator.name] = Took(name=operator.name, completed=since)
    return list(entries.values())


def _pools(known: Sequence[Took], report: Report, now: Moment) -> list[Took]:
    entries = {entry.name: entry for entry in known}
    for pool in report.pools:
        entry = entries.get(pool.name)
        if entry is None and pool.summary.left and any(node.phase in _UNDER_WAY for node in pool.nodes):
            entries[pool.name] = Took(name=pool.name, started=rfc3339(now))
        elif entry is not None and entry.completed is None and not pool.summary.left:
            entries[pool.name] = structs.replace(entry, completed=rfc3339(now))
    return list(entries.values())


def _nodes(known: Sequence[NodeTook], report: Report, now: Moment) -> list[NodeTook]:
    entries = {entry.name: entry for entry in known}
    for pool in report.pools:
        for node in pool.nodes:
            entry = entries.get(node.name)
            if entry is None and node.phase in _UNDER_WAY and len(entries) < MOST_NODES:
                drained = None if node.phase is Phase.DRAINING else rfc3339(now)
                entries[node.name] = NodeTook(name=node.name, pool=pool.name, started=rfc3339(now), drained=drained)
                continue
            if entry is None or entry.completed is not None:
                continue
            if entry.drained is None and node.phase in _DRAINED:
                entry = entries[node.name] = structs.replace(entry, drained=rfc3339(now))
            if node.updated:
                entries[node.name] = structs.replace(entry, completed=rfc3339(now))
    return list(entries.values())


def _troubles(known: Sequence[Trouble], insights: Mapping[str, HealthInsight], now: Moment) -> list[Trouble]:
    entries = {entry.uid: entry for entry in known}
    present = rfc3339(now)
    for uid, insight in insights.items():
        entry = entries.get(uid)
        if entry is None:
            if len(entries) < MOST_TROUBLES:
                entries[uid] = Trouble(
                    uid=uid,
                    level=insight.impact.level,
                    summary=insight.impact.summary,
                    first_seen=rfc3339(moment(insight.started_at or insight.first_seen_at)),
                    last_seen=present,
                )
            continue
        # What comes back was not resolved for good.
        entries[uid] = structs.replace(entry, level=insight.impact.level, last_seen=present, resolved=None)
    for uid, entry in entries.items():
        if uid not in insights and entry.resolved is None:
            entries[uid] = structs.replace(entry, resolved=present)
    return list(entries.values())


def _ended(record: Record, report: Report, now: Moment, history: Sequence[UpdateHistory]) -> Record:
    """Nothing is updated any more: neither operators nor pools."""
    versions, present = report.control_plane.versions, rfc3339(now)
    assert versions is not None
    if versions.target != record.target:
        return _superseded(record, now, history)
    finished = _described(_continued(record, report, {}, now), history)
    return structs.replace(finished, state=COMPLETED, completed=present)


def _superseded(record: Record, now: Moment, history: Sequence[UpdateHistory]) -> Record:
    item = _item(record, history)
    ended = rfc3339(moment(item.completion_time)) if item and item.completion_time else rfc3339(now)
    described = _described(record, history)
    return structs.replace(described, state=SUPERSEDED, completed=ended, troubles=_troubles(record.troubles, {}, now))


def _described(record: Record, history: Sequence[UpdateHistory]) -> Record:
    """`record` with what ClusterVersion's history says of its release."""
    if (item := _item(record, history)) is None:
        return record
    return structs.replace(
        record,
        image=item.image[:MOST_IMAGE],
        verified=item.verified,
        accepted_risks=shortened(item.accepted_risks, MOST_RISKS),
    )


def _item(record: Record, history: Sequence[UpdateHistory]) -> UpdateHistory | None:
    """The item of ClusterVersion's history that is this update."""
    same = (one for one in history if one.version == record.target and one.started_time)
    return next((one for one in same if rfc3339(moment(one.started_time)) == record.started), None)


def _differ(before: Record, after: Record) -> bool:
    """Apart from when troubles were last seen."""
    return _without_last_seen(before) != _without_last_seen(after)


def _without_last_seen(record: Record) -> Record:
    return structs.replace(record, troubles=[structs.replace(one, last_seen=None) for one in record.troubles])


def _without_nodes(record: Record) -> Record:
    return _lighter(record, "nodes", len(record.nodes))


def _without_troubles(record: Record) -> Record:
    return _lighter(record, "troubles", len(record.troubles))


def _lighter(record: Record, what: str, count: int) -> Record:
    if not count:
        return record
    omitted = "; ".join(filter(None, (record.omitted, f"{count} {what}")))
    emptied: dict[str, Any] = {what: [], "omitted": omitted}
    return structs.replace(record, **emptied)
