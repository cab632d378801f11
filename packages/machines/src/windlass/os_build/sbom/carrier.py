"""Carries requests to attach the list of contents to an image, and remembers what became of them.

A document that is not attached keeps no image back.
"""

from typing import Any, ClassVar, Final

from msgspec import Struct

from windlass.kube.clock import Clock
from windlass.os_build.registry.access import ImageQuestion, ImageRequest, Outcomes
from windlass.os_build.registry.repository import Registries, Trouble
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


class IsAttached(ImageQuestion, frozen=True):
    """Whether an image has its list of contents."""

    SYSTEM: ClassVar[str] = SYSTEM


class AttachContents(ImageRequest, frozen=True, kw_only=True):
    """Attach a document to an image."""

    SYSTEM: ClassVar[str] = SYSTEM
    SECRET: ClassVar[frozenset[str]] = ImageRequest.SECRET | {"document"}

    document: Document


class ContentsCarrier(Outcomes[IsAttached, AttachContents]):
    """Sends AttachContents, and answers IsAttached."""

    def __init__(self, registries: Registries, *, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._registries = registries

    async def send(self, request: AttachContents, /) -> str:
        try:
            await attach(request.where(self._registries), request.digest, request.document.content)
        except Trouble as trouble:
            return self.failed(request, str(trouble), seconds=COUNTS)
        return self.done(request)

    def doubt(self, request: AttachContents, /) -> None:
        """Without an answer the image goes on without a list of contents."""
        self.failed(request, "the registry did not answer", seconds=COUNTS)
