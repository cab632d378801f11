"""Carries requests to attach the list of contents to an image, and remembers what became of them.

A document that is not attached keeps no image back.
"""

from typing import Any, ClassVar, Final

from msgspec import Struct

from windlass.kube.clock import Clock
from windlass.kube.control.plan import Request
from windlass.kube.control.question import Question
from windlass.os_build.credentials import Auths
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.outcomes import Outcomes
from windlass.os_build.registry.repository import Registries, Trouble, repository_for
from windlass.os_build.sbom.attach import attach

SYSTEM: Final = "contents"
COUNTS: Final = 600.0
"""Seconds for which a failure counts."""


class Document(Struct, frozen=True):
    """A document in JSON. Only its size is shown."""

    content: bytes

    def __repr__(self) -> str:
        return f"Document({len(self.content)} bytes)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("bytes", len(self.content))]


class IsAttached(Question[str | None], frozen=True):
    """Why an image has no list of contents; empty: it has one; None: nobody has tried."""

    SYSTEM: ClassVar[str] = SYSTEM
    FREE: ClassVar[bool] = True

    image: str
    versions: str


class AttachContents(Request, frozen=True, kw_only=True):
    """Attach a document to an image, unless it has one; the answer is that of `IsAttached`.

    `image` is a pullspec with digest, `secret` names the Secret with the credentials, for people.
    """

    SYSTEM: ClassVar[str] = SYSTEM
    SECONDS: ClassVar[float] = 40.0
    SECRET: ClassVar[frozenset[str]] = frozenset({"document", "auths", "egress"})

    image: str
    versions: str
    document: Document
    secret: str
    auths: Auths
    egress: Egress = Egress()


class ContentsCarrier:
    """Sends AttachContents, and answers IsAttached."""

    def __init__(self, registries: Registries, *, clock: Clock | None = None) -> None:
        self._registries = registries
        self._outcomes = Outcomes(clock)

    async def answer(self, question: IsAttached, /) -> str | None:
        return self._outcomes.known(question.image, question.versions)

    async def send(self, request: AttachContents, /) -> str:
        repository, _, digest = request.image.partition("@")
        found = repository_for(
            self._registries,
            Target.parse(repository),
            request.auths,
            actions="pull,push",
            secret=request.secret,
            egress=request.egress,
        )
        try:
            await attach(found, digest, request.document.content)
        except Trouble as trouble:
            return self._outcomes.failed(request.image, request.versions, str(trouble), seconds=COUNTS)
        return self._outcomes.done(request.image, request.versions)

    def doubt(self, request: AttachContents, /) -> None:
        """Without an answer the image goes on without a list of contents."""
        self._outcomes.failed(request.image, request.versions, "the registry did not answer", seconds=COUNTS)
