"""Reads how long another system asks us to wait, and believes no more than five minutes.

API servers and clouds ask for seconds. Load balancers and maintenance pages ask for hours or a day, and the service
behind them is often back much earlier.

>>> retry_after("7"), retry_after("86400"), retry_after("soon")
(7.0, 300.0, None)
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_PAUSE = 300.0
"""Seconds."""


def retry_after(header: str | None, *, now: datetime | None = None) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or as a date; None if it cannot be read."""
    text = (header or "").strip()
    try:
        return bounded(float(text) if text.isdigit() else _until(text, now or datetime.now(UTC)))
    except (ValueError, TypeError, OverflowError):
        return None


def bounded(seconds: float) -> float:
    """`seconds` that another system asks for, within what is believed."""
    return float(min(max(seconds, 0), LONGEST_PAUSE))


def _until(date: str, now: datetime) -> float:
    moment = parsedate_to_datetime(date)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
