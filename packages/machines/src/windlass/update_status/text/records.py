"""Renders records of updates: a line for each, or one in full."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from windlass.api.update_record import MOST_RISKS, NodeTook, Took, Trouble
from windlass.kube.foreign import one_line
from windlass.update_status.record import Record
from windlass.update_status.text.safe import safe_table
from windlass.update_status.times import SECOND, Moment, moment, short, since, truncated

_UNKNOWN: Final = "-"

Entry = TypeVar("Entry", Took, NodeTook)


def newest_first(records: Iterable[Record]) -> list[Record]:
    """In the order in which they are numbered, from 1."""
    return sorted(records, key=lambda record: (moment(record.started), record.name), reverse=True)


def render_records(records: Sequence[Record], *, now: Moment) -> str:
    """A line for each, in the order given."""
    rows = [
        (
            str(number),
            record.previous or "none",
            record.target,
            record.state,
            yes_or_no(record.verified) or _UNKNOWN,
            record.started,
            _took(record.started, record.control_plane_completed or record.completed, now),
            _took(record.started, record.completed, now),
            _slowest(record, now),
            _problems(record),
        )
        for number, record in enumerate(records, start=1)
    ]
    heading = (
        "#",
        "FROM",
        "TO",
        "STATE",
        "VERIFIED",
        "STARTED",
        "CONTROL PLANE",
        "ALL",
        "SLOWEST",
        "ISSUES",
    )
    return safe_table(heading, rows)


def render_record(record: Record, *, now: Moment) -> str:
    """One in full: what took how long, the slowest first, and what went wrong."""
    origin = f" from {record.previous}" if record.previous else ""
    ended = f", {record.state.lower()} {record.completed}" if record.completed else ", in progress"
    sections = [
        f"Update{origin} to {record.target}: started {record.started}{ended}\n"
        f"Control plane: {_took(record.started, record.control_plane_completed or record.completed, now)}, "
        f"all of the cluster: {_took(record.started, record.completed, now)}\n" + _release(record),
        _durations("OPERATOR", record.operators, record, now),
        _durations("POOL", record.pools, record, now),
        _nodes(record, now),
        _troubles(record.troubles, now),
        f"Left out to keep records small: {record.omitted}\n" if record.omitted else "",
    ]
    return "\n".join(filter(None, sections))


def yes_or_no(known: bool | None) -> str:
    """Empty if it is not known."""
    return "" if known is None else ("yes" if known else "no")


def _release(record: Record) -> str:
    """What is known of the release, a line for each; texts of others stay on their line."""
    facts = {
        "Image": record.image,
        "Verified": yes_or_no(record.verified),
        "Accepted risks": one_line(record.accepted_risks, MOST_RISKS),
    }
    return "".join(f"{name}: {fact}\n" for name, fact in facts.items() if fact)


def _durations(title: str, entries: Sequence[Took], record: Record, now: Moment) -> str:
    rows = [
        (one.name, one.started or _UNKNOWN, _took(one.started, _end(one, record), now), _state(one, record))
        for one in _by_duration(entries, record, now)
    ]
    return safe_table((title, "STARTED", "DURATION", "STATE"), rows) if rows else ""


def _nodes(record: Record, now: Moment) -> str:
    rows = [
        (one.name, one.pool, one.started or _UNKNOWN, _took(one.started, _end(one, record), now), _state(one, record))
        for one in _by_duration(record.nodes, record, now)
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


def _end(one: Took | NodeTook, record: Record) -> str | None:
    """When a part of an update ended; with the update at the latest."""
    return one.completed or record.completed


def _state(one: Took | NodeTook, record: Record) -> str:
    if one.completed:
        return "updated"
    return "not updated" if record.completed else "updating"


def _problems(record: Record) -> str:
    still = sum(one.resolved is None for one in record.troubles)
    count = len(record.troubles)
    return f"{count} ({still} open)" if still else str(count)


def _slowest(record: Record, now: Moment) -> str:
    longest = next(iter(_by_duration(record.operators, record, now)), None)
    if longest is None or longest.started is None:
        return _UNKNOWN
    return f"{longest.name} {_took(longest.started, _end(longest, record), now)}"


def _by_duration(entries: Sequence[Entry], record: Record, now: Moment) -> list[Entry]:
    def duration(one: Entry) -> tuple[int, str]:
        if one.started is None:
            return 1, one.name
        end = _end(one, record)
        return -since(moment(one.started), moment(end) if end else now), one.name

    return sorted(entries, key=duration)


def _took(started: str | None, ended: str | None, now: Moment) -> str:
    """How long; with a `+` while it goes on, and `-` if it is not known when it began."""
    if started is None:
        return _UNKNOWN
    took = max(0, truncated(since(moment(started), now if ended is None else moment(ended)), SECOND))
    return (short(took) if took else "0s") + ("+" if ended is None else "")
