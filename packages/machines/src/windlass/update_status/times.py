"""Moments and durations as Go programs compute and print them.

A moment is a number of nanoseconds since 1970, a duration a number of nanoseconds. `oc` computes with Go's types, and
its output shows their limits: the zero time is in the year 1, differences saturate, sums wrap around.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Final, TypeAlias

Moment: TypeAlias = Annotated[int, "moment"]
Duration: TypeAlias = int

SECOND: Final = 10**9
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

ZERO: Final[Moment] = -62135596800 * SECOND
"""Go's zero time, 0001-01-01T00:00:00Z: the value of a field that is missing."""

_DAYS_OF_400_YEARS: Final = 146097
_MOST: Final = 2**63 - 1
_LEAST: Final = -(2**63)

_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))")
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_UNITS: Final = {"ns": 1, "us": 1000, "µs": 1000, "ms": 10**6, "s": SECOND, "m": MINUTE, "h": HOUR}


@lru_cache(maxsize=4096)  # each round reads the times of the same conditions
def moment(text: str | None) -> Moment:
    """The moment that an RFC 3339 text names, to the nanosecond; ZERO for None and "". Raises ValueError.

    >>> moment("1970-01-01T00:00:01.5Z")
    1500000000
    """
    if not text:
        return ZERO
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time: write it as 2024-02-27T15:42:58Z")
    year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = found.groups()
    try:
        whole = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None
    offset = (int(zone_hours or 0) * 60 + int(zone_minutes or 0)) * (-1 if sign == "-" else 1)
    since_zero = (whole - _YEAR_1).days * 86400 + (whole - _YEAR_1).seconds - offset * 60
    return ZERO + since_zero * SECOND + int((fraction or "")[:9].ljust(9, "0"))


def known_moment(text: str | None) -> Moment | None:
    """The same, but None for a time that is missing or zero."""
    when = moment(text)
    return None if when == ZERO else when


_YEAR_1: Final = datetime(1, 1, 1, tzinfo=UTC)


def of_datetime(when: datetime) -> Moment:
    """The moment of a date with a time zone."""
    passed = when - _YEAR_1
    return ZERO + (passed.days * 86400 + passed.seconds) * SECOND + passed.microseconds * 1000


@lru_cache(maxsize=4096)
def rfc3339(when: Moment) -> str:
    """UTC and whole seconds, as Go prints a time: `2024-02-27T15:42:58Z`."""
    seconds = (when - ZERO) // SECOND
    days, rest = divmod(seconds, 86400)
    # A zone can move a time out of the years that Python knows; the calendar repeats itself.
    cycles, days = divmod(days, _DAYS_OF_400_YEARS)
    date = datetime.fromordinal(days + 1)
    return f"{date.year + 400 * cycles:04}-{date:%m-%d}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"


def rfc3339_nano(when: Moment) -> str:
    """The same with the fraction of a second, if there is one, without trailing zeros."""
    fraction = when % SECOND
    return rfc3339(when) if not fraction else f"{rfc3339(when)[:-1]}.{fraction:09}".rstrip("0") + "Z"


def since(start: Moment, end: Moment) -> Duration:
    """`end - start`; it saturates at 64 bits."""
    return max(_LEAST, min(_MOST, end - start))


def wrapped(duration: Duration) -> Duration:
    """A sum or product of durations, which wraps around at 64 bits."""
    return (duration + 2**63) % 2**64 - 2**63


def rounded(duration: Duration, unit: Duration) -> Duration:
    """To the nearest multiple of `unit`, half away from zero; it saturates at 64 bits."""
    remainder = abs(duration) % unit
    size = abs(duration) - remainder + (unit if remainder * 2 >= unit else 0)
    return max(_LEAST, min(_MOST, -size if duration < 0 else size))


def truncated(duration: Duration, unit: Duration) -> Duration:
    """To a multiple of `unit`, toward zero."""
    size = abs(duration) - abs(duration) % unit
    return -size if duration < 0 else size


def text(duration: Duration) -> str:
    """As Go prints a duration.

    >>> text(84 * MINUTE), text(2 * MINUTE + 368975), text(368975)
    ('1h24m0s', '2m0.000368975s', '368.975µs')
    """
    if duration < 0:
        return "-" + text(-duration)
    if duration < SECOND:
        if not duration:
            return "0s"
        size, unit = next((size, unit) for size, unit in ((10**6, "ms"), (1000, "µs"), (1, "ns")) if duration >= size)
        return _decimal(duration, size) + unit
    hours, rest = divmod(duration, HOUR)
    minutes, seconds = divmod(rest, MINUTE)
    shown = _decimal(seconds, SECOND) + "s"
    if hours or minutes:
        shown = f"{minutes}m{shown}"
    return f"{hours}h{shown}" if hours else shown


def short(duration: Duration) -> str:
    """As `oc` shortens a duration, with its defect: a fraction is cut off together with the unit that it has.

    >>> short(0), short(2 * HOUR), short(84 * MINUTE), short(45 * SECOND + 368975), short(368975)
    ('now', '2h', '1h24m', '45s', '6m8s')
    """
    shown = text(duration)
    if shown == "0s":
        return "now"
    if shown.endswith("h0m0s"):
        return shown[: -len("0m0s")]
    if shown.endswith("m0s"):
        return shown[: -len("0s")]
    if "." in shown:
        return short(_parse(shown[: shown.index(".")] + "s"))
    return shown


def _decimal(value: int, size: int) -> str:
    whole, fraction = divmod(value, size)
    digits = f"{fraction:0{len(str(size)) - 1}}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def _parse(shown: str) -> Duration:
    sign = -1 if shown.startswith("-") else 1
    return sign * sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(shown))
