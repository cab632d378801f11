"""All projects of a process: it has them by their credentials, carries requests to them, and polls those in use.

    async with Clouds() as clouds:
        Manager(client, systems={OPENSTACK: clouds}, ...)
        Controller(sources=(clouds.polls,), ...)
        project = await clouds.project(credentials)

One poll for each project that is followed lists its servers (and volumes while somebody waits for one), and its ports
every 10 s at most, because nobody waits for a port:

| when | the next poll |
|---|---|
| after a write | 1 s later |
| while anything is being built or deleted | after a quarter of the time since the last write, 1 to 10 s |
| at rest | after 60 s |

A key is woken if what there is for it differs from what was last seen (`follow`).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self
from weakref import WeakValueDictionary, finalize

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.meta import KubernetesObject
from windlass.kube.control.poll import PollEach, Polled
from windlass.kube.control.queue import Priority
from windlass.kube.control.source import Detach, Source, Wake
from windlass.kube.logger import Logger
from windlass.kube.object import NamespacedName
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.gates import IDENTITY, PAUSES, Gates, Pauses
from windlass.openstack.cloud.inventory import NONE, Recorded, ServerInventory
from windlass.openstack.cloud.metrics import CloudFigures
from windlass.openstack.cloud.names import Names
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Answering, Threads
from windlass.openstack.cloud.waiting import Waiting, is_silence
from windlass.openstack.cloud.wire import Http, Wire

_DRAIN: Final = 30.0
"""Seconds that requests under way have to end, before the connections are closed."""
_LATE: Final = 4.0
"""What takes the cloud longer than some seconds is seen later by this part of that time at the most."""
_LOGIN: Final = Http("compute", "GET", "/")
_SETTLED: Final = frozenset({"available", "in-use", "error"})


class PollTimes(Struct, frozen=True, kw_only=True):
    """Seconds; see the module. `unused`: after so long without followers a project is dropped."""

    after_write: float = 1.0
    building: float = 10.0
    at_rest: float = 60.0
    unused: float = 600.0


class Owner(Struct, frozen=True):
    """The key of an owner of another `kind` than OpenStackServer (None), whose keys are pairs of names."""

    kind: type[KubernetesObject] | None
    key: NamespacedName


class _Follower(Struct):
    mark: str
    recorded: Recorded
    seen: ServerInventory


class _Door(Struct):
    """Before there is a project of these credentials: one at a time asks Keystone, and not while `gates` are closed."""

    gates: Gates
    used: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class _Member(Struct):
    account: Account
    used: float
    wrote: float = float("-inf")
    followers: dict[Hashable, _Follower] = field(default_factory=dict)


class Polls(PollEach[Any]):
    """The polls, as a source of keys. A term of leadership begins when it is attached."""

    def __init__(self, clouds: "Clouds", times: PollTimes) -> None:
        super().__init__("openstack", clouds._poll, period=times.at_rest, at_least=min(1.0, times.after_write))
        self._clouds = clouds

    def attach(self, wake: Wake[Any]) -> Detach:
        """Wake OpenStackServers."""
        return self.attach_for(None, wake)

    def of(self, kind: type[KubernetesObject]) -> Source[NamespacedName]:
        """The same polls as a source of keys of another kind."""
        return _PollsOf(self, kind)

    def attach_for(self, kind: type[KubernetesObject] | None, wake: Wake[Any]) -> Detach:
        """Wake the owners of this kind; None: OpenStackServers."""

        def those(key: Any, *, priority: Priority = Priority.NORMAL) -> None:
            owner = key if isinstance(key, Owner) else Owner(None, key)
            if owner.kind is kind:
                wake(owner.key, priority=priority)

        if not self._wakes:
            self._clouds.begin_term()
        return super().attach(those)


class _PollsOf:
    def __init__(self, polls: Polls, kind: type[KubernetesObject]) -> None:
        self._polls = polls
        self._kind = kind

    def attach(self, wake: Wake[NamespacedName]) -> Detach:
        return self._polls.attach_for(self._kind, wake)


class Clouds:
    """See the module. `wire` makes the connection for credentials; `now` is the time, `clock` a monotonic one.
    `waiting` bounds how many wait for clouds that do not answer; None: all may. `refusal` says why an address is not
    asked with the credentials of a Secret; None: all are."""

    def __init__(
        self,
        *,
        wire: Callable[[Credentials], Wire] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
        polls: PollTimes | None = None,
        pauses: Pauses = PAUSES,
        times: Times | None = None,
        waiting: Waiting | None = None,
        refusal: Callable[[str], str] | None = None,
    ) -> None:
        answering, names = Answering(), Names()
        self._threads = Threads(64, trusts=answering)
        self._wire = wire or (lambda found: CloudSession(found, self._threads, names, answering, refusal))
        self._waiting = waiting
        self._now = now
        self._clock = clock
        self._pauses = pauses
        self._times = times or Times()
        self._poll_times = polls or PollTimes()
        self._members: dict[str, _Member] = {}
        self._accounts: WeakValueDictionary[str, Account] = WeakValueDictionary()
        self._doors: dict[str, _Door] = {}
        self._term: float | None = None
        self._unsent: set[str] = set()
        self.polls = Polls(self, self._poll_times)
        self.figures = CloudFigures(self._gates)
        self._log = Logger(__name__)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if left := await self._threads.drain(_DRAIN):
            self._log.warning("requests to a cloud were still under way at the end", requests=left)
        for account in self._accounts.values():
            account.wire.close()

    # projects

    async def project(self, credentials: Credentials) -> Account:
        """The project of these credentials. Raises CloudFailure; after a failure Keystone is left alone for a while."""
        key = credentials.key
        member = self._member(key)
        self._drop_unused()
        if member is not None:
            return member.account
        door = self._doors.setdefault(key, _Door(Gates(self._pauses)))
        door.used = self._clock()
        async with door.lock:
            account = self._accounts.get(key)
            if account is None:
                account = self._accounts[key] = await self._enter(credentials, door.gates)
                finalize(account, account.wire.close)
        self._members.setdefault(key, _Member(account, self._clock()))
        return account

    @asynccontextmanager
    async def turn(self, credentials: Credentials) -> AsyncIterator[None]:
        """Within it a worker may ask the cloud of these credentials. Raises NotSent."""
        async with self._waiting.of(credentials).turn() if self._waiting is not None else nullcontext():
            yield

    def known(self, key: str) -> Account | None:
        """The project with this key, if it is in use."""
        return self._accounts.get(key)

    def _member(self, key: str) -> _Member | None:
        """The project, which is in use. A dropped project comes back if a caller still uses it."""
        if key not in self._members and (account := self._accounts.get(key)) is not None:
            self._members[key] = _Member(account, self._clock())
        if (member := self._members.get(key)) is not None:
            member.used = self._clock()
        return member

    async def _enter(self, credentials: Credentials, door: Gates) -> Account:
        door.admit(_LOGIN, self._now())
        wire = self._wire(credentials)
        place = self._waiting.of(credentials) if self._waiting is not None else None
        try:
            project_id = await wire.project_id()
        except BaseException as error:
            wire.close()
            if isinstance(error, CloudFailure):
                door.settle(_LOGIN, error, self._now())
                if place is not None:
                    place.heard(IDENTITY, answered=not is_silence(error))
            else:  # cancelled: the next one tries
                door.abandon(_LOGIN, self._now())
            raise
        door.settle(_LOGIN, None, self._now())
        if place is not None:
            place.heard(IDENTITY, answered=True)
        account = Account(
            wire,
            key=credentials.key,
            where=credentials.where,
            project_id=project_id,
            now=self._now,
            clock=self._clock,
            pauses=self._pauses,
            times=self._times,
            unsent=self._unsent,
            sent=self.figures.sent,
            place=place,
        )
        if self._term is not None:  # with other credentials of the same project, requests may be under way
            account.knowledge.begin_term(self._clock())
        return account

    def _drop_unused(self) -> None:
        oldest = self._clock() - self._poll_times.unused
        for key, member in list(self._members.items()):
            if not member.followers and member.used < oldest:
                del self._members[key]
        for key, door in list(self._doors.items()):
            if door.used < oldest and not door.lock.locked():
                del self._doors[key]

    def _gates(self) -> Iterator[tuple[str, dict[str, bool]]]:
        now = self._now()
        for member in self._members.values():
            closed = member.account.gates.closed(now)
            yield member.account.where, {name: name in closed for name in member.account.gates.gates}

    # requests of plans

    async def send(self, request: CloudRequest, /) -> Any:
        """As a carrier: send the request to its project, and poll soon."""
        member = self._member(request.project)
        assert member is not None, f"{request} is for a project that nobody has asked for"
        try:
            async with member.account.turn():
                return await member.account.carry(request)
        finally:
            self._wrote(request.project, member)

    def doubt(self, request: CloudRequest, /) -> None:
        if (member := self._members.get(request.project)) is not None:
            member.account.knowledge.doubted(request)

    def _wrote(self, key: str, member: _Member) -> None:
        member.wrote = self._clock()
        asyncio.get_running_loop().call_later(self._poll_times.after_write, self.polls.soon, _poll_key(key))

    # owners

    def born(self, mark: str) -> str:
        """Remember that this process has just created `mark`, so no resource can have it. Returns the mark."""
        self._unsent.add(mark)
        return mark

    def follow(self, key: Hashable, project: Account, mark: str, recorded: Recorded = NONE) -> None:
        """Wake `key` when what there is for `mark`, or is recorded, differs from what is known now."""
        member = self._member(project.key)
        if member is None:
            return
        for other_key, other in self._members.items():
            if other is not member and other.followers.pop(key, None) is not None and not other.followers:
                self.polls.unfollow(_poll_key(other_key))
        member.followers[key] = _Follower(mark, recorded, _comparable(member.account.known(mark, recorded)))
        self.polls.follow(_poll_key(project.key))

    def forget(self, mark: str) -> None:
        """Nothing is known about the mark any more."""
        self._unsent.discard(mark)
        for member in self._members.values():
            member.account.knowledge.forget(mark)

    def unfollow(self, key: Hashable) -> None:
        """Wake `key` no more. Does nothing if it is not followed."""
        for project, member in self._members.items():
            if member.followers.pop(key, None) is not None and not member.followers:
                self.polls.unfollow(_poll_key(project))

    # polling

    def begin_term(self) -> None:
        self._term = self._clock()
        self._unsent.clear()
        for account in self._accounts.values():
            account.knowledge.begin_term(self._term)
            account.balancers.forget()

    async def _poll(self, key: Any) -> Polled[Any]:
        member = self._members.get(key[1])
        if member is None:
            return Polled()
        waiting = [each.seen for each in member.followers.values()]
        volumes = any(_waits_for_volume(each) for each in waiting)
        await member.account.refresh(volumes=volumes, ports=self._poll_times.building)
        changed = []
        builds = False
        for owner, follower in member.followers.items():
            there = _comparable(member.account.known(follower.mark, follower.recorded))
            builds = builds or _builds(there)
            if there != follower.seen:
                follower.seen = there
                changed.append(owner)
        return Polled(tuple(changed), again=self._pause(member) if builds else None)

    def _pause(self, member: _Member) -> float:
        times = self._poll_times
        return min(max((self._clock() - member.wrote) / _LATE, times.after_write), times.building)


def _poll_key(project: str) -> tuple[str, str]:
    return "project", project


def _comparable(there: ServerInventory) -> ServerInventory:
    """Without what changes from list to list."""
    return replace(there, reservations=(), certain=True, certain_in=0.0, missing_since=None, as_of=None)


def _builds(there: ServerInventory) -> bool:
    busy = any(server.status in ("", "BUILD") or server.task_state for server in there.servers)
    return busy or _waits_for_volume(there)


def _waits_for_volume(there: ServerInventory) -> bool:
    return any(volume.status not in _SETTLED for volume in there.volumes)
