"""Sessions of people who signed in with a token: in memory, so that a restart ends them all.

The browser has a random number in a cookie that scripts cannot read; the token itself stays here.
"""

import secrets
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from windlass.kube.clock import Clock, SystemClock

MOST: Final = 1000
"""Sessions at the same time; the one that was not used for the longest time makes room for another."""
LONGEST: Final = 12 * 3600.0
"""Seconds that a session lasts, however much it is used."""
IDLE: Final = 3600.0
"""Seconds without a request after which it ends."""


class Session(Struct, frozen=True):
    """`until`: when it ends at the latest, in seconds of the clock."""

    user: str
    token: str
    until: float

    def __repr__(self) -> str:
        return f"<Session of {self.user}>"


class Sessions:
    """See the module."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._sessions: OrderedDict[str, tuple[Session, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, user: str, token: str) -> str:
        """A new session; returns its number."""
        number = secrets.token_urlsafe(32)
        now = self._clock.monotonic()
        self._sessions[number] = Session(user, token, now + LONGEST), now
        while len(self._sessions) > MOST:
            self._sessions.popitem(last=False)
        return number

    def use(self, number: str) -> Session | None:
        """The session of this number, which counts as used now; None if there is none any more."""
        session, used = self._sessions.get(number, (None, 0.0))
        now = self._clock.monotonic()
        if session is None:
            return None
        if now >= session.until or now - used >= IDLE:
            self.close(number)
            return None
        self._sessions[number] = session, now
        self._sessions.move_to_end(number)
        return session

    def close(self, number: str) -> None:
        """End the session, if it exists."""
        self._sessions.pop(number, None)
