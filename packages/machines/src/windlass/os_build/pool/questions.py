"""The questions of decisions about pools, and who answers them.

| system | questions | answered by |
|---|---|---|
| registry | `Answered`, `Manifest`, `Platforms`, `Pushed` | the carrier of probes |
| build-materials | `Credentials`, `Borrowed`, `Rendered`, `Meaning` | objects that no cache holds |
| the same | `Authorities` | a file of this machine |
| the same | `Cluster` | the namespace `kube-system`, which every cluster has once |
| memory | `Wanted`, `Refused`, `Unfit`, `Untold`, `Losses`, `Claimant` | the question: a rule notes a fact for later |

A note is lost with the process, or when an attempt does not look at it: then the fact is found again.
"""

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from windlass.api.core import ConfigMap, Namespace, Secret
from windlass.api.machineconfiguration import MachineConfig, RenderedMachineConfig
from windlass.kube.control.plan import Target as ObjectTarget
from windlass.kube.control.question import Asking, Question
from windlass.kube.control.seen import Absent, Present, Reader
from windlass.kube.errors import Forbidden, Undeclared
from windlass.os_build.constants import ARCHITECTURE
from windlass.os_build.credentials import Auths, Login, Secrets, auths
from windlass.os_build.environment import Egress, Files, Lent, certificates_in
from windlass.os_build.inputs.context import Context, rendered
from windlass.os_build.pool.snapshot import Settings
from windlass.os_build.pullspec import DIGEST, Target
from windlass.os_build.registry.answers import Answer, Denied, Found, Gone, ListAnswer, NotAsked, Shown
from windlass.os_build.registry.carrier import SYSTEM as REGISTRY
from windlass.os_build.registry.carrier import ImageList
from windlass.os_build.request import PULL_SECRET, PUSH_SECRET, Problem, Request
from windlass.os_build.sbom.carrier import Document, IsAttached
from windlass.os_build.sbom.document import document
from windlass.os_build.signing.carrier import IsSigned, KeyData

MATERIALS: Final = "build-materials"
CLUSTER_NAMESPACE: Final = "kube-system"
MEMORY: Final = "memory"

A = TypeVar("A")
ManifestAnswer: TypeAlias = Found | Gone | Denied | NotAsked


class Answered(Question[Answer | None], frozen=True):
    """What the registry said to a push with these Secrets; None: it has not been asked, or too long ago."""

    SYSTEM: ClassVar[str] = REGISTRY
    FREE: ClassVar[bool] = True

    target: str
    versions: str


class Credentials(Question[Auths | Problem], frozen=True):
    """What is in a Secret now.

    key       of the ConfigMap that names it, `named_in` another place that does; both for people
    versions  of the Secrets: credentials that are changed meanwhile are read again
    """

    SYSTEM: ClassVar[str] = MATERIALS

    secret: str
    key: str
    named_in: str
    versions: str


class SigningData(Question[KeyData | Problem], frozen=True):
    """What is in the Secret with the signing key now. `versions` of the Secrets."""

    SYSTEM: ClassVar[str] = MATERIALS

    secret: str
    versions: str


class ContentsOf(Question[Document | Problem], frozen=True):
    """The list of what was added to an image, a pullspec with digest, that was built from this request."""

    SYSTEM: ClassVar[str] = MATERIALS

    request: Request
    image: str


class Authorities(Question[str | Problem], frozen=True):
    """The certificates of registries that are in the file or folder `path` now, in PEM."""

    SYSTEM: ClassVar[str] = MATERIALS
    FREE: ClassVar[bool] = True

    path: Path


class Borrowed(Question[Mapping[str, Files]], frozen=True):
    """The files of what is lent to a build, by path."""

    SYSTEM: ClassVar[str] = MATERIALS

    lent: tuple[Lent, ...]


class Manifest(Question[ManifestAnswer], frozen=True):
    """Whether the registry has an image, as it tells the user of the push Secret."""

    SYSTEM: ClassVar[str] = REGISTRY

    target: Target
    reference: str
    push: Credentials
    egress: Egress = Egress()


class Platforms(Question[Shown | Gone | Denied | NotAsked], frozen=True):
    """For which architectures an image is, as the registry tells the user of `secret`. What a digest names stays."""

    SYSTEM: ClassVar[str] = REGISTRY
    KEPT: ClassVar[bool] = True

    target: Target
    reference: str
    secret: Credentials
    egress: Egress = Egress()


class Pushed(Question[ListAnswer | None], frozen=True):
    """What became of a list that was pushed; None: it was not, or too long ago."""

    SYSTEM: ClassVar[str] = REGISTRY
    FREE: ClassVar[bool] = True

    list: ImageList


class Rendered(Question[Context | Problem], frozen=True):
    """The build context of a request: about a megabyte, which is not kept after the attempt."""

    SYSTEM: ClassVar[str] = MATERIALS

    request: Request


