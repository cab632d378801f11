"""Tells the time by the clock of the API server: the date of its last answer, and what has passed since.

Times in objects are compared with this clock. That of the computer where a command runs may be hours off.
"""

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from windlass.kube.clock import Clock, SystemClock

HEADER: Final = "Date"


class ServerClock:
    """`clock` measures what has passed; until the server has answered, its date counts too."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._heard = ""
        self._date: datetime | None = None
        self._at = 0.0

    def hear(self, header: str) -> None:
        """Take the Date header of an answer that has just come; one that is no date changes nothing.

        It has whole seconds. Of several answers of the same second the first is nearest to it.
        """
        if not header or header == self._heard:
            return
        try:
            date = parsedate_to_datetime(header[:100])
        except ValueError:
            return
        if date.tzinfo is not None:
            self._heard, self._date, self._at = header, date, self._clock.monotonic()

    def now(self) -> datetime:
        """The date, with a time zone; a second early at most."""
        if self._date is None:
            return self._clock.now()
        return self._date + timedelta(seconds=self._clock.monotonic() - self._at)
