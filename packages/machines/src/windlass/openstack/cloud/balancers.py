"""The load balancers of a project with their parts, for which Octavia is asked only where they may have changed.

Octavia locks a load balancer for every change of one of its parts, and sets its `updated_at` with the lock and when it
is ACTIVE again. So while it is ACTIVE, and `updated_at` stays, its parts stay too. Databases keep whole seconds of it:
two changes within one cannot be told apart. So what is read is `confirmed` once nothing had changed for two seconds.

| the parts of an ACTIVE load balancer | |
|---|---|
| have not been read, or a request about one of them failed since | are read |
| `updated_at` changed without a request of ours, or Octavia does not tell it | are read |
| `updated_at` is the same, and they are confirmed | are kept, for six hours at most |
| follow from the answers to our requests, or were read less than two seconds after the change | are kept; when \
`updated_at` is two seconds old, they are read again |

Source: Octavia's models and repositories; the API reference says when `updated_at` is set only for its own object.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.kube.foreign import read_json
from windlass.openstack.cloud.balancer_requests import (
    ROOT,
    ChangeListener,
    ChangeMonitor,
    CreateListener,
    CreateLoadBalancer,
    CreateMember,
    CreateMonitor,
    CreatePool,
    DeleteMember,
    PartOfBalancer,
)
from windlass.openstack.cloud.certainty import NEVER
from windlass.openstack.cloud.failures import Missing, Unavailable
from windlass.openstack.cloud.list_cache import ListCache
from windlass.openstack.cloud.lookups import pages
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import HealthMonitor, Listener, LoadBalancer, Member, Pool
from windlass.openstack.cloud.wire import UNREADABLE, Answer, Http, Service

T = TypeVar("T")

BALANCING: Final[Service] = "load-balancer"
QUIET: Final = 2.0
"""Seconds without a change after which what is read is confirmed: whole seconds, and clocks that differ a little."""
KEPT: Final = 6 * 3600.0
"""Seconds after which parts are read although nothing says that they have changed: no API reference promises it."""
_LONG_AGO: Final = timedelta(minutes=1)
"""The age of `updated_at`, by our clock, from which on the load balancer has been quiet whatever clocks say."""


class Parts(Struct, frozen=True):
    listeners: tuple[Listener, ...] = ()
    pools: tuple[Pool, ...] = ()
    monitors: tuple[HealthMonitor, ...] = ()


class _Known(Struct, frozen=True):
    """`parts` as they were `read` at a moment (NEVER: they follow from answers alone), and as requests of ours were
    answered since. `updated_at` is `version`, and has been so `since`. `ours`: a request of ours has changed them, and
    the next `updated_at` is its doing. `open`: one has not been answered."""

    parts: Parts = Parts()
    version: str = ""
    since: float = NEVER
    read: float = NEVER
    ours: bool = False
    open: bool = False

    @property
    def confirmed(self) -> bool:
        return self.read >= self.since + QUIET


class _Tree(Struct, frozen=True):
    """What Octavia tells of a load balancer and all its parts: their state, and the addresses of members."""

    listeners: list["_OfListener"] = field(default_factory=list)
    pools: list[Pool] = field(default_factory=list)


class _OfListener(Struct, frozen=True):
    pools: list[Pool] = field(default_factory=list)


class _Statuses(Struct, frozen=True):
    loadbalancer: _Tree


class Balancers:
    """See the module. `listing` are the load balancers of the project, `ask` sends a request to Octavia, `now` and
    `clock` are the time and a monotonic one, in seconds. `gone` is told of a load balancer that is no more."""

    def __init__(
        self,
        listing: ListCache[LoadBalancer],
        ask: Callable[..., Awaitable[Answer]],
        *,
        project_id: str,
        now: Callable[[], datetime],
        clock: Callable[[], float],
        gone: Callable[[LoadBalancer], None],
    ) -> None:
        self._listing = listing
        self._ask = ask
        self._project_id = project_id
        self._now = now
        self._clock = clock
        self._gone = gone
        self._asked: dict[str, float] = {}
        self._known: dict[str, _Known] = {}

    async def see(self, listed: Iterable[LoadBalancer], *, since: float) -> tuple[Balancer, ...]:
        """These load balancers as they were at the moment `since` or later (NEVER: as they are known), without those
        that are gone. Their parts only while they are ACTIVE: until then nothing can be done about them."""
        found = await asyncio.gather(*(self._see(each, since) for each in listed))
        return tuple(each for each in found if each is not None)

    def sending(self, request: CloudRequest) -> None:
        """Until `request` is answered, nobody knows the parts that it changes."""
        if isinstance(request, PartOfBalancer) and (known := self._known.get(request.balancer)) is not None:
            self._known[request.balancer] = replace(known, open=True)

    def answered(self, request: CloudRequest, answer: Answer) -> None:
        """Lay the effect of `request` over what is known of the parts. They are read again if the answer cannot be."""
        with suppress(*UNREADABLE):
            if isinstance(request, CreateLoadBalancer):
                made = read_json(answer.body, dict[str, LoadBalancer])["loadbalancer"]
                self._known[made.id] = _Known(ours=True)
            elif isinstance(request, PartOfBalancer) and (known := self._known.get(request.balancer)) is not None:
                laid = after(known.parts, request, answer.body)
                self._known[request.balancer] = replace(known, parts=laid, ours=True, open=False)

    def forget(self, *which: str) -> None:
        """Read the parts of these load balancers, or of all, at the next look."""
        for each in which or tuple(self._known):
            self._known.pop(each, None)

    async def _see(self, listed: LoadBalancer, since: float) -> Balancer | None:
        found = listed
        if max(self._listing.began, self._asked.get(listed.id, NEVER)) < since:
            now = await self._balancer(listed)
            if now is None:
                self.forget(listed.id)
                self._gone(listed)
                return None
            found = now
        if found.provisioning_status != "ACTIVE":
            return Balancer(found)
        known = await self._parts(found, again=since > NEVER)
        parts = known.parts
        return Balancer(found, parts.listeners, parts.pools, parts.monitors, known.confirmed or not known.version)

    async def _balancer(self, listed: LoadBalancer) -> LoadBalancer | None:
        began = self._clock()
        try:
            answer = await self._look_up(f"loadbalancers/{listed.id}")
        except Missing:
            return None
        found = _decoded(answer, "loadbalancer", LoadBalancer)
        if found.provisioning_status == "DELETED":
            return None
        self._asked[found.id] = began
        self._listing.put(found)
        return found

    async def _parts(self, found: LoadBalancer, *, again: bool) -> _Known:
        """`again`: not in the attempt that has read them already."""
        now, version = self._clock(), found.updated_at or ""
        known = self._known.get(found.id)
        if known is not None and known.ours and not known.open:
            known = replace(known, version=version, since=now, ours=False)
        elif known is not None and (known.open or known.version != version or (again and not version)):
            known = None
        if known is None or (again and now >= (known.read + KEPT if known.confirmed else known.since + QUIET)):
            since = known.since if known is not None else now - self._quiet(version)
            known = _Known(await self._read(found), version, since, now)
        self._known[found.id] = known
        return known

    def _quiet(self, version: str) -> float:
        """For how long nothing has changed, as far as that can be said when it is seen for the first time."""
        try:
            changed = datetime.fromisoformat(version)
        except ValueError:
            return 0.0
        changed = changed if changed.tzinfo else changed.replace(tzinfo=UTC)  # Octavia names no zone
        return inf if self._now() - changed > _LONG_AGO else 0.0

    async def _read(self, found: LoadBalancer) -> Parts:
        tree, listeners, monitors = await asyncio.gather(
            self._look_up(f"loadbalancers/{found.id}/status"),
            self._all("listeners", Listener, (("loadbalancer_id", found.id),)),
            self._all("healthmonitors", HealthMonitor, (("project_id", self._project_id),)),
        )
        told = _decoded(tree, "statuses", _Statuses).loadbalancer
        pools = {each.id: each for each in (*told.pools, *(pool for one in told.listeners for pool in one.pools))}
        watched = {each.health_monitor.id for each in pools.values() if each.health_monitor is not None}
        return Parts(listeners, tuple(pools.values()), tuple(each for each in monitors if each.id in watched))

    async def _all(self, key: str, kind: type[T], query: tuple[tuple[str, str], ...]) -> tuple[T, ...]:
        first = Http(BALANCING, "GET", f"{ROOT}/{key}", query)
        return await pages(first, key, kind, lambda page: self._ask(page, agent="lookup"))

    async def _look_up(self, path: str) -> Answer:
        return await self._ask(Http(BALANCING, "GET", f"{ROOT}/{path}"), agent="lookup")


def _decoded(answer: Answer, envelope: str, kind: type[T]) -> T:
    try:
        found: dict[str, T] = read_json(answer.body, dict[str, kind])  # type: ignore[valid-type]
        return found[envelope]
    except UNREADABLE as error:
        raise Unavailable(BALANCING, f"the answer has no {envelope}: {error}") from None


def after(parts: Parts, request: PartOfBalancer, body: bytes) -> Parts:
    """The parts once `request` has been answered with `body`. Raises Malformed or KeyError if that says nothing."""

    def decoded(envelope: str, kind: type[T]) -> T:
        found: dict[str, T] = read_json(body, dict[str, kind])  # type: ignore[valid-type]
        return found[envelope]

    match request:
        case CreateListener():
            return replace(parts, listeners=(*parts.listeners, decoded("listener", Listener)))
        case ChangeListener():
            return replace(parts, listeners=_with(parts.listeners, decoded("listener", Listener)))
        case CreatePool():
            made, of = decoded("pool", Pool), request.body.get("listener_id")
            led = tuple(replace(each, default_pool_id=made.id) if each.id == of else each for each in parts.listeners)
            return replace(parts, listeners=led, pools=(*parts.pools, made))
        case CreateMonitor():
            monitor = decoded("healthmonitor", HealthMonitor)
            watched = _changed(parts.pools, request.body["pool_id"], health_monitor=monitor)
            return replace(parts, pools=watched, monitors=(*parts.monitors, monitor))
        case ChangeMonitor():
            return replace(parts, monitors=_with(parts.monitors, decoded("healthmonitor", HealthMonitor)))
        case CreateMember(pool=pool):
            there = (each for one in parts.pools if one.id == pool for each in one.members)
            return replace(parts, pools=_changed(parts.pools, pool, members=[*there, decoded("member", Member)]))
        case DeleteMember(pool=pool, id=which):
            left = [each for one in parts.pools if one.id == pool for each in one.members if each.id != which]
            return replace(parts, pools=_changed(parts.pools, pool, members=left))
    raise KeyError(request.verb)


def _with(items: tuple[Any, ...], changed: Any) -> tuple[Any, ...]:
    return tuple(changed if each.id == changed.id else each for each in items)


def _changed(pools: tuple[Pool, ...], which: str, **fields: Any) -> tuple[Pool, ...]:
    return tuple(replace(each, **fields) if each.id == which else each for each in pools)
