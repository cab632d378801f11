"""The vocabulary of the bucket service, and what carries it there."""

from types import TracebackType
from typing import Any, ClassVar, Self

import aiohttp
import msgspec

from tests.unit.kube.control.buckets.service import Bucket
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.plan import Request
from windlass.kube.errors import Failure


class CreateBucket(Request, frozen=True):
    SYSTEM: ClassVar[str] = "buckets"
    name: str
    owner: str


class DeleteBucket(Request, frozen=True):
    SYSTEM: ClassVar[str] = "buckets"
    id: str

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("bucket", self.id, None),)


class QuotaUsedUp(Failure):
    """There may be no more buckets."""


class Throttled(Failure):
    """The service wants to hear nothing for `retry_after` seconds."""

    transient = True

    def __init__(self, text: str, *, retry_after: float) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Unreachable(Failure):
    """The service could not be looked at."""

    transient = True


class Unanswered(Unreachable):
    """A request was sent and the answer did not come."""

    unknown_outcome = True


class BucketCarrier:
    """Speaks to the service at `url`. It remembers what it has seen of a mark until it asks for a change of it."""

    LOOK_SECONDS: ClassVar[float] = 30.0

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None
        self._remembered: dict[str, tuple[Bucket, ...]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, request: CreateBucket | DeleteBucket, /) -> Bucket | None:
        match request:
            case CreateBucket():
                body = await self._ask("POST", "/buckets", json={"name": request.name, "owner": request.owner})
                made = msgspec.json.decode(body, type=Bucket)
                self._remembered[made.owner] = (*self._remembered.get(made.owner, ()), made)
                return made
            case DeleteBucket():
                await self._ask("DELETE", f"/buckets/{request.id}")
                self._forget(request.id)
                return None

    def doubt(self, request: CreateBucket | DeleteBucket, /) -> None:
        if isinstance(request, CreateBucket):
            self._remembered.pop(request.owner, None)
        else:
            self._forget(request.id)

    async def marked(self, owner: str) -> tuple[Bucket, ...]:
        """Those with this mark, oldest first. That there is none is never said from memory."""
        if not (found := self._remembered.get(owner, ())):
            limit = aiohttp.ClientTimeout(total=self.LOOK_SECONDS)
            body = await self._ask("GET", f"/buckets?owner={owner}", timeout=limit)
            found = self._remembered[owner] = msgspec.json.decode(body, type=tuple[Bucket, ...])
        return found

    def _forget(self, identity: str) -> None:
        for owner, buckets in list(self._remembered.items()):
            if any(bucket.id == identity for bucket in buckets):
                del self._remembered[owner]

    async def _ask(self, method: str, path: str, **more: Any) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None), middlewares=(_once,))
        lost = Unreachable if method == "GET" else Unanswered
        try:
            async with self._session.request(method, self._url + path, **more) as answer:
                text = await answer.read()
        except (aiohttp.ClientError, _Severed, TimeoutError) as error:
            raise lost(f"{method} {path}: {type(error).__name__}") from error
        if answer.status == 429:
            raise Throttled(text.decode(), retry_after=float(answer.headers["Retry-After"]))
        if answer.status == 403:
            raise QuotaUsedUp(text.decode())
        if answer.status >= 400 and answer.status != 404:
            raise lost(f"{method} {path}: {answer.status}")
        return text


class _Severed(Exception):
    """The connection broke."""


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keeps aiohttp from sending GET and DELETE a second time by itself."""
    try:
        return await handler(request)
    except aiohttp.ClientError as error:
        raise _Severed(str(error)) from error
