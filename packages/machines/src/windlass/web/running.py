"""Tells whether the controller runs that keeps what a view shows, by its Leases. The first row that fits wins:

| the Leases | state |
|---|---|
| one of a program is held beside which ours does nothing | `other` |
| one of ours is held by Windlass | `runs` |
| one of ours is held by another program, which does the same work | `other` |
| one cannot be read | `unknown` |
| none of ours is there: it never ran here, runs in another namespace, or without leader election | `absent` |
| else: nobody holds the first of them | `stopped` |

Times are compared by the clock of the API server. The holder writes them by its own clock, so a Lease counts as expired
only `SLACK` seconds after its end.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from windlass.api.coordination import Lease
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.errors import KubeError, NotFound
from windlass.kube.verbs import ReadApi

PERIOD: Final = 10.0
"""Seconds between two looks at the Leases."""
SLACK: Final = 30.0
"""Seconds by which the clocks of a cluster may differ."""
OURS: Final = "windlass_"
"""What the holder of a Lease begins with if it is Windlass."""
_DURATION: Final = 15


class Runs(StrEnum):
    """Whether a controller runs; UNTOLD: nobody has looked."""

    RUNS = "runs"
    OTHER = "other"
    STOPPED = "stopped"
    UNKNOWN = "unknown"
    ABSENT = "absent"
    UNTOLD = ""


class Alive(Struct, frozen=True):
    """`text`: who keeps the objects, or why nobody does; for people."""

    state: Runs = Runs.UNTOLD
    text: str = ""


class Holder(Struct, frozen=True):
    """A Lease; `what` holds it if that is not a program of ours."""

    namespace: str
    name: str
    what: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Controller(Struct, frozen=True):
    """A controller of ours: its name for people, and its Leases, for some of which other programs compete, too. The
    controller idles while a Lease of `beside` is held."""

    name: str
    own: tuple[Holder, ...]
    beside: tuple[Holder, ...] = ()

    @property
    def needs(self) -> tuple[Permission, ...]:
        """The reads that a look takes: cluster-wide by name, since a namespace need not exist."""
        names = dict.fromkeys(each.name for each in (*self.own, *self.beside))
        return tuple(permission(Lease, "get", names=(name,)) for name in names)


Found = Mapping[Holder, "Lease | str | None"]
"""Each Lease; None: there is none; a text: why it cannot be read."""


def alive(controller: Controller, found: Found, *, now: datetime) -> Alive:
    """The table of the module."""
    held = {holder: who for holder, lease in found.items() if isinstance(lease, Lease) and (who := _holder(lease, now))}
    for holder in controller.beside:
        if holder in held:
            return Alive(Runs.OTHER, f"{controller.name} idles: {holder.what} runs and holds Lease {holder}")
    ours = [holder for holder in controller.own if holder in held]
    if any(held[holder].startswith(OURS) for holder in ours):
        return Alive(Runs.RUNS, f"{controller.name} runs")
    if ours:
        return Alive(Runs.OTHER, f"{controller.name} does not run: another program holds Lease {ours[0]}")
    if why := [lease for lease in found.values() if isinstance(lease, str)]:
        return Alive(Runs.UNKNOWN, f"whether {controller.name} runs is unknown: {why[0]}")
    first = controller.own[0]
    lease = found.get(first)
    if not isinstance(lease, Lease):
        return Alive(Runs.ABSENT, f"{controller.name} does not run here, as far as is known: there is no Lease {first}")
    since = f" since {lease.spec.renew_time}" if lease.spec.renew_time else ""
    return Alive(Runs.STOPPED, f"{controller.name} does not run: nobody holds Lease {first}{since}")


def _holder(lease: Lease, now: datetime) -> str:
    """Who holds the Lease now; empty: nobody."""
    spec = lease.spec
    try:
        renewed = datetime.fromisoformat(spec.renew_time or "")
    except ValueError:
        return ""
    if renewed.tzinfo is None:
        return ""
    end = renewed + timedelta(seconds=(spec.lease_duration_seconds or _DURATION) + SLACK)
    return (spec.holder_identity or "") if now < end else ""


class Liveness:
    """Looks at the Leases of a controller again and again; `alive` is the last answer. `now`: by the API server."""

    def __init__(self, api: ReadApi, controller: Controller, *, now: Callable[[], datetime]) -> None:
        self.alive = Alive()
        self._api = api
        self._controller = controller
        self._now = now

    async def run(self, changed: asyncio.Event) -> None:
        """Look until cancelled; `changed` is set with each other answer."""
        while True:
            before, self.alive = self.alive, await self.look()
            if self.alive != before:
                changed.set()
            await asyncio.sleep(PERIOD)

    async def look(self) -> Alive:
        """One look."""
        found = {each: await self._read(each) for each in (*self._controller.own, *self._controller.beside)}
        return alive(self._controller, found, now=self._now())

    async def _read(self, holder: Holder) -> Lease | str | None:
        try:
            return (await self._api.get(Lease, holder.name, namespace=holder.namespace)).decode()
        except NotFound:
            return None
        except KubeError as error:
            return str(error)
