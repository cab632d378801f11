"""Carries probes of registries for plans, and lists of images, and remembers their answers.

    Plan.of(Call(target=pool, request=ProbeUpload(pool=..., target=..., secret=..., versions=..., auths=...)))
    carrier.answered(target=..., versions=...)      # the Answer, in the next round and in those of other pools
    Plan.of(Call(target=pool, request=PushList(pool=..., list=..., secret=..., auths=...)))
    carrier.pushed(list)                            # what became of it

An answer counts until `versions` changes, as it does with the Secrets, or its time is over (`COUNTS`), since rights
change on the registry too. Pools with the same target and Secrets share a probe.

A list is made of the same images as the same bytes, so whoever does not know whether it was pushed pushes it again.
"""

import asyncio
from types import TracebackType
from typing import ClassVar, Final, Self, overload
from weakref import WeakValueDictionary

from msgspec import Struct

from windlass.kube.clock import Clock, SystemClock
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.access import RegistryRequest
from windlass.os_build.registry.answers import (
    Answer,
    Denied,
    Found,
    Gone,
    Kind,
    ListAnswer,
    NotAsked,
    Refused,
    Shown,
    Unlisted,
)
from windlass.os_build.registry.registry import Registry

SYSTEM: Final = "registry"
COUNTS: Final = {Kind.GRANTED: 600.0, Kind.DENIED: 290.0, Kind.UNKNOWN: 290.0, Kind.NOT_ASKED: 60.0}
"""Seconds for which an answer counts."""
LISTED: Final = {Found: 600.0, Refused: 290.0, Denied: 290.0, NotAsked: 55.0, Unlisted: 55.0}
"""The same, of lists: less than until they are asked again."""
_REMEMBERED: Final = 1000


class ProbeUpload(RegistryRequest, frozen=True, kw_only=True):
    """Ask whether an image can be pushed.

    target    the repository, as text
    versions  which state of the Secrets it is (`Secrets.versions`), and whatever else is a reason to ask again
    """

    SYSTEM: ClassVar[str] = SYSTEM
    SECONDS: ClassVar[float] = 10.0

    pool: str
    target: str
    versions: str


class ImageList(Struct, frozen=True, kw_only=True):
    """A list that names one image for each architecture.

    target    the repository, as text
    images    architectures and digests, sorted
    occasion  when the last of the images was built: one that was gone may be there again
    versions  of the Secrets
    """

    target: str
    tag: str
    images: tuple[tuple[str, str], ...]
    occasion: str
    versions: str


class PushList(RegistryRequest, frozen=True, kw_only=True):
    """Push a list of images that are there."""

    SYSTEM: ClassVar[str] = SYSTEM
    SECONDS: ClassVar[float] = 10.0

    pool: str
    list: ImageList


class RegistryCarrier:
    """Sends ProbeUploads and PushLists; the answer says it also if the registry refuses or cannot be asked.

    It closes `registry` at the end of its `async with`.
    """

    def __init__(self, registry: Registry, *, clock: Clock | None = None) -> None:
        self._registry = registry
        self._clock = clock or SystemClock()
        self._answers: dict[tuple[str, str], tuple[float, Answer]] = {}
        self._asking: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._lists: dict[ImageList, tuple[float, ListAnswer]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._registry.__aexit__(kind, error, trace)

    def answered(self, *, target: str, versions: str) -> Answer | None:
        """The last answer, if it still counts."""
        heard = self._answers.get((target, versions))
        if heard is None:
            return None
        when, answer = heard
        return answer if self._clock.monotonic() - when < COUNTS[answer.kind] else None

    def pushed(self, wanted: ImageList) -> ListAnswer | None:
        """What became of the list, if that still counts."""
        heard = self._lists.get(wanted)
        if heard is None:
            return None
        when, answer = heard
        return answer if self._clock.monotonic() - when < LISTED[type(answer)] else None

    @overload
    async def send(self, request: ProbeUpload, /) -> Answer: ...
    @overload
    async def send(self, request: PushList, /) -> ListAnswer: ...
    async def send(self, request: ProbeUpload | PushList, /) -> Answer | ListAnswer:
        """The answer of the registry; to a probe, one that still counts."""
        return await (self._push(request) if isinstance(request, PushList) else self._probe(request))

    async def _push(self, request: PushList) -> ListAnswer:
        wanted = request.list
        target = Target.parse(wanted.target)
        answer = await self._registry.join(
            target,
            wanted.tag,
            dict(wanted.images),
            request.login(target),
            origin=request.origin,
            egress=request.egress,
        )
        self._lists[wanted] = self._clock.monotonic(), answer
        if len(self._lists) > _REMEMBERED:
            del self._lists[next(iter(self._lists))]
        return answer

    async def _probe(self, request: ProbeUpload) -> Answer:
        key = request.target, request.versions
        async with self._asking.setdefault(key, asyncio.Lock()):
            if (known := self.answered(target=request.target, versions=request.versions)) is not None:
                return known
            target = Target.parse(request.target)
            answer = await self._registry.may_push(
                target, request.login(target), origin=request.origin, egress=request.egress
            )
            self._answers[key] = self._clock.monotonic(), answer
            if len(self._answers) > _REMEMBERED:
                del self._answers[next(iter(self._answers))]
            return answer

    async def manifest(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> Found | Gone | Denied | NotAsked:
        """Is the manifest there? It is asked each time."""
        return await self._registry.manifest(target, reference, login, origin=origin, egress=egress)

    async def architectures(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> Shown | Gone | Denied | NotAsked:
        """For which architectures is the image? It is asked each time."""
        return await self._registry.architectures(target, reference, login, origin=origin, egress=egress)

    def doubt(self, request: ProbeUpload | PushList, /) -> None:
        """Ask again next time."""
        if isinstance(request, PushList):
            self._lists.pop(request.list, None)
            return
        self._answers.pop((request.target, request.versions), None)
