"""Writes a report as the status of UpdateStatus, and merges what stood before into it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, cast

import msgspec
from msgspec import Struct, structs

from windlass.api.update import (
    MOST_GAPS,
    MOST_POOLS,
    MOST_TEXT,
    MOST_UNASSIGNED,
    ControlPlaneEntry,
    ControlPlaneInformer,
    ControlPlaneStatus,
    Overview,
    OwnCondition,
    PoolStatus,
    UpdateStatusStatus,
    WorkerPoolEntry,
    WorkerPoolInformer,
    WorstLevel,
)
from windlass.api.update_insights import Name, Status
from windlass.update_status.constants import CONTROL_PLANE_POOLS, MASTER
from windlass.update_status.document.health_parts import causes
from windlass.update_status.document.informed import acceptable, portions, trouble
from windlass.update_status.document.limits import MOST_BYTES, within_limits
from windlass.update_status.document.plane_parts import VERSION_REF, assessed, percent, progressing_condition
from windlass.update_status.document.pool_parts import pool_condition, pool_ref
from windlass.update_status.document.rest import at_rest
from windlass.update_status.document.sections import CONTROL_PLANE, NI, Settled, sections, standing
from windlass.update_status.document.validity import holds
from windlass.update_status.document.writer import Writer, fitting
from windlass.update_status.estimate import progress
from windlass.update_status.report import Level, Pool, Report
from windlass.update_status.times import Moment

_MOST_ALERTS_MISSING: Final = 4096
_MOST_SAID: Final = 8192
_MOST_TARGET: Final = 256


class _Named(Struct, frozen=True):
    name: Name


def write(
    report: Report, *, now: Moment, previous: UpdateStatusStatus | None = None, settled: Settled | None = None
) -> UpdateStatusStatus:
    """The status of `report` at `now`.

    The insights of other programs' informers are written last, within their own budget; the condition InformersDegraded
    reports what was left out.
    Of `previous`, times are kept that move only with what they tell: acquiredAt with the content of an insight,
    lastTransitionTime with a status, the expected end by more than a minute and 5 %. What the API server would refuse,
    and what is beyond a limit, is left out; the condition Truncated says so. `settled` only saves work.
    """
    previous = previous or UpdateStatusStatus()
    writer, of_others, invalid = Writer(now, []), Writer(now, []), list[str]()
    report = structs.replace(report, informed=acceptable(report.informed, of_others))
    workers = _workers(report, writer, invalid)
    stood_plane = previous.control_plane.conditions if previous.control_plane else ()
    progressing = progressing_condition(report.control_plane, stood_plane, writer)
    gaps = tuple(writer.shortened(gap, MOST_TEXT, "a gap") for gap in _some(report.gaps, MOST_GAPS, "gaps", writer))
    alerts_missing = writer.shortened(report.alerts, _MOST_ALERTS_MISSING, "the line about alerts")
    named = [name for name in report.unassigned if holds(_Named(name))]
    unassigned = _some(named, MOST_UNASSIGNED, "nodes without a pool", writer)
    why = causes(report.causes, previous.causes, writer, invalid)
    before = standing(previous, Settled() if settled is None else settled)
    found = sections(report, workers, before, writer, invalid)
    resting = at_rest(
        workers, before.resting, {pool.name: before.nodes(pool.name) for pool in workers}, writer, invalid
    )
    budget = MOST_BYTES - len(
        msgspec.json.encode((progressing, why, gaps, alerts_missing, unassigned, [*resting.values()]))
    )
    entries, size = within_limits(found, writer.said, most_bytes=budget)
    before.settled.size = MOST_BYTES - budget + size
    kept = {(section.pool, section.informer): tuple(each) for section, each in zip(found, entries, strict=True)}
    has_master = any(pool.name == MASTER for pool in report.pools)
    others = portions(report, {pool.name for pool in workers}, before, of_others)
    stood = {pool.name: pool.conditions for pool in previous.worker_pools}
    status = UpdateStatusStatus(
        overview=_overview(report, now),
        control_plane=ControlPlaneStatus(
            conditions=(progressing,),
            resource=VERSION_REF,
            pool_resource=pool_ref(MASTER) if has_master else None,
            informers=(
                *(
                    ControlPlaneInformer(name=informer, insights=cast("tuple[ControlPlaneEntry, ...]", entries))
                    for (place, informer), entries in kept.items()
                    if place == CONTROL_PLANE
                ),
                *(
                    ControlPlaneInformer(
                        name=one.name,
                        namespace=one.namespace,
                        stale_since=one.stale_since,
                        insights=cast("tuple[ControlPlaneEntry, ...]", one.insights),
                    )
                    for one in others
                    if one.pool == CONTROL_PLANE
                ),
            ),
        ),
        worker_pools=tuple(
            PoolStatus(
                name=pool.name,
                resource=pool_ref(pool.name),
                conditions=(pool_condition(pool.summary, stood.get(pool.name, ()), writer),),
                informers=(
                    WorkerPoolInformer(name=NI, insights=cast("tuple[WorkerPoolEntry, ...]", kept[pool.name, NI])),
                    *(
                        WorkerPoolInformer(
                            name=one.name,
                            namespace=one.namespace,
                            stale_since=one.stale_since,
                            insights=cast("tuple[WorkerPoolEntry, ...]", one.insights),
                        )
                        for one in others
                        if one.pool == pool.name
                    ),
                ),
                nodes=resting[pool.name],
            )
            for pool in workers
        ),
        causes=why,
        gaps=gaps,
        alerts_missing=alerts_missing,
        unassigned_nodes=unassigned,
    )
    conditions = _own_conditions(report, previous.conditions, writer, invalid, of_others.said)
    return structs.replace(status, conditions=conditions)


def _workers(report: Report, writer: Writer, invalid: list[str]) -> list[Pool]:
    """The worker pools that are written. If there are too many, those that have most to do."""
    found: list[Pool] = []
    names = {MASTER}
    for pool in report.pools:
        if pool.name == MASTER:
            continue
        if pool.name in names or not holds(_Named(pool.name)):
            invalid.append(f"pool {pool.name[:63]!r}: it has no name of its own, or none that Kubernetes allows")
            continue
        names.add(pool.name)
        found.append(pool)
    if len(found) <= MOST_POOLS:
        return found
    writer.said.append(f"{len(found) - MOST_POOLS} pools were left out")
    busiest = sorted(found, key=lambda pool: (not pool.summary.left, not pool.summary.total))[:MOST_POOLS]
    return [pool for pool in found if pool in busiest]


def _some(texts: Sequence[str], most: int, what: str, writer: Writer) -> tuple[str, ...]:
    if len(texts) > most:
        writer.said.append(f"{len(texts) - most} {what} were left out")
    return tuple(texts[:most])


def _overview(report: Report, now: Moment) -> Overview:
    plane = report.control_plane
    found = progress(plane, now)
    workers = [pool.without_windows.summary for pool in report.pools if pool.name not in CONTROL_PLANE_POOLS]
    updated, managed = sum(one.updated for one in workers), sum(one.managed for one in workers)
    levels = Counter(insight.level for insight in report.insights)
    return Overview(
        state="Updating" if report.updating else "Idle",
        assessment=assessed(found),
        previous=fitting((plane.versions and plane.versions.previous) or "", _MOST_TARGET),
        target=fitting(plane.versions.target if plane.versions else "", _MOST_TARGET),
        completion_percent=percent(found),
        total_operators=len(plane.operators),
        operators_left=len(plane.operators) - plane.updated,
        total_workers=managed,
        workers_left=managed - updated,
        worst_level=_worst(levels),
        warning_insights=levels[Level.WARNING],
        error_insights=levels[Level.ERROR],
        critical_insights=levels[Level.CRITICAL],
    )


def _worst(levels: Counter[Level]) -> WorstLevel:
    if levels[Level.CRITICAL]:
        return "Critical"
    if levels[Level.ERROR]:
        return "Error"
    return "Warning" if levels[Level.WARNING] else "OK"


def _own_conditions(
    report: Report, before: tuple[OwnCondition, ...], writer: Writer, invalid: Sequence[str], of_others: list[str]
) -> tuple[OwnCondition, ...]:
    def own(
        kind: Literal["Available", "Degraded", "Truncated", "InformersDegraded"],
        status: Status,
        reason: Literal["AsExpected", "SourcesMissing", "LeftOut", "InvalidInsights", "NotAnswering"],
        message: str,
    ) -> OwnCondition:
        changed = writer.changed(before, kind, status)
        return OwnCondition(
            type=kind, status=status, reason=reason, message=fitting(message, _MOST_SAID), last_transition_time=changed
        )

    missing = [line for line in (report.alerts, *report.gaps) if line]
    left_out = list(dict.fromkeys((*invalid, *writer.said)))
    silent, why = trouble(report, of_others)
    informers = own("InformersDegraded", "False", "AsExpected", "")
    if why:
        informers = own("InformersDegraded", "True", "NotAnswering" if silent else "LeftOut", why)
    return (
        own("Available", "True", "AsExpected", ""),
        own("Degraded", "True", "SourcesMissing", "; ".join(missing))
        if missing
        else own("Degraded", "False", "AsExpected", ""),
        own("Truncated", "True", "InvalidInsights" if invalid else "LeftOut", "; ".join(left_out))
        if left_out
        else own("Truncated", "False", "AsExpected", ""),
        *((informers,) if report.informed or why else ()),
    )
