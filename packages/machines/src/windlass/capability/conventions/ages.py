"""Writes ages as kubectl does: `45s`, `5m30s`, `3h12m`, `26h`, `12d`, `2y30d`."""

from datetime import datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def age(since: str | None, now: datetime) -> str:
    """From the RFC 3339 time `since` until `now`; `<unknown>` if it is no time, `0s` if it lies ahead."""
    try:
        seconds = int((now - datetime.fromisoformat(since or "")).total_seconds())
    except (ValueError, TypeError):
        return "<unknown>"
    return human(max(seconds, 0))


def human(seconds: int) -> str:
    """At most two units; the second only while it matters."""
    minutes, hours, days = seconds // _MINUTE, seconds // _HOUR, seconds // _DAY
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(minutes, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{minutes}m"
    if seconds < 8 * _HOUR:
        return _two(hours, "h", seconds % _HOUR // _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{hours}h"
    if seconds < 8 * _DAY:
        return _two(days, "d", seconds % _DAY // _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{days}d"
    if seconds < 8 * _YEAR:
        return _two(seconds // _YEAR, "y", seconds % _YEAR // _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}" + (f"{small}{small_unit}" if small else "")
