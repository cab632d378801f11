"""Reads, writes and removes what one repository of a registry holds: tags, manifests and blobs.

Each method is a few requests under one deadline, and repeats nothing. What the registry does not do is a `Trouble`.
Source: the OCI distribution specification.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct
from yarl import URL

from windlass.kube.foreign import Malformed, read_json
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import DIGEST, Target
from windlass.os_build.registry.answers import NO_SUCH, REFUSED, Reply, shown
from windlass.os_build.registry.conversation import Conversation, location
from windlass.os_build.registry.images import MANIFEST
from windlass.os_build.registry.index import MANIFEST_TYPES, OCI_INDEX, children_of, digest_of, media_type_of
from windlass.os_build.registry.wire import NoAnswer

MOST_TAGS: Final = 5000
_PAGE: Final = 1000
_TYPES: Final = ", ".join(MANIFEST_TYPES)
_BLOB_BYTES: Final = 8 * 2**20
_TAGS_BYTES: Final = 2**20

T = TypeVar("T")


class Why(StrEnum):
    """Why a registry did not do what it was asked for."""

    DENIED = "Denied"
    """The registry refuses these credentials."""
    UNSUPPORTED = "Unsupported"
    """The registry offers no such request to any user."""
    UNANSWERED = "Unanswered"
    """The registry has not answered, or not as registries do. It may another time."""


class Trouble(Exception):
    """The registry did not do what it was asked for; the text names the repository and the remedy."""

    def __init__(self, why: Why, text: str) -> None:
        super().__init__(text)
        self.why = why


class Manifest(Struct, frozen=True):
    """A manifest as the registry has it."""

    digest: str
    media_type: str
    content: bytes

    @property
    def document(self) -> dict[str, Any]:
        return _object(self.content)

    @property
    def children(self) -> tuple[str, ...]:
        """The digests of the manifests that an index lists; none of another manifest."""
        return children_of(self.content)


class Repository:
    """One repository, as the user of a conversation.

    origin   says where the credentials are from, for people
    seconds  the deadline of each method
    """

    def __init__(self, target: Target, conversation: Conversation, *, origin: str, seconds: float) -> None:
        self.target = target
        self._conversation = conversation
        self._origin = origin
        self._seconds = seconds

    async def tags(self) -> tuple[str, ...]:
        """All tags. Raises Trouble, also if there are more than `MOST_TAGS`."""
        found: list[str] = []
        url = (self._conversation.root / "tags/list").with_query(n=_PAGE)
        what = f"list the tags of {self.target}"
        while True:
            reply = await self._within(partial(self._conversation.ask, "GET", url, most=_TAGS_BYTES), what)
            if _is_absent(reply):
                return ()
            self._demand(reply, (200,), what)
            named = reply.document.get("tags") or []
            if not reply.whole or not isinstance(named, list):
                raise Trouble(Why.UNANSWERED, f"the registry's list of the tags of {self.target} cannot be read")
            found += [each for each in named if isinstance(each, str)]
            if len(found) > MOST_TAGS:
                text = f"{self.target} has more than {MOST_TAGS} tags, and no more are looked at"
                raise Trouble(Why.UNSUPPORTED, f"{text}: remove some by the registry's own rules")
            following = _next(reply)
            if following is None or not named:
                return tuple(found)
            url = following

    async def manifest(self, reference: str) -> Manifest | None:
        """The manifest of a tag or a digest; None: there is none. Raises Trouble."""
        what = f"show {reference} of {self.target}"
        url = self._conversation.root / "manifests" / reference
        reply = await self._within(lambda: self._conversation.ask("GET", url, accept=_TYPES, most=MANIFEST), what)
        if _is_absent(reply):
            return None
        self._demand(reply, (200,), what)
        digest = digest_of(reply.body)
        if not reply.whole or (DIGEST.fullmatch(reference) and digest != reference):
            raise Trouble(Why.UNANSWERED, f"the registry's answer to {what} is not that manifest")
        return Manifest(digest, media_type_of(reply.body, reply.headers.get("Content-Type", "")), reply.body)

    async def document(self, digest: str) -> Mapping[str, Any]:
        """The JSON object that is the blob with this digest. Raises Trouble, also if there is none."""
        content = await self.blob(digest)
        return _object(content)

    async def referrers(self, digest: str) -> Mapping[str, Any] | None:
        """The list of what is attached to an image; None: the registry does not keep such lists. Raises Trouble."""
        what = f"list what is attached to {digest} of {self.target}"
        url = self._conversation.root / "referrers" / digest
        reply = await self._within(partial(self._conversation.ask, "GET", url, accept=OCI_INDEX, most=MANIFEST), what)
        if reply.status in (404, 405) or reply.error[0] == "UNSUPPORTED":
            return None
        self._demand(reply, (200,), what)
        return reply.document

    async def blob(self, digest: str) -> bytes:
        """The blob, of at most 8 MiB. Raises Trouble, also if there is none."""
        what = f"show the blob {digest} of {self.target}"
        url = self._conversation.root / "blobs" / digest
        reply = await self._within(lambda: self._conversation.ask("GET", url, accept="*/*", most=_BLOB_BYTES), what)
        self._demand(reply, (200,), what)
        if not reply.whole or digest_of(reply.body) != digest:
            raise Trouble(Why.UNANSWERED, f"the registry's answer to {what} is not that blob")
        return reply.body

    async def delete(self, digest: str) -> None:
        """Remove a manifest, with all its tags. One that is gone is no trouble. Raises Trouble."""
        if not DIGEST.fullmatch(digest):
            raise ValueError(f"{digest!r} is no digest: only manifests are removed, and never by a tag")
        what = f"remove {digest} from {self.target}"
        url = self._conversation.root / "manifests" / digest
        reply = await self._within(lambda: self._conversation.ask("DELETE", url), what)
        if not _is_absent(reply):
            self._demand(reply, (200, 202, 204), what)

    async def put_blob(self, content: bytes) -> str:
        """Store a blob, unless it is there; its digest. Raises Trouble."""
        digest = digest_of(content)
        what = f"take a blob of {self.target}"
        root, ask = self._conversation.root, self._conversation.ask

        async def put() -> Reply:
            held = await ask("HEAD", root / "blobs" / digest, accept="*/*")
            if held.status == 200:
                return held
            begun = await ask("POST", root / "blobs/uploads/")
            if begun.status != 202:
                return begun
            url = location(begun).update_query(digest=digest)
            return await ask("PUT", url, body=content, kind="application/octet-stream")

        self._demand(await self._within(put, what), (200, 201), what)
        return digest

    async def put_manifest(self, reference: str, content: bytes, *, media_type: str) -> Reply:
        """Store a manifest under a tag or its digest. Raises Trouble."""
        what = f"take the manifest {reference} of {self.target}"
        url = self._conversation.root / "manifests" / reference
        reply = await self._within(lambda: self._conversation.ask("PUT", url, body=content, kind=media_type), what)
        self._demand(reply, (201, 202), what)
        return reply

    async def _within(self, ask: Callable[[], Awaitable[T]], what: str) -> T:
        try:
            async with asyncio.timeout(self._seconds):
                return await ask()
        except NoAnswer as error:
            raise Trouble(Why.UNANSWERED, f"the registry could not be asked to {what}: {error}") from error
        except TimeoutError:
            text = f"the registry could not be asked to {what}: no answer within {self._seconds:g} s"
            raise Trouble(Why.UNANSWERED, text) from None

    def _demand(self, reply: Reply, wanted: tuple[int, ...], what: str) -> None:
        """Raises Trouble unless the answer is what was asked for."""
        code, _ = reply.error
        if reply.status in wanted:
            return
        if reply.status >= 500 or reply.status == 429 or code == "TOOMANYREQUESTS":
            raise Trouble(Why.UNANSWERED, f"the registry could not be asked to {what}: it answers {reply}")
        if code == "UNSUPPORTED" or reply.status == 405:
            raise Trouble(Why.UNSUPPORTED, f"the registry does not {what} ({reply}): allow that in its settings")
        if code in REFUSED or reply.status in (401, 403):
            remedy = f"correct the credentials in {self._origin}, or allow their user to do that"
            raise Trouble(Why.DENIED, f"the registry refuses to {what} ({reply}): {remedy}")
        raise Trouble(Why.UNANSWERED, f"the registry does not {what}: it answers {reply}")


class Registries(Protocol):
    """`windlass.os_build.registry.registry.Registry`."""

    def repository(
        self, target: Target, login: Login | None, *, actions: str, origin: str, egress: Egress
    ) -> Repository: ...


def _is_absent(reply: Reply) -> bool:
    """The registry says that there is no such thing. A page that is not a registry's may have the status 404 too, and
    says nothing."""
    return reply.status == 404 and reply.error[0] in NO_SUCH


def _next(reply: Reply) -> URL | None:
    """The next page of a list."""
    link = reply.headers.get("Link", "")
    if not link.startswith("<") or 'rel="next"' not in link:
        return None
    target = link[1:].partition(">")[0]
    try:
        return reply.url.join(URL(target, encoded=True))
    except ValueError:
        raise Trouble(
            Why.UNANSWERED, f"the registry's list of tags goes on at {shown(target)}, which is no URL"
        ) from None


def _object(content: bytes) -> dict[str, Any]:
    try:
        found = read_json(content)
    except Malformed:
        return {}
    return found if isinstance(found, dict) else {}
