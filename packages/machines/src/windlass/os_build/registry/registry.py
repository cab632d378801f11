"""Asks a registry one question at a time: may these credentials push there, is this manifest there, for what is it.

A question is a few requests under one deadline, and is never repeated: its caller knows when to ask again.

| question | requests |
|---|---|
| `may_push` | begin an upload and cancel it; one more for each of: a challenge, a token |
| `manifest` | HEAD; GET where HEAD does not tell; the same for challenge and token |
| `architectures`, `join` | those of `images` |
"""

import asyncio
from collections.abc import Awaitable, Collection, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import DIGEST, Target
from windlass.os_build.registry import images
from windlass.os_build.registry.answers import (
    Answer,
    Denied,
    Found,
    Gone,
    Kind,
    ListAnswer,
    NotAsked,
    Reply,
    Shown,
    about_manifest,
    about_push,
    not_asked,
)
from windlass.os_build.registry.conversation import Conversation, location
from windlass.os_build.registry.images import MANIFEST
from windlass.os_build.registry.index import MANIFEST_TYPES, digest_of
from windlass.os_build.registry.repository import Repository
from windlass.os_build.registry.wire import NoAnswer, Wire

A = TypeVar("A")

NOTHING: Final = Egress()
SECONDS: Final = 9.0
"""For a question: less than a Call may take, so that its carrier can say what has happened."""
_CANCEL_SECONDS: Final = 2.0
_MANIFEST_TYPES: Final = ", ".join(MANIFEST_TYPES)


class Registry:
    """All registries, by their hosts.

    insecure     hosts, with or without port, that are asked by plain HTTP
    seconds      for a question with all its requests

    `egress` of a question is its proxy, and the certificates that are trusted beside the system's. Mirrors have no
    part: questions are about the repository that images are pushed to, and nothing is pushed to a mirror.
    """

    def __init__(self, *, insecure: Collection[str] = (), seconds: float = SECONDS) -> None:
        self._wire = Wire(insecure=insecure)
        self._seconds = seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._wire.close()

    async def may_push(self, target: Target, login: Login | None, *, origin: str, egress: Egress = NOTHING) -> Answer:
        """Begin an upload and cancel it. `origin` says where the credentials are from, for people."""
        conversation = Conversation(self._wire, target, login=login, actions="pull,push", egress=egress)
        try:
            async with asyncio.timeout(self._seconds):
                begun = await conversation.ask("POST", conversation.root / "blobs/uploads/")
                answer = about_push(begun, target, user=login.username if login else "", origin=origin)
                if answer.kind is Kind.GRANTED:
                    # The registry drops an upload that nobody ends, so it does not matter whether this works.
                    with suppress(NoAnswer, TimeoutError):
                        async with asyncio.timeout(_CANCEL_SECONDS):
                            await conversation.ask("DELETE", location(begun))
                return answer
        except NoAnswer as error:
            return not_asked(target, str(error))
        except TimeoutError:
            return not_asked(target, f"no answer within {self._seconds:g} s")

    def repository(
        self, target: Target, login: Login | None, *, actions: str, origin: str, egress: Egress = NOTHING
    ) -> Repository:
        """What is done in one repository; `actions` are those of the scope, such as `pull,push`."""
        conversation = Conversation(self._wire, target, login=login, actions=actions, egress=egress)
        return Repository(target, conversation, origin=origin, seconds=self._seconds)

    async def manifest(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress = NOTHING
    ) -> Found | Gone | Denied | NotAsked:
        """Is the manifest there? `reference` is a tag or a digest; `origin` as in `may_push`."""
        conversation = Conversation(self._wire, target, login=login, actions="pull", egress=egress)
        image = images.pullspec(target, reference)
        url = conversation.root / "manifests" / reference
        try:
            async with asyncio.timeout(self._seconds):
                reply = await conversation.ask("HEAD", url, accept=_MANIFEST_TYPES)
                if _digest(reply) is None and reply.status in (200, 400, 405, 500):
                    reply = await conversation.ask("GET", url, accept=_MANIFEST_TYPES, most=MANIFEST)
        except NoAnswer as error:
            return NotAsked(f"the registry could not be asked for {image}: {error}")
        except TimeoutError:
            return NotAsked(f"the registry could not be asked for {image}: no answer within {self._seconds:g} s")
        if (digest := _digest(reply)) is None:
            return about_manifest(reply, image, origin=origin)
        return Found(digest)

    async def architectures(
        self, target: Target, reference: str, login: Login | None, *, origin: str, egress: Egress = NOTHING
    ) -> Shown | Gone | Denied | NotAsked:
        """The architectures of an image, or of all images of a list. Parameters are those of `manifest`."""
        conversation = Conversation(self._wire, target, login=login, actions="pull", egress=egress)
        asking = images.shown(conversation, target, reference, origin=origin)
        return await self._within(asking, f"the registry could not be asked for {target}, {reference}")

    async def join(
        self, target: Target, tag: str, children: Mapping[str, str], login: Login | None, *, origin: str, egress: Egress
    ) -> ListAnswer:
        """Push the list of these images, which are digests by architecture, under the tag. Equal images give the same
        list, so this may be repeated."""
        conversation = Conversation(self._wire, target, login=login, actions="pull,push", egress=egress)
        pushing = images.joined(conversation, target, tag, children, origin=origin)
        return await self._within(pushing, f"the list {target.tagged(tag)} could not be pushed")

    async def _within(self, asking: Awaitable[A], what: str) -> A | NotAsked:
        try:
            async with asyncio.timeout(self._seconds):
                return await asking
        except NoAnswer as error:
            return NotAsked(f"{what}: {error}")
        except TimeoutError:
            return NotAsked(f"{what}: no answer within {self._seconds:g} s")


def _digest(reply: Reply) -> str | None:
    """The digest of the manifest that was shown."""
    if reply.status != 200:
        return None
    if DIGEST.fullmatch(told := reply.headers.get("Docker-Content-Digest", "")):
        return told
    is_manifest = reply.whole and "schemaVersion" in reply.document
    return digest_of(reply.body) if is_manifest else None
