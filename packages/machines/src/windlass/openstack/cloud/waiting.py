"""Bounds how many workers wait for clouds that do not answer, so that the others are there for those that do.

    place = Waiting(clock).of(credentials)
    async with place.turn():                       # raises NotSent
        ...                                        # questions to the cloud, or a request
    place.asks("compute")                          # each request says so when it begins,
    place.heard("compute", answered=True)          # and when it has ended

A cloud is what has the same `auth_url`, whatever projects, users and Secrets there are in it.

| a cloud | enter at the same time |
|---|---|
| all its services that were asked have answered, one beside Keystone at least | all who want |
| a service has not answered yet, or not the last request | `PARTLY` |
| nothing has answered yet, or not since the last request failed | 1 |
| the same, and all clouds together | `FRESH` before the first failure, then `FAILED`; `OF_TENANT` for one tenant |

The others wait for the answer `PATIENCE` seconds at most, and `WAITERS` at the same time. After that they come back
when as much time has passed again as the cloud has been silent. Who asks a cloud that has never answered gives up after
5, 10, 20 s, so that new clouds have their turn.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from windlass.openstack.cloud.credentials import SERVICE, Credentials
from windlass.openstack.cloud.failures import CloudFailure, NotSent, Unavailable

PARTLY: Final = 8
FRESH: Final = 16
FAILED: Final = 8
OF_TENANT: Final = 8
WAITERS: Final = 16
PATIENCE: Final = 2.0
WORKERS: Final = FRESH + FAILED + WAITERS
"""Workers that such clouds can hold, at most: a process has so many beside those that it was told to have."""
_FIRST_TIME: Final = 5.0
_LONGEST_PAUSE: Final = 30.0
_MOST: Final = 2000
_FORGOTTEN: Final = 600.0
"""Seconds after which a service that nobody asks any more does not count."""


class _Cloud(Struct):
    """`answers`: the services that were asked, and whether they answered the last request; `asked`: when. `failures`:
    since the last answer of any. `within`: how many have entered. `silent`: since when nothing was heard, while
    somebody asks."""

    answers: dict[str, bool] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)
    failures: int = 0
    within: int = 0
    silent: float = 0.0
    limits: set[asyncio.Timeout] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def most(self) -> int | None:
        """How many may be within; None: all who want."""
        if self.answers.keys() - {SERVICE} and all(self.answers.values()):  # a token alone says nothing of the others
            return None
        return PARTLY if any(self.answers.values()) and not self.failures else 1

    def wake(self) -> None:
        """Wake all who wait."""
        self.changed.set()
        self.changed = asyncio.Event()


class Waiting:
    """See the module. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._clouds: dict[str, _Cloud] = {}
        self._within: Counter[str] = Counter()
        self._waiters = 0

    def of(self, credentials: Credentials) -> "Place":
        return Place(self, credentials)

    @asynccontextmanager
    async def turn(self, cloud: _Cloud, tenant: str) -> AsyncIterator[None]:
        """Raises NotSent if there is no room in time."""
        if not self._admits(cloud, tenant) and not await self._room(cloud, tenant):
            silent = self._clock() - cloud.silent if cloud.within else 0.0
            why = Unavailable(SERVICE, "not asked now: earlier requests to this cloud are without an answer")
            failure = NotSent(SERVICE, str(why.fault), retry_after=min(max(silent, PATIENCE), _LONGEST_PAUSE))
            failure.why = why
            raise failure
        counted = self._counts(cloud, tenant) if cloud.most is not None else ()
        self._within.update(counted)
        if not cloud.within:
            cloud.silent = self._clock()
        cloud.within += 1
        try:
            yield
        finally:
            cloud.within -= 1
            self._within.subtract(counted)
            cloud.wake()

    async def _room(self, cloud: _Cloud, tenant: str) -> bool:
        """Wait for it, if somebody is within whose answer may come."""
        if self._waiters >= WAITERS or not cloud.within:
            return False
        self._waiters += 1
        try:
            async with asyncio.timeout(PATIENCE):
                while not self._admits(cloud, tenant):
                    await cloud.changed.wait()
        except TimeoutError:
            return False
        else:
            return True
        finally:
            self._waiters -= 1

    def _admits(self, cloud: _Cloud, tenant: str) -> bool:
        if cloud.most is None:
            return True
        limits = {"fresh": FRESH, "failed": FAILED}
        full = any(self._within[each] >= limits.get(each, OF_TENANT) for each in self._counts(cloud, tenant))
        return cloud.within < cloud.most and not full

    def _counts(self, cloud: _Cloud, tenant: str) -> tuple[str, ...]:
        return ("failed" if cloud.failures else "fresh", *((f"tenant {tenant}",) if tenant else ()))

    def cloud(self, key: str) -> _Cloud:
        found = self._clouds.pop(key, None) or _Cloud()
        self._clouds[key] = found  # the first was used longest ago
        if len(self._clouds) > _MOST:
            for other in [name for name, each in self._clouds.items() if not each.within][: _MOST // 10]:
                del self._clouds[other]
        return found

    def now(self) -> float:
        return self._clock()


class Place:
    """The cloud of some credentials, and who asks it."""

    def __init__(self, waiting: Waiting, credentials: Credentials) -> None:
        self._waiting = waiting
        self._tenant = credentials.tenant
        self._where = credentials.where
        self._key = _key(str(credentials.cloud["auth"]["auth_url"]))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Within it the cloud may be asked. Raises NotSent while others wait for it in vain, and Unavailable if it has
        never answered and does not in time."""
        cloud = self._waiting.cloud(self._key)
        async with self._waiting.turn(cloud, self._tenant):
            first = None if any(cloud.answers.values()) or cloud.failures > 2 else _FIRST_TIME * 2**cloud.failures
            try:
                async with asyncio.timeout(first) as limit:
                    cloud.limits.add(limit)
                    try:
                        yield
                    finally:
                        cloud.limits.discard(limit)
            except TimeoutError:
                if not limit.expired():
                    raise
                cloud.failures += 1
                raise Unavailable(SERVICE, f"no answer in {first:g} s") from None

    def asks(self, service: str) -> None:
        cloud = self._waiting.cloud(self._key)
        cloud.answers.setdefault(service, False)
        cloud.asked[service] = self._waiting.now()

    def heard(self, service: str, *, answered: bool) -> None:
        """A request to `service` has ended."""
        cloud = self._waiting.cloud(self._key)
        cloud.answers[service] = answered
        if not answered:
            cloud.failures += 1
            return
        cloud.failures, cloud.silent = 0, self._waiting.now()
        for name in [each for each, at in cloud.asked.items() if cloud.silent - at > _FORGOTTEN]:
            del cloud.asked[name], cloud.answers[name]
        for limit in cloud.limits:
            limit.reschedule(None)
        cloud.wake()


def is_silence(failure: CloudFailure) -> bool:
    """Whether there was no answer, so that the next request may wait in vain too."""
    return isinstance(failure, Unavailable) and not failure.code


def _key(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port}"
    except ValueError:
        return url
    return f"{parts.scheme}://{host}"
