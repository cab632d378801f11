"""Reads for which architectures an image is, and joins images into a list, in the conversation of one question.

| question | requests |
|---|---|
| `shown` | GET of the manifest; of one image, GET of its configuration, too |
| `joined` | the same for each image, then PUT of the list |

What a registry shows counts only if its digest is the one that was asked for. The configuration of an image tells for
which architecture it is: what a builder says it builds for may differ, as a base image decides.
"""

from collections.abc import Mapping
from typing import Final

from windlass.os_build.pullspec import DIGEST, Target
from windlass.os_build.registry.answers import (
    Denied,
    Found,
    Gone,
    ListAnswer,
    NotAsked,
    Reply,
    Shown,
    Unlisted,
    about_list,
    about_manifest,
)
from windlass.os_build.registry.conversation import Conversation
from windlass.os_build.registry.index import (
    MANIFEST_TYPES,
    Child,
    architectures_of,
    config_of,
    digest_of,
    index_of,
    media_type_of,
    platform_of,
)

MANIFEST: Final = 4 * 1024 * 1024
"""Bytes: larger manifests are refused by registries."""


async def shown(
    conversation: Conversation, target: Target, reference: str, *, origin: str
) -> Shown | Gone | Denied | NotAsked:
    """The architectures of an image, or of all images of a list. Raises NoAnswer."""
    image = pullspec(target, reference)
    reply = await _manifest(conversation, image, reference, origin=origin)
    if not isinstance(reply, Reply):
        return reply
    digest, listed = digest_of(reply.body), architectures_of(reply.body)
    if listed is None:
        child = await _child(conversation, image, reply, origin=origin)
        if not isinstance(child, Child):
            return child
        listed = (child.architecture,)
    return Shown(digest, listed) if listed else NotAsked(f"{image} does not say for which architecture it is")


async def joined(
    conversation: Conversation, target: Target, tag: str, images: Mapping[str, str], *, origin: str
) -> ListAnswer:
    """Push the list. `images`: digests by architecture. Raises NoAnswer."""
    children: list[Child] = []
    for architecture, digest in images.items():
        image = target.digested(digest)
        found = await _manifest(conversation, image, digest, origin=origin)
        if isinstance(found, Reply) and architectures_of(found.body) is not None:
            return Unlisted(architecture, f"{image} is a list itself", "a list")
        match await _child(conversation, image, found, origin=origin) if isinstance(found, Reply) else found:
            case Child() as child if child.architecture == architecture:
                children.append(child)
            case Child(architecture=its):
                return Unlisted(architecture, f"{image}, built on {architecture}, is for {its}", its)
            case Gone(text):
                return Unlisted(architecture, text)
            case other:
                return other
    index = index_of(children)
    url = conversation.root / "manifests" / tag
    reply = await conversation.ask("PUT", url, body=index.body, kind=index.media_type)
    if reply.status in (200, 201, 202):
        return Found(index.digest)
    return about_list(reply, target.tagged(tag), origin=origin)


async def _manifest(
    conversation: Conversation, image: str, reference: str, *, origin: str
) -> Reply | Gone | Denied | NotAsked:
    """The manifest, if it is what was asked for."""
    url = conversation.root / "manifests" / reference
    reply = await conversation.ask("GET", url, accept=", ".join(MANIFEST_TYPES), most=MANIFEST)
    if reply.status != 200:
        return about_manifest(reply, image, origin=origin)
    return reply if _is_whole(reply, reference) else NotAsked(f"what the registry shows as {image} is another content")


async def _child(
    conversation: Conversation, image: str, manifest: Reply, *, origin: str
) -> Child | Gone | Denied | NotAsked:
    """One image as a list names it."""
    config = config_of(manifest.body)
    if config is None:
        return NotAsked(f"what the registry shows as {image} is no manifest of an image")
    reply = await conversation.ask("GET", conversation.root / "blobs" / config, accept="*/*", most=MANIFEST)
    if reply.status != 200:
        return about_manifest(reply, f"{image}, its configuration {config},", origin=origin)
    platform = platform_of(reply.body) if _is_whole(reply, config) else None
    if platform is None:
        return NotAsked(f"{image} does not say for which architecture it is")
    architecture, os, variant = platform
    return Child(
        digest=digest_of(manifest.body),
        media_type=media_type_of(manifest.body, manifest.headers.get("Content-Type", "")),
        size=len(manifest.body),
        architecture=architecture,
        os=os,
        variant=variant,
    )


def _is_whole(reply: Reply, reference: str) -> bool:
    return reply.whole and (not DIGEST.fullmatch(reference) or digest_of(reply.body) == reference)


def pullspec(target: Target, reference: str) -> str:
    """The image of this tag or digest."""
    return target.digested(reference) if DIGEST.fullmatch(reference) else target.tagged(reference)