class Meaning(Question[RenderedMachineConfig | None], frozen=True):
    """What a rendered MachineConfig means for an image; None: it cannot be read. Its name is a hash of its content."""

    SYSTEM: ClassVar[str] = MATERIALS
    KEPT: ClassVar[bool] = True

    name: str


class Cluster(Question[str | Problem], frozen=True):
    """The identity of this cluster: the uid of its namespace kube-system. Objects that are restored elsewhere are of
    another cluster then."""

    SYSTEM: ClassVar[str] = MATERIALS
    KEPT: ClassVar[bool] = True


class _Note(Question[A], Generic[A], frozen=True, eq=False):
    """A fact that a rule found, kept for later attempts. Notes about the same are one question: `known` finds the last.

    The time of the answer is that of the note.
    """

    SYSTEM: ClassVar[str] = MEMORY
    KEPT: ClassVar[bool] = True
    FREE: ClassVar[bool] = True

    about: Any
    found: A | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Note) and type(self) is type(other) and self.about == other.about

    def __hash__(self) -> int:
        return hash((type(self), self.about))


class Wanted(_Note[None], frozen=True, eq=False):
    """These inputs are wanted."""


class Refused(_Note[str], frozen=True, eq=False):
    """The API server refused to create what these inputs, backend and Secrets need; `found` is why."""


class Unfit(_Note[Problem], frozen=True, eq=False):
    """This backend cannot build this request; `found` is why."""


class Untold(_Note[None], frozen=True, eq=False):
    """The registry does not tell whether it has this image."""


class Losses(_Note[tuple[datetime, ...]], frozen=True, eq=False):
    """When builds of these inputs ended that the infrastructure lost."""


class Claimant(_Note[ObjectTarget], frozen=True, eq=False):
    """This MachineOSConfig names the pool."""


QUESTIONS: Final = (
    *(Answered, Authorities, Borrowed, Cluster, ContentsOf, Credentials, IsAttached, IsSigned, Manifest, Meaning),
    *(Platforms, Pushed, Rendered, SigningData),
    *(Wanted, Refused, Unfit, Untold, Losses, Claimant),
)


def push_credentials(request: Request, versions: str) -> Credentials:
    """The question about the Secret for pushing."""
    return Credentials(request.push_secret, PUSH_SECRET, request.named_in, versions)


def pull_credentials(request: Request, versions: str) -> Credentials:
    """The question about the Secret for pulling."""
    return Credentials(request.pull_secret, PULL_SECRET, request.named_in, versions)


def platforms(seen: Asking, question: Platforms) -> Shown | Gone | Denied | NotAsked:
    """The architectures of an image. What is kept counts only if it was shown, under a digest."""
    known = seen.known(question)
    if known and isinstance(known.value, Shown) and DIGEST.fullmatch(question.reference):
        return known.value
    return seen.need(question, this_attempt=True)


def current_secrets(seen: Asking, request: Request, versions: str) -> Secrets | Problem:
    """Both are read at the same time; one that serves for both is read once."""
    ask_pull = pull_credentials(request, versions)
    if request.push_secret == request.pull_secret:
        pull = push = seen.need(ask_pull)
    else:
        pull, push = seen.need(ask_pull, push_credentials(request, versions))
    if isinstance(pull, Problem):
        return pull
    return push if isinstance(push, Problem) else Secrets(pull, push, versions)


