"""Writes the causes of a report."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import structs

from windlass.api.update import MOST_ABOUT_CAUSE, MOST_AFFECTED, MOST_CAUSES, MOST_TEXT, CauseEntry
from windlass.api.update_insights import MOST_RESOURCES
from windlass.update_status.document.insights import about_ref
from windlass.update_status.document.uids import cause_uids
from windlass.update_status.document.validity import trouble
from windlass.update_status.document.writer import Writer, written
from windlass.update_status.report import Cause, Level, Reference
from windlass.update_status.times import ZERO


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
    started, source = _start(cause, before, writer)
    entry = CauseEntry(
        uid=uid,
        acquired_at=written(writer.now),
        type=cause.kind.value,
        level=_LEVELS[cause.level],
        summary=writer.shortened(cause.summary, MOST_TEXT, what),
        description=writer.shortened(cause.description, MOST_ABOUT_CAUSE, f"the description of {what}"),
        remedy=writer.shortened(cause.remedy, MOST_TEXT, f"the remedy of {what}"),
        started_at=started,
        start_source=source,
        about=tuple(map(about_ref, _some(cause.about, MOST_RESOURCES, what, writer))),
        affected=tuple(map(about_ref, _some(cause.affected, MOST_AFFECTED, what, writer))),
    )
    if before is None:
        return entry
    as_before = structs.replace(entry, acquired_at=before.acquired_at)
    return before if as_before == before else entry


def _some(found: tuple[Reference, ...], most: int, what: str, writer: Writer) -> tuple[Reference, ...]:
    if len(found) > most:
        writer.said.append(f"{len(found) - most} objects of {what} were left out")
    return found[:most]


def _start(cause: Cause, before: CauseEntry | None, writer: Writer) -> tuple[str, Literal["Reported", "FirstSeen"]]:
    if cause.started is not None and cause.started != ZERO:
        return written(cause.started), "Reported"
    if before is not None and before.start_source == "FirstSeen":
        return before.started_at, "FirstSeen"
    return written(writer.now), "FirstSeen"


_LEVELS: Final[dict[Level, Literal["Info", "Warning", "Error", "Critical"]]] = {
    Level.INFO: "Info",
    Level.WARNING: "Warning",
    Level.ERROR: "Error",
    Level.CRITICAL: "Critical",
}
