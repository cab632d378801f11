"""What needs attention, and why things wait, as insights and causes, and back. `before` is the same as it stands."""

from collections.abc import Iterable, Iterator

from msgspec import structs

from windlass.api.update import MOST_ABOUT_CAUSE, MOST_AFFECTED, MOST_CAUSES, MOST_TEXT, CauseEntry
from windlass.api.update_insights import (
    MOST_RESOURCES,
    MOST_SUMMARY,
    AboutRef,
    HealthInsight,
    InsightImpact,
    InsightRemediation,
    InsightScope,
)
from windlass.update_status.assessment.alerts import NO_RUNBOOK
from windlass.update_status.assessment.insights import is_of_the_present
from windlass.update_status.constants import ALERTS
from windlass.update_status.document.uids import cause_uids
from windlass.update_status.document.validity import holds, trouble
from windlass.update_status.document.writer import Writer, settled_estimate, written, written_if_known
from windlass.update_status.report import (
    LEVELS,
    Cause,
    CauseKind,
    Impact,
    InformerInsight,
    Insight,
    Level,
    Reference,
    Scope,
)
from windlass.update_status.times import Moment, known_moment, moment


def about_ref(one: Reference) -> AboutRef:
    return AboutRef(group=one.group or None, resource=one.resource, name=one.name, namespace=one.namespace or None)


def reference_of(found: AboutRef) -> Reference:
    return Reference(found.group or "", found.resource, found.name, found.namespace or "")


# What needs attention.


def health_insight(insight: Insight, before: HealthInsight | None, writer: Writer) -> HealthInsight:
    what = f"{insight.summary[:80]!r}"
    started, seen = _start(insight, before, writer)
    reference = insight.reference if holds(InsightRemediation(reference=insight.reference)) else None
    if len(insight.resources) > MOST_RESOURCES:
        writer.said.append(f"{len(insight.resources) - MOST_RESOURCES} objects of {what} were left out")
    if reference is None and insight.reference not in ("", NO_RUNBOOK):
        writer.said.append(f"the link of {what} was left out: it is no URL of http or https")
    return HealthInsight(
        started_at=started,
        first_seen_at=seen,
        scope=InsightScope(
            type=insight.scope.value,
            resources=tuple(map(about_ref, insight.resources[:MOST_RESOURCES])),
        ),
        impact=InsightImpact(
            level=insight.level.title,
            type=insight.impact.value,
            summary=writer.shortened(insight.summary, MOST_SUMMARY, what),
            description=writer.message(insight.description, what),
        ),
        remediation=InsightRemediation(
            reference=reference, text=writer.shortened(insight.remedy, MOST_SUMMARY, f"the remedy of {what}")
        ),
        follows=None if insight.follows is None else about_ref(insight.follows),
    )


def informer_insight(told: InformerInsight, before: HealthInsight | None, writer: Writer) -> HealthInsight:
    insight = health_insight(told.insight, before, writer)
    stood = before.remediation.estimated_finish if before else None
    finish = None if told.finish is None else settled_estimate(told.finish, before=stood, now=writer.now)
    return structs.replace(insight, remediation=structs.replace(insight.remediation, estimated_finish=finish))


def _start(insight: Insight, before: HealthInsight | None, writer: Writer) -> tuple[str | None, str]:
    """When it began, and when it was first seen. A start that `oc` counts from the present is none."""
    unknown = insight.started is None or is_of_the_present(insight.summary)
    return None if unknown else written_if_known(insight.started), _first_seen(before) or written(writer.now)


def _first_seen(before: HealthInsight | CauseEntry | None) -> str:
    """Of objects of before `firstSeenAt`, a start is the best that there is."""
    return (before.first_seen_at or before.started_at or "") if before else ""


def insight_of(found: HealthInsight, pool: str, now: Moment) -> Insight:
    """`now`: the start of insights that `oc` counts from the present."""
    reported = found.started_at if found.start_source in ("", "Reported") else None
    started = now if is_of_the_present(found.impact.summary) else known_moment(reported)
    of_alert = any(one.resource == ALERTS for one in found.scope.resources)
    return Insight(
        level=LEVELS.get(found.impact.level, Level.INFO),
        impact=Impact(found.impact.type),
        summary=found.impact.summary,
        description=found.impact.description,
        reference=found.remediation.reference or (NO_RUNBOOK if of_alert else ""),
        started=started,
        first_seen=moment(_first_seen(found)) if started is None else None,
        scope=Scope(found.scope.type),
        pool=pool,
        resources=tuple(map(reference_of, found.scope.resources)),
        remedy=found.remediation.text,
        follows=None if found.follows is None else reference_of(found.follows),
    )


# Why things wait.


def causes(
    found: Iterable[Cause], before: Iterable[CauseEntry], writer: Writer, invalid: list[str]
) -> tuple[CauseEntry, ...]:
    """The causes as entries: the worst if there are too many. Of `before`, times are kept that still hold.

    What the API server would refuse is appended to `invalid`, in words.
    """
    found = list(found)
    stood = {entry.uid: entry for entry in before}
    named = list(zip(cause_uids(found), found, strict=True))
    if len(named) > MOST_CAUSES:
        writer.said.append(f"{len(named) - MOST_CAUSES} causes were left out")
        kept = {uid for uid, _ in sorted(named, key=lambda one: -one[1].level)[:MOST_CAUSES]}
        named = [one for one in named if one[0] in kept]
    return tuple(_valid((_entry(uid, cause, stood.get(uid), writer) for uid, cause in named), invalid))


def _valid(entries: Iterable[CauseEntry], invalid: list[str]) -> Iterator[CauseEntry]:
    for entry in entries:
        if why := trouble(entry):
            invalid.append(f"cause {entry.summary[:64]!r}: {why}")
        else:
            yield entry


def _entry(uid: str, cause: Cause, before: CauseEntry | None, writer: Writer) -> CauseEntry:
    what = f"the cause {cause.summary[:80]!r}"
    entry = CauseEntry(
        uid=uid,
        acquired_at=written(writer.now),
        type=cause.kind.value,
        level=cause.level.title,
        summary=writer.shortened(cause.summary, MOST_TEXT, what),
        description=writer.shortened(cause.description, MOST_ABOUT_CAUSE, f"the description of {what}"),
        remedy=writer.shortened(cause.remedy, MOST_TEXT, f"the remedy of {what}"),
        started_at=written_if_known(cause.started),
        first_seen_at=_first_seen(before) or written(writer.now),
        about=_some(cause.about, MOST_RESOURCES, what, writer),
        affected=_some(cause.affected, MOST_AFFECTED, what, writer),
    )
    if before is None:
        return entry
    as_before = structs.replace(entry, acquired_at=before.acquired_at)
    return before if as_before == before else entry


def _some(found: tuple[Reference, ...], most: int, what: str, writer: Writer) -> tuple[AboutRef, ...]:
    if len(found) > most:
        writer.said.append(f"{len(found) - most} objects of {what} were left out")
    return tuple(map(about_ref, found[:most]))


def cause_of_entry(found: CauseEntry) -> Cause:
    started = known_moment(found.started_at if found.start_source in ("", "Reported") else None)
    return Cause(
        kind=CauseKind(found.type),
        level=LEVELS[found.level],
        summary=found.summary,
        description=found.description,
        remedy=found.remedy,
        started=started,
        first_seen=moment(_first_seen(found)) if started is None else None,
        about=tuple(map(reference_of, found.about)),
        affected=tuple(map(reference_of, found.affected)),
    )