class Registries(Protocol):
    """What is asked of registries: `windlass.os_build.registry.carrier.RegistryCarrier`."""

    def answered(self, *, target: str, versions: str) -> Answer | None: ...

    async def manifest(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> ManifestAnswer: ...

    async def architectures(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress
    ) -> Shown | Gone | Denied | NotAsked: ...

    def pushed(self, wanted: ImageList) -> ListAnswer | None: ...


def _authorities(path: Path) -> str | Problem:
    try:
        return certificates_in(path)
    except (OSError, ValueError) as error:
        return Problem("EnvironmentInvalid", f"--registry-ca {path}: {error}: correct the file, or remove it")


class MemoryAnswerer:
    """Answers a note with the fact that the note states."""

    async def answer(self, question: _Note[A], /) -> A | None:
        return question.found


class MaterialsAnswerer:
    """Reads from the API server what a build is made of. Raises KubeErrors."""

    def __init__(self, reader: Reader, settings: Settings) -> None:
        self._reader = reader
        self._settings = settings

    async def answer(self, question: Question[Any], /) -> Any:
        match question:
            case Cluster():
                return await self._cluster()
            case ContentsOf(request, image):
                return await self._contents_of(request, image)
            case SigningData(secret):
                return await self._signing_data(secret)
            case Authorities(path):
                # The file may be on a network. Its certificates are rotated, if it is a mount of a ConfigMap.
                return await asyncio.to_thread(_authorities, path)
            case Borrowed(lent):
                return {each.at: Files(await self._files(each)) for each in lent}
            case Credentials():
                return await self.credentials(question)
            case Rendered(request):
                return await self._context(request)
            case Meaning(name):
                found = await self._reader.see(RenderedMachineConfig, name, live=True)
                return found.object if isinstance(found, Present) else None

    async def _contents_of(self, request: Request, image: str) -> Document | Problem:
        found = await self._reader.see(MachineConfig, request.config, live=True)
        context = await self._context(request)
        if isinstance(context, Problem) or not isinstance(found, Present):
            text = context.text if isinstance(context, Problem) else f"MachineConfig {request.config} cannot be read"
            return Problem("MachineConfigMissing", text)
        digest, created = image.partition("@")[2], datetime.now(UTC)
        make = partial(document, request, bytes(found.raw), context, digest=digest, created=created)
        return Document(msgspec.json.encode(await asyncio.to_thread(make)))

    async def _signing_data(self, name: str) -> KeyData | Problem:
        namespace = self._settings.namespace
        found = await self._reader.see(Secret, name, namespace=namespace, live=True)
        if isinstance(found, Present):
            return KeyData(found.object.data)
        remedy = f"create it with `cosign generate-key-pair k8s://{namespace}/{name}`"
        text = f"Secret {namespace}/{name}, which --signing-key names"
        if isinstance(found, Absent):
            return Problem("SigningFailed", f"{text}, does not exist: {remedy}")
        return Problem("SigningFailed", f"{text}, cannot be read: {found.why}")

    async def _cluster(self) -> str | Problem:
        try:
            found = await self._reader.see(Namespace, CLUSTER_NAMESPACE, live=True)
        except (Forbidden, Undeclared) as error:
            text = (
                f"Namespace {CLUSTER_NAMESPACE} may not be read: {error}: apply the present manifests of this process"
            )
            return Problem("EnvironmentInvalid", text)
        if isinstance(found, Present) and found.metadata.uid:
            return found.metadata.uid
        return Problem(
            "EnvironmentInvalid", f"Namespace {CLUSTER_NAMESPACE} does not exist, by which a cluster is known"
        )

    async def _files(self, lent: Lent) -> Mapping[str, bytes]:
        """The files of one object; none if it is gone meanwhile."""
        if lent.kind == "Secret":
            secret = await self._reader.see(Secret, lent.name, namespace=self._settings.namespace, live=True)
            data = secret.object.data if isinstance(secret, Present) else {}
            return {name: base64.b64decode(text) for name, text in data.items()}
        found = await self._reader.see(ConfigMap, lent.name, namespace=self._settings.namespace, live=True)
        if not isinstance(found, Present):
            return {}
        binary = {name: base64.b64decode(text) for name, text in found.object.binary_data.items()}
        return {name: text.encode() for name, text in found.object.data.items()} | binary

    async def credentials(self, question: Credentials) -> Auths | Problem:
        namespace, name = self._settings.namespace, question.secret
        found = await self._reader.see(Secret, name, namespace=namespace, live=True)
        if isinstance(found, Present):
            return auths(found.object, key=question.key)
        if isinstance(found, Absent):
            named_in = question.named_in or f"{question.key} of the builder's ConfigMap"
            text = f"Secret {namespace}/{name} does not exist, which {named_in} names"
            return Problem("SecretMissing", f"{text}: create it, or name another")
        return Problem("SecretInvalid", f"Secret {namespace}/{name} cannot be read: {found.why}")

    async def _context(self, request: Request) -> Context | Problem:
        found = await self._reader.see(MachineConfig, request.config, live=True)
        if not isinstance(found, Present):
            why = "does not exist" if isinstance(found, Absent) else f"cannot be read: {found.why}"
            text = f"MachineConfig {request.config} {why}: pool {request.pool} names it"
            return Problem("MachineConfigMissing", text)
        # A megabyte of JSON takes longer than the loop may stand still.
        arch = request.architecture or ARCHITECTURE
        how = partial(rendered, apply_by=self._settings.apply_by, arch=arch, lint=self._settings.bootc_lint)
        return await asyncio.to_thread(how, request, bytes(found.raw))


class RegistryAnswerer:
    """Asks registries, with the credentials that `materials` reads. Raises KubeErrors of that."""

    def __init__(self, registries: Registries, materials: MaterialsAnswerer, *, namespace: str) -> None:
        self._registries = registries
        self._materials = materials
        self._namespace = namespace

    async def answer(self, question: Answered | Manifest | Platforms | Pushed, /) -> Any:
        match question:
            case Answered(target, versions):
                return self._registries.answered(target=target, versions=versions)
            case Pushed(wanted):
                return self._registries.pushed(wanted)
            case Manifest(target=target, reference=reference, push=asked, egress=egress):
                ask: Any = self._registries.manifest
            case Platforms(target=target, reference=reference, secret=asked, egress=egress):
                ask = self._registries.architectures
        found = await self._materials.credentials(asked)
        if isinstance(found, Problem):
            return NotAsked(found.text)
        login, origin = found.login(target.host, target.path), f"Secret {self._namespace}/{asked.secret}"
        return await ask(target, reference, login, origin=origin, egress=egress)
