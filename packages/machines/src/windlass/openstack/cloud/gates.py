"""Gates: whether a service may be asked now, and whether a quota may be tried.

| gate | closes for |
|---|---|
| `identity` | no token: wrong credentials, or Keystone does not answer or limits requests |
| a service (`compute`) | limited requests (429), no answer (502, 503, 504, no connection), new tokens refused |
| `quota:network/ports` | a quota that is used up: for requests that create one of these |

A gate closes for the pause that was asked for, or for one that grows with each failure in a row. After that one request
may try; the others wait for its answer. A success opens the gate, unless it answers an earlier request.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field

from windlass.openstack.cloud.failures import CloudFailure, NotSent, OverQuota, Throttled, Unauthenticated, Unavailable
from windlass.openstack.cloud.inventory import Closed
from windlass.openstack.cloud.wire import Http

IDENTITY: Final = "identity"
_SERVICE_IS_DOWN: Final = (0, 502, 503, 504)


def quota_gate(request: Http) -> str:
    """The name of the gate for a request that creates something: each kind of resource has a quota of its own."""
    return f"quota:{request.service}/{request.path.rpartition('/')[2]}"


class Pauses(Struct, frozen=True, kw_only=True):
    """The first and the longest pause, in seconds; each is twice the one before. `trial`: the time for one to try.

    A service that is down is tried again soon, by one request, so that a new object is served soon after it is back.
    Objects that have waited for long come back later than the gate opens (`Trouble.due`).
    """

    unavailable: tuple[float, float] = (1.0, 15.0)
    throttled: tuple[float, float] = (1.0, 300.0)
    quota: tuple[float, float] = (60.0, 600.0)
    credentials: tuple[float, float] = (300.0, 300.0)
    trial: float = 30.0


PAUSES: Final = Pauses()
SOON: Final = timedelta(seconds=1.0)


class Gate(Struct):
    """One gate. `failures` in a row; open if there are none. `trying`: one request has been let through since."""

    failures: int = 0
    until: datetime | None = None
    why: CloudFailure | None = None
    trying: bool = False

    def closed(self, now: datetime) -> Closed | None:
        if self.until is None or self.why is None or now >= self.until:
            return None
        # The one that tries will have its answer soon, and then the gate is open, or closed for longer.
        return Closed(min(self.until, now + SOON) if self.trying else self.until, self.why)

    def try_now(self, now: datetime, *, trial: float) -> None:
        """A request goes through; if the gate had closed, it is the one that tries."""
        if self.why is not None:
            self.until, self.trying = now + timedelta(seconds=trial), True

    def close(self, why: CloudFailure, now: datetime, limits: tuple[float, float]) -> None:
        """Requests that were under way together fail together: that is one failure."""
        if self.closed(now) is None or self.trying:
            self.failures += 1
        first, most = limits
        pause = max(min(first * 2 ** min(self.failures - 1, 16), most), why.retry_after or 0.0)
        until = now + timedelta(seconds=pause)
        self.until = until if self.trying or self.until is None else max(until, self.until)
        self.why, self.trying = why, False

    def abandon(self, now: datetime) -> None:
        """The request that tried was given up: another one may try."""
        if self.trying:
            self.until, self.trying = now, False

    def passed(self, now: datetime) -> None:
        """A request was answered. While the gate is closed that was one from before."""
        if self.trying or self.closed(now) is None:
            self.failures, self.until, self.why, self.trying = 0, None, None, False


class Gates(Struct):
    """The gates of one project."""

    pauses: Pauses = PAUSES
    gates: dict[str, Gate] = field(default_factory=dict)

    def closed(self, now: datetime) -> dict[str, Closed]:
        """All gates that are closed, by name."""
        return {name: closed for name, gate in self.gates.items() if (closed := gate.closed(now)) is not None}

    def on_trial(self, request: Http, now: datetime, *, creates: bool = False) -> bool:
        """Another request tries a gate that concerns this one; it is worth to wait for its end."""
        return any(gate.trying and gate.closed(now) for gate in self._of(request, creates))

    def abandon(self, request: Http, now: datetime, *, creates: bool = False) -> None:
        """A request was given up before its end."""
        for gate in self._of(request, creates):
            gate.abandon(now)

    def admit(self, request: Http, now: datetime, *, creates: bool = False) -> None:
        """Raises NotSent while a gate that concerns the request is closed."""
        self.check(request, now, creates=creates)
        for gate in self._of(request, creates):
            gate.try_now(now, trial=self.pauses.trial)

    def check(self, request: Http, now: datetime, *, creates: bool = False) -> None:
        """The same, for a request that will not be sent yet."""
        for gate in self._of(request, creates):
            if closed := gate.closed(now):
                rest = (closed.until - now).total_seconds()
                failure = NotSent(request.service, f"not asked again yet, after: {closed.why}", retry_after=rest)
                failure.why = closed.why
                raise failure

    def settle(self, request: Http, failure: CloudFailure | None, now: datetime, *, creates: bool = False) -> None:
        """What an answer, or its absence, means for the gates."""
        identity, service = (self.gates.setdefault(name, Gate()) for name in (IDENTITY, request.service))
        quota = self.gates.setdefault(quota_gate(request), Gate()) if creates else Gate()
        if failure is not None and failure.service == IDENTITY:
            identity.close(failure, now, self._limits(failure))
            return
        identity.passed(now)
        match failure:
            case Throttled() | Unauthenticated():
                service.close(failure, now, self.pauses.throttled)
            case Unavailable() if failure.code in _SERVICE_IS_DOWN:
                service.close(failure, now, self.pauses.unavailable)
            case OverQuota():
                service.passed(now)
                quota.close(failure, now, self.pauses.quota)
            case _:
                service.passed(now)
                if failure is None and creates:
                    quota.passed(now)

    def _limits(self, failure: CloudFailure) -> tuple[float, float]:
        """Of a failure of Keystone."""
        match failure:
            case Unauthenticated():
                return self.pauses.credentials
            case Throttled():
                return self.pauses.throttled
        return self.pauses.unavailable

    def _of(self, request: Http, creates: bool) -> list[Gate]:
        names = [IDENTITY, request.service, *([quota_gate(request)] if creates else [])]
        return [self.gates[name] for name in names if name in self.gates]
