"""Carries requests to sign images, and remembers which are signed.

The registry is asked once for an image in the life of a process. What failed is tried again when its time is over
(`COUNTS`), or when a Secret changes.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct

from windlass.kube.clock import Clock
from windlass.os_build.registry.access import ImageQuestion, ImageRequest, Outcomes
from windlass.os_build.registry.repository import Registries, Trouble, Why

SYSTEM: Final = "signatures"
COUNTS: Final = {Why.UNANSWERED: 25.0, Why.DENIED: 290.0, Why.UNSUPPORTED: 290.0}
"""Seconds for which a failure counts: less than until it is tried again."""
_WRONG_KEY: Final = 290.0


class KeyData(Struct, frozen=True):
    """The data of the Secret with the private key. Nothing of it is shown."""

    data: Mapping[str, str]

    def __repr__(self) -> str:
        return "KeyData()"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


class IsSigned(ImageQuestion, frozen=True):
    """Whether an image is signed."""

    SYSTEM: ClassVar[str] = SYSTEM


class SignImage(ImageRequest, frozen=True, kw_only=True):
    """Sign an image. `key`: the Secret with the private key, and `key_secret` its name for people."""

    SYSTEM: ClassVar[str] = SYSTEM
    SECRET: ClassVar[frozenset[str]] = ImageRequest.SECRET | {"key"}

    key: KeyData
    key_secret: str


class SignaturesCarrier(Outcomes[IsSigned, SignImage]):
    """Sends SignImages, and answers IsSigned. It needs the extra `signing` when it sends."""

    def __init__(self, registries: Registries, *, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._registries = registries

    async def send(self, request: SignImage, /) -> str:
        from windlass.os_build.signing.attach import sign
        from windlass.os_build.signing.key import SECRET, WrongKey, read_key

        try:
            key = await asyncio.to_thread(read_key, request.key.data)
            await sign(request.where(self._registries), request.digest, key)
        except WrongKey as wrong:
            why = str(wrong).replace(SECRET, request.key_secret)
            return self.failed(request, f"Secret {request.key_secret}: {why}", seconds=_WRONG_KEY)
        except Trouble as trouble:
            return self.failed(request, str(trouble), seconds=COUNTS[trouble.why])
        return self.done(request)

    def doubt(self, request: SignImage, /) -> None:
        """Nothing is remembered of a request without an answer: it is sent again."""
