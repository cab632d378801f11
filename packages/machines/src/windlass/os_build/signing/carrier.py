"""Carries requests to sign images, and remembers which are signed.

    Plan.of(Call(target=pool, request=SignImage(image=..., versions=..., key=..., auths=..., secret=...)))
    carrier.signed(image=..., versions=...)         # "" if it is, else why not; None: nobody has tried

The registry is asked once for an image in the life of a process. What failed is tried again when its time is over
(`COUNTS`), or when a Secret changes.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct

from windlass.kube.clock import Clock
from windlass.kube.control.plan import Request
from windlass.kube.control.question import Question
from windlass.os_build.credentials import Auths
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.outcomes import Outcomes
from windlass.os_build.registry.repository import Registries, Trouble, Why, repository_for

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


class IsSigned(Question[str | None], frozen=True):
    """Why an image is not signed; empty: it is; None: nobody has tried. `versions` of the Secrets."""

    SYSTEM: ClassVar[str] = SYSTEM
    FREE: ClassVar[bool] = True

    image: str
    versions: str


class SignImage(Request, frozen=True, kw_only=True):
    """Sign an image, unless it is signed; the answer is that of `IsSigned`.

    image   its pullspec, with digest
    key     the Secret with the private key, and `key_secret` its name for people
    secret  names the Secret with the credentials, for people
    """

    SYSTEM: ClassVar[str] = SYSTEM
    SECONDS: ClassVar[float] = 40.0
    SECRET: ClassVar[frozenset[str]] = frozenset({"key", "auths", "egress"})

    image: str
    versions: str
    key: KeyData
    key_secret: str
    secret: str
    auths: Auths
    egress: Egress = Egress()


class Unasked:
    """Answers that nobody has tried."""

    async def answer(self, question: Any, /) -> None:
        return None


class SignaturesCarrier:
    """Sends SignImages. It needs the extra `signing` when it sends."""

    def __init__(self, registries: Registries, *, clock: Clock | None = None) -> None:
        self._registries = registries
        self._outcomes = Outcomes(clock)

    async def answer(self, question: IsSigned, /) -> str | None:
        return self.signed(image=question.image, versions=question.versions)

    def signed(self, *, image: str, versions: str) -> str | None:
        """The answer to `IsSigned`."""
        return self._outcomes.known(image, versions)

    async def send(self, request: SignImage, /) -> str:
        from windlass.os_build.signing.attach import sign
        from windlass.os_build.signing.key import WrongKey, read_key

        repository, _, digest = request.image.partition("@")
        target = Target.parse(repository)
        try:
            key = await asyncio.to_thread(read_key, request.key.data)
            found = repository_for(
                self._registries,
                target,
                request.auths,
                actions="pull,push",
                secret=request.secret,
                egress=request.egress,
            )
            await sign(found, digest, key)
        except WrongKey as wrong:
            why, seconds = f"Secret {request.key_secret}: {wrong}", _WRONG_KEY
        except Trouble as trouble:
            why, seconds = str(trouble), COUNTS[trouble.why]
        else:
            return self._outcomes.done(request.image, request.versions)
        return self._outcomes.failed(request.image, request.versions, why, seconds=seconds)

    def doubt(self, request: SignImage, /) -> None:
        """Nothing is remembered of a request without an answer: it is sent again."""
