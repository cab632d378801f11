"""Finds the cause of an insight: the first cause that is about the same object, or affects it.

An insight that follows another object, as the alert of an operator does, is a symptom of what affects that object.
A pause explains that nodes wait, and not what would keep them once it ends.
"""

from collections.abc import Iterable

from msgspec import structs

from windlass.update_status.report import Cause, CauseKind, Insight, Report


def cause_of(insight: Insight, causes: Iterable[Cause]) -> Cause | None:
    """The cause of the insight; None: it stands for itself."""
    concerned = {*insight.resources, insight.follows}
    return next(
        (
            cause
            for cause in causes
            if not concerned.isdisjoint((*cause.about, *cause.affected))
            and not (cause.kind is CauseKind.PAUSE and insight.standstill)
        ),
        None,
    )


def as_bad_as_symptoms(report: Report) -> Report:
    """The report, in which no cause is less than the worst of its symptoms; a pause stays what somebody wants."""
    worst = {id(cause): cause.level for cause in report.causes}
    for insight in report.insights:
        cause = cause_of(insight, report.causes)
        if cause is not None and cause.kind is not CauseKind.PAUSE:
            worst[id(cause)] = max(worst[id(cause)], insight.level)
    return structs.replace(
        report, causes=tuple(structs.replace(cause, level=worst[id(cause)]) for cause in report.causes)
    )
