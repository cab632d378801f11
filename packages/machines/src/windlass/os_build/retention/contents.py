"""Looks at the images of a repository, and removes some of them: the question, the request, and who carries them out.

What a registry refused is remembered for a while, so it is told once and not asked each time that a pool changes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Protocol, TypeVar

from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.question import Question
from windlass.kube.together import together
from windlass.os_build.credentials import Auths
from windlass.os_build.environment import Egress
from windlass.os_build.inputs.labels import CLUSTER_LABEL
from windlass.os_build.pool.questions import Credentials
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.access import RegistryRequest
from windlass.os_build.registry.repository import Registries, Repository, Trouble, Why
from windlass.os_build.request import Problem
from windlass.os_build.retention.rule import Contents, Held, Missing, Untold

SYSTEM: Final = "images"
COUNTS: Final = {Why.UNSUPPORTED: 6 * 3600.0, Why.DENIED: 3600.0, Why.UNANSWERED: 600.0}
"""Seconds for which a refusal counts."""
_AT_A_TIME: Final = 8
_LISTED: Final = 64
"""Manifests of a list of images that are looked at: there is one for each architecture."""

K = TypeVar("K")
V = TypeVar("V")


class Looked(Question[Contents], frozen=True):
    """What the repository holds: of `digests` all, and which tags and lists name them.

    lists  digests of manifests in use, which may be lists
    """

    SYSTEM: ClassVar[str] = SYSTEM

    target: Target
    digests: tuple[str, ...]
    lists: tuple[str, ...]
    push: Credentials
    egress: Egress


class Unwilling(Question[str], frozen=True):
    """Why the registry removes nothing now; empty: that is not known."""

    SYSTEM: ClassVar[str] = SYSTEM
    FREE: ClassVar[bool] = True

    target: str
    versions: str


class RemoveImage(RegistryRequest, frozen=True, kw_only=True):
    """Remove an image, with all its tags and with what is of no use without it; the answer is whether it is gone.

    versions  which state of the Secrets it is
    beside    digests of manifests that go with it
    """

    SYSTEM: ClassVar[str] = SYSTEM
    SECONDS: ClassVar[float] = 30.0

    target: str
    digest: str
    versions: str
    beside: tuple[str, ...] = ()


class Materials(Protocol):
    """`windlass.os_build.pool.questions.MaterialsAnswerer`."""

    async def credentials(self, question: Credentials) -> Auths | Problem: ...


class ImagesCarrier:
    """Sends RemoveImages, and remembers what registries refused."""

    def __init__(self, registries: Registries, *, clock: Clock | None = None) -> None:
        self.registries = registries
        self._clock = clock or SystemClock()
        self._refused: dict[tuple[str, str], tuple[float, Trouble]] = {}

    def unwilling(self, *, target: str, versions: str) -> str:
        """Why the registry removes nothing there now; empty: that is not known."""
        when, trouble = self._refused.get((target, versions), (0.0, None))
        if trouble is None or self._clock.monotonic() - when >= COUNTS[trouble.why]:
            return ""
        return str(trouble)

    async def send(self, request: RemoveImage, /) -> bool:
        target = Target.parse(request.target)
        repository = request.repository(self.registries, target, actions="pull,push,delete")
        try:
            await repository.delete(request.digest)
            for digest in request.beside:
                await repository.delete(digest)
        except Trouble as trouble:
            self.refuse(request.target, request.versions, trouble)
            return False
        return True

    def refuse(self, target: str, versions: str, trouble: Trouble) -> None:
        """Remember that the registry did not do something there."""
        self._refused[target, versions] = self._clock.monotonic(), trouble

    def doubt(self, request: RemoveImage, /) -> None:
        """Nothing is remembered of images: they are looked at again."""


class ImagesAnswerer:
    """Answers with the credentials that `materials` reads. Raises KubeErrors of that."""

    def __init__(self, carrier: ImagesCarrier, materials: Materials, *, namespace: str) -> None:
        self._carrier = carrier
        self._materials = materials
        self._namespace = namespace

    async def answer(self, question: Looked | Unwilling, /) -> Any:
        match question:
            case Unwilling(target, versions):
                return self._carrier.unwilling(target=target, versions=versions)
            case Looked(target=target, push=asked):
                push = await self._materials.credentials(asked)
                if isinstance(push, Problem):
                    return Contents({digest: Untold(push.text) for digest in question.digests})
                repository = self._carrier.registries.repository(
                    target,
                    push.login(target.host, target.path),
                    actions="pull",
                    origin=f"Secret {self._namespace}/{asked.secret}",
                    egress=question.egress,
                )
                return await look(repository, question.digests, lists=question.lists)


async def look(repository: Repository, digests: Iterable[str], *, lists: Iterable[str]) -> Contents:
    """What the repository holds. A registry that does not tell is an answer."""
    images = await _each(digests, lambda digest: _held(repository, digest))
    if not any(isinstance(found, Held) and CLUSTER_LABEL in found.labels for found in images.values()):
        return Contents(images)
    try:
        manifests = await _each(await repository.tags(), repository.manifest)
        beside = await _each(lists, repository.manifest)
    except Trouble as trouble:
        return Contents({digest: Untold(str(trouble)) for digest in images})
    # A tag that went meanwhile names nothing.
    tags = {tag: found.digest for tag, found in manifests.items() if found is not None}
    found_lists = [found for found in (*manifests.values(), *beside.values()) if found is not None and found.children]
    return Contents(images, tags, {each.digest: each.children for each in found_lists})


async def _held(repository: Repository, digest: str) -> Held | Missing | Untold:
    try:
        found = await repository.manifest(digest)
        if found is None:
            return Missing()
        if not found.children:
            return Held(await _labels(repository, found.document))
        children = [await repository.manifest(child) for child in found.children[:_LISTED]]
        every = [await _labels(repository, child.document) for child in children if child is not None]
    except Trouble as trouble:
        return Untold(str(trouble))
    if not every or len(every) != len(found.children):
        return Held({})
    return Held({key: value for key, value in every[0].items() if all(each.get(key) == value for each in every)})


async def _labels(repository: Repository, manifest: Mapping[str, Any]) -> Mapping[str, str]:
    match manifest:
        case {"config": {"digest": str(digest)}}:
            config = await repository.document(digest)
        case _:
            return {}
    match config:
        case {"config": {"Labels": dict(labels)}}:
            return {key: value for key, value in labels.items() if isinstance(value, str)}
    return {}


async def _each(keys: Iterable[K], ask: Callable[[K], Awaitable[V]]) -> dict[K, V]:
    """The answers by key, a few at a time. The first error ends it."""
    slots = asyncio.Semaphore(_AT_A_TIME)
    found: dict[K, V] = {}

    async def one(key: K) -> None:
        async with slots:
            found[key] = await ask(key)

    await together(one(key) for key in dict.fromkeys(keys))
    return found
