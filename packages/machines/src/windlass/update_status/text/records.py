"""Renders records of updates: a line for each, or one in full."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from windlass.api.update_record import NodeTook, Took, Trouble, UpdateRecord
from windlass.update_status.text.safe import safe_table
from windlass.update_status.times import SECOND, Moment, moment, short, since, truncated

_UNKNOWN: Final = "-"

Entry = TypeVar("Entry", Took, NodeTook)


def newest_first(records: Iterable[UpdateRecord]) -> list[UpdateRecord]:
    """In the order in which they are numbered, from 1."""
    return sorted(records, key=lambda record: (moment(record.started), record.metadata.name), reverse=True)


def render_records(records: Sequence[UpdateRecord], *, now: Moment) -> str:
    """A line for each, in the order given."""
    rows = [
        (
            str(number),
            record.previous or "none",
            record.target,
            record.state,
            record.started,
            _took(record.started, record.control_plane_completed, now),
            _took(record.started, record.completed, now),
            _slowest(record.operators, now),
            _problems(record),
        )
        for number, record in enumerate(records, start=1)
    ]
    heading = (
        "#",
        "FROM",
        "TO",
        "STATE",
        "STARTED",
        "CONTROL PLANE",
        "ALL",
        "SLOWEST",
        "ISSUES",
    )
    return safe_table(heading, rows)


def render_record(record: UpdateRecord, *, now: Moment) -> str:
    """One in full: what took how long, the slowest first, and what went wrong."""
    origin = f" from {record.previous}" if record.previous else ""
    ended = f", {record.state.lower()} {record.completed}" if record.completed else ", in progress"
    sections = [
        f"Update{origin} to {record.target}: started {record.started}{ended}\n"
        f"Control plane: {_took(record.started, record.control_plane_completed, now)}, "
        f"all of the cluster: {_took(record.started, record.completed, now)}\n",
        _durations("OPERATOR", record.operators, now),
        _durations("POOL", record.pools, now),
        _nodes(record.nodes, now),
        _troubles(record.troubles, now),
        f"Left out to keep records small: {record.omitted}\n" if record.omitted else "",
    ]
    return "\n".join(filter(None, sections))


def _durations(title: str, entries: Sequence[Took], now: Moment) -> str:
    rows = [
        (one.name, one.started or _UNKNOWN, _took(one.started, one.completed, now), _state(one))
        for one in _by_duration(entries, now)
    ]
    return safe_table((title, "STARTED", "DURATION", "STATE"), rows) if rows else ""


def _nodes(entries: Sequence[NodeTook], now: Moment) -> str:
    rows = [
        (one.name, one.pool, one.started or _UNKNOWN, _took(one.started, one.completed, now), _state(one))
        for one in _by_duration(entries, now)
    ]
    return safe_table(("NODE", "POOL", "STARTED", "DURATION", "STATE"), rows) if rows else ""


def _troubles(troubles: Sequence[Trouble], now: Moment) -> str:
    rows = [
        (
            one.level,
            one.first_seen or _UNKNOWN,
            _took(one.first_seen, one.resolved, now),
            "resolved" if one.resolved else "open",
            one.summary,
        )
        for one in troubles
    ]
    return safe_table(("LEVEL", "FIRST SEEN", "LASTED", "STATE", "MESSAGE"), rows) if rows else ""


def _state(one: Took | NodeTook) -> str:
    return "updated" if one.completed else "updating"


def _problems(record: UpdateRecord) -> str:
    still = sum(one.resolved is None for one in record.troubles)
    count = len(record.troubles)
    return f"{count} ({still} open)" if still else str(count)


def _slowest(entries: Sequence[Took], now: Moment) -> str:
    longest = next(iter(_by_duration(entries, now)), None)
    if longest is None or longest.started is None:
        return _UNKNOWN
    return f"{longest.name} {_took(longest.started, longest.completed, now)}"


def _by_duration(entries: Sequence[Entry], now: Moment) -> list[Entry]:
    def duration(one: Entry) -> tuple[int, str]:
        if one.started is None:
            return 1, one.name
        return -since(moment(one.started), moment(one.completed) if one.completed else now), one.name

    return sorted(entries, key=duration)


def _took(started: str | None, ended: str | None, now: Moment) -> str:
    """How long; with a `+` while it goes on, and `-` if it is not known when it began."""
    if started is None:
        return _UNKNOWN
    took = max(0, truncated(since(moment(started), now if ended is None else moment(ended)), SECOND))
    return (short(took) if took else "0s") + ("+" if ended is None else "")
