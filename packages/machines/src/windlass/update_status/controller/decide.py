"""Decides what the UpdateStatus, the records and the Events become: one decision about all of it, from one snapshot.

| seen | planned |
|---|---|
| the CRD is not installed | nothing |
| there is no UpdateStatus | create it; the next round fills it |
| it cannot be read | nothing; an error, because writing it could lose what a newer release wrote |
| ClusterVersion or operators cannot be read | the rest of the status stays, and Available says why |
| otherwise | the status, Events of phases, records that change: only what differs is written |

While an update is going on, time alone changes the report: it is made again when the next threshold is reached.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec
from msgspec import structs

from windlass.api.meta import Condition
from windlass.api.update import OwnCondition, UpdateStatus, UpdateStatusStatus
from windlass.api.update_record import FORMER, UpdateRecord
from windlass.kube.conditions import put
from windlass.kube.control.plan import Action, Create, Delete, Merge, MergeItems, Plan, RequeueAfter, Target, target
from windlass.kube.control.population import Population
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Present, Unreadable
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.causes.drains import long_drains
from windlass.update_status.controller.alerts import Answer, FiringAlerts
from windlass.update_status.controller.drains import WhatHolds
from windlass.update_status.controller.events import events
from windlass.update_status.controller.snapshot import UpdateStatusSnapshot
from windlass.update_status.document import drains_seen, health_insights, write
from windlass.update_status.history import CREATED, REFUSED, RUNNING, followed, kept
from windlass.update_status.record import Record, is_former, record_of, spec_of, status_of
from windlass.update_status.report import Report
from windlass.update_status.sources import Known, Sources, Unknown
from windlass.update_status.times import Moment, of_datetime

NAME: Final = "cluster"

AGAIN: Final = 60.0
"""Seconds after which a report is made again during an update: estimates and thresholds are told in minutes."""


def decide(seen: UpdateStatusSnapshot, *, now: datetime) -> Plan:
    match seen.stored:
        case NotServedKind(why=why):
            return Plan.nothing(f"UpdateStatus is not served: {why}")
        case Unreadable(why=why):
            return Plan().retry(f"UpdateStatus {NAME} cannot be read: {why}: correct or delete it")
        case Present() as stored:
            return _kept_up(seen, stored, now)
    why = "updates are reported in it"
    return Plan.of(Create(target=Target(UpdateStatus, NAME), body={"spec": {}}, why=why))


def _kept_up(seen: UpdateStatusSnapshot, stored: Present[UpdateStatus], now: datetime) -> Plan:
    before = stored.object.status
    report = _report(seen, before, of_datetime(now))
    if isinstance(report, Unknown):
        return Plan.of(_status(stored, _unavailable(before, report.reason, now)))
    after = write(report, now=of_datetime(now), previous=before, settled=seen.settled)
    plan = Plan.of(_status(stored, after), *_recorded(seen, stored, report, after, now))
    return plan.then(RequeueAfter(AGAIN, "estimates and thresholds")) if report.updating else plan


def _report(seen: UpdateStatusSnapshot, before: UpdateStatusStatus, now: Moment) -> Known[Report]:
    # First, since the decision is made again with the answer.
    alerts = seen.need(FiringAlerts()) if _is_updating(seen.sources) or _is_recording(seen.records) else Answer()
    if isinstance(seen.sources, Unknown):
        return seen.sources
    sources = structs.replace(
        seen.sources,
        alerts=alerts.found,
        alerts_trouble=alerts.trouble,
        records=tuple(map(record_of, seen.records.readable)) if isinstance(seen.records, Population) else (),
        informed=seen.informants.insights(before, now=now) if seen.informants else (),
    )
    report = _assessed(sources, now)
    if isinstance(report, Unknown) or not report.updating:
        return report
    nodes = long_drains(report, now=now, seen=drains_seen(before))
    return _assessed(structs.replace(sources, workload=seen.need(WhatHolds(nodes))), now) if nodes else report


def _assessed(sources: Sources, now: Moment) -> Known[Report]:
    try:
        return assess(sources, now=now)
    except Problem as problem:
        return Unknown(str(problem))


def _is_updating(sources: Known[Sources]) -> bool:
    if isinstance(sources, Unknown):
        return False
    conditions = sources.cluster_version.status.conditions
    return any(one.type == "Progressing" and one.status == "True" for one in conditions)


def _is_recording(records: Population[UpdateRecord] | NotServedKind | ForbiddenKind) -> bool:
    """Pools are updated after ClusterVersion is."""
    return isinstance(records, Population) and any(record_of(record).state in RUNNING for record in records.readable)


def _status(stored: Present[UpdateStatus], after: UpdateStatusStatus) -> Action:
    return MergeItems(
        target=target(stored),
        part="status",
        observed={"status": stored.tree.get("status") or {}},
        desired={"status": msgspec.to_builtins(after)},
        why="the report changed",
    )


def _unavailable(before: UpdateStatusStatus, why: str, now: datetime) -> UpdateStatusStatus:
    """What was known stays, and is not to be relied on."""
    new = Condition(type="Available", status="False", reason="SourcesMissing", message=f"There is no report: {why}")
    return structs.replace(before, conditions=tuple[OwnCondition, ...](put(before.conditions, new, now=now)))


def _recorded(
    seen: UpdateStatusSnapshot, stored: Present[UpdateStatus], report: Report, after: UpdateStatusStatus, now: datetime
) -> Iterator[Action]:
    """Each record after its Events: if the process ends in between, they are sent again rather than never."""
    if not isinstance(seen.records, Population):
        return
    known = {each.metadata.name: each for each in seen.records if isinstance(each, Present)}
    if former := [each for each in known.values() if is_former(each.object)]:
        # Until they are as records are now, nothing is added to them.
        yield from map(_moved, former)
        return
    records = [record_of(each.object) for each in known.values()]
    known_nodes = isinstance(seen.sources, Sources) and seen.sources.nodes_known
    past = seen.sources.cluster_version.status.history if isinstance(seen.sources, Sources) else ()
    changed = followed(
        records, report, health_insights(after), now=of_datetime(now), nodes_known=known_nodes, history=past
    )
    for record in changed:
        if (before := known.get(record.name)) is None:
            yield from _created(record, stored)
            continue
        yield from events(target(stored), record_of(before.object), record)
        yield _told(record, before, "something began or ended")
    if changed:
        newest = {**{one.name: one for one in records}, **{one.name: one for one in changed}}
        yield from _tidied(newest.values(), known)


def _created(record: Record, stored: Present[UpdateStatus]) -> Iterator[Action]:
    """The record with its name alone: the API server takes no status with it. The next round writes that."""
    blank = Record(
        name=record.name, previous=record.previous, target=record.target, state=CREATED, started=record.started
    )
    if record.state != REFUSED:
        yield from events(target(stored), None, blank)
    why = f"the update to {record.target} began"
    yield Create(target=Target(UpdateRecord, record.name), body={"spec": spec_of(record)}, why=why)


def _told(record: Record, before: Present[UpdateRecord], why: str) -> Action:
    observed, desired = {"status": before.tree.get("status") or {}}, {"status": status_of(record)}
    return MergeItems(target=target(before), part="status", observed=observed, desired=desired, why=why)


def _moved(before: Present[UpdateRecord]) -> Action:
    """The next write that a record of an earlier version needs: its fields count until they are in spec and status."""
    record = record_of(before.object)
    why = "a record has spec and status"
    if before.tree.get("spec") != spec_of(record):
        observed, desired = {"spec": before.tree.get("spec")}, {"spec": spec_of(record)}
        return Merge(target=target(before), observed=observed, desired=desired, why=why)
    if (before.tree.get("status") or {}) != status_of(record):
        return _told(record, before, why)
    former = {key: value for key, value in before.tree.items() if key in FORMER}
    return Merge(target=target(before), observed=former, desired={}, why=why)


def _tidied(records: Iterable[Record], known: dict[str, Present[UpdateRecord]]) -> Iterator[Action]:
    lighter, gone = kept(records)
    for record in lighter:
        if (before := known.get(record.name)) is not None:
            yield _told(record, before, "records are kept small")
    for record in gone:
        if (before := known.get(record.name)) is not None:
            yield Delete(target=target(before), why="newer updates are kept")
