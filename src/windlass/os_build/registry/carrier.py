"""Carries probes of registries for plans, and remembers their answers.

    Plan.of(Call(target=pool, request=ProbeUpload(pool=..., target=..., secret=..., versions=..., auths=...)))
    carrier.answered(target=..., versions=...)      # the Answer, in the next round and in those of other pools

An answer counts until `versions` changes, as it does with the Secrets. That a registry could not be asked counts for a
minute. Pools with the same target and Secrets share a probe.
"""

import asyncio
from types import TracebackType
from typing import ClassVar, Final, Self
from weakref import WeakValueDictionary

from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.plan import Request
from windlass.os_build.credentials import Auths
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Answer, Kind
from windlass.os_build.registry.registry import Registry

SYSTEM: Final = "registry"
NOT_ASKED_SECONDS: Final = 60.0
_REMEMBERED: Final = 1000


class ProbeUpload(Request, frozen=True, kw_only=True):
    """Ask whether an image can be pushed.

    target    the repository, as text
    secret    names the Secret with the credentials, for people
    versions  which state of the Secrets it is (`Secrets.versions`), and whatever else is a reason to ask again
    """

    SYSTEM: ClassVar[str] = SYSTEM
    SECONDS: ClassVar[float] = 10.0
    SECRET: ClassVar[frozenset[str]] = frozenset({"auths"})

    pool: str
    target: str
    secret: str
    versions: str
    auths: Auths


class RegistryCarrier:
    """Sends ProbeUploads; the answer is an `Answer`, also if the registry refuses or cannot be asked.

    It closes `registry` at the end of its `async with`.
    """

    def __init__(self, registry: Registry, *, clock: Clock | None = None) -> None:
        self._registry = registry
        self._clock = clock or SystemClock()
        self._answers: dict[tuple[str, str], tuple[float, Answer]] = {}
        self._asking: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

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
        over = answer.kind is Kind.NOT_ASKED and self._clock.monotonic() - when >= NOT_ASKED_SECONDS
        return None if over else answer

    async def send(self, request: ProbeUpload, /) -> Answer:
        """The answer of the registry, or one that still counts."""
        key = request.target, request.versions
        async with self._asking.setdefault(key, asyncio.Lock()):
            if (known := self.answered(target=request.target, versions=request.versions)) is not None:
                return known
            target = Target.parse(request.target)
            login = request.auths.login(target.host, target.path)
            answer = await self._registry.may_push(target, login, origin=f"Secret {request.secret}")
            self._answers[key] = self._clock.monotonic(), answer
            if len(self._answers) > _REMEMBERED:
                del self._answers[next(iter(self._answers))]
            return answer

    def doubt(self, request: ProbeUpload, /) -> None:
        """Ask again next time."""
        self._answers.pop((request.target, request.versions), None)
