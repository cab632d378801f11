"""Requests to registries as the user of a Secret; those about one image, whose outcome is remembered.

Plan.of(Call(target=pool, request=ProbeUpload(target=..., versions=..., **access_of(request, auths))))
"""

from typing import Any, ClassVar, Final, Generic, TypedDict, TypeVar

from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.plan import Request as CallRequest
from windlass.kube.control.question import Question
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.credentials import Auths, Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.repository import Registries, Repository
from windlass.os_build.request import Request

_REMEMBERED: Final = 1000
Q = TypeVar("Q", bound="ImageQuestion")
R = TypeVar("R", bound="ImageRequest")


class Access(TypedDict):
    """The fields of a `RegistryRequest`."""

    secret: str
    auths: Auths
    egress: Egress


def access_of(request: Request, auths: Auths) -> Access:
    """As the user of the Secret for pushing, whose credentials are `auths`."""
    return Access(secret=f"{NAMESPACE}/{request.push_secret}", auths=auths, egress=request.egress)


class RegistryRequest(CallRequest, frozen=True, kw_only=True):
    """A request to a registry.

    secret  names the Secret with the credentials, for people
    auths   the credentials
    egress  the proxy, and the certificates that are trusted
    """

    SECRET: ClassVar[frozenset[str]] = frozenset({"auths", "egress"})

    secret: str
    auths: Auths
    egress: Egress = Egress()

    @property
    def origin(self) -> str:
        """Where the credentials are from, for people."""
        return f"Secret {self.secret}"

    def login(self, target: Target) -> Login | None:
        """The credentials for a repository."""
        return self.auths.login(target.host, target.path)

    def repository(self, registries: Registries, target: Target, *, actions: str) -> Repository:
        """A repository, as this user."""
        return registries.repository(
            target, self.login(target), actions=actions, origin=self.origin, egress=self.egress
        )


class ImageQuestion(Question[str | None], frozen=True):
    """Why an image, a pullspec with digest, is not what it should be; empty: it is; None: nobody has tried.

    `versions` of the Secrets: with others it is tried again.
    """

    FREE: ClassVar[bool] = True

    image: str
    versions: str


class ImageRequest(RegistryRequest, frozen=True, kw_only=True):
    """Make an image what an `ImageQuestion` asks for, unless it is; the answer is that of the question."""

    SECONDS: ClassVar[float] = 40.0

    image: str
    versions: str

    @property
    def digest(self) -> str:
        return self.image.partition("@")[2]

    def where(self, registries: Registries) -> Repository:
        """The repository of the image."""
        return self.repository(registries, Target.parse(self.image.partition("@")[0]), actions="pull,push")


class Outcomes(Generic[Q, R]):
    """Remembers what became of ImageRequests, and answers their question: what was done for ever, what failed for a
    while."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[tuple[str, str], tuple[float, str]] = {}

    async def answer(self, question: Q, /) -> str | None:
        until, why = self._known.get((question.image, question.versions), (0.0, None))
        return why if why == "" or self._clock.monotonic() < until else None

    def done(self, request: R) -> str:
        """It was done."""
        return self._remember(request, "", 0.0)

    def failed(self, request: R, why: str, *, seconds: float) -> str:
        """It was not done; that counts for so long."""
        return self._remember(request, why, seconds)

    def _remember(self, request: R, why: str, seconds: float) -> str:
        self._known[request.image, request.versions] = self._clock.monotonic() + seconds, why
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return why


class Unasked:
    """Answers that nobody has tried."""

    async def answer(self, question: Any, /) -> None:
        return None
