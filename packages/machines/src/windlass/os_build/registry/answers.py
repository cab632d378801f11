"""Says what the answer of a registry means, and how that reads. Pure.

| answer | a push | a manifest |
|---|---|---|
| 202; 200 with a digest | GRANTED | Found |
| 401, 403; codes UNAUTHORIZED, DENIED | DENIED | Denied |
| 405; code UNSUPPORTED: read-only, or a mirror | DENIED | NotAsked |
| 404; codes NAME_UNKNOWN, NAME_INVALID, NOT_FOUND, MANIFEST_UNKNOWN | UNKNOWN | Gone |
| code UNKNOWN with `not found`; Quay's 500 with `deleted` or `expired` | NOT_ASKED | Gone |
| 429, 5xx, code TOOMANYREQUESTS, and everything else | NOT_ASKED | NotAsked |
"""

import re
from enum import StrEnum
from typing import Any, Final, TypeAlias

from msgspec import Struct
from multidict import CIMultiDictProxy
from yarl import URL

from windlass.kube.foreign import Malformed, read_json
from windlass.kube.retry_after import retry_after
from windlass.os_build.pullspec import Target

REFUSED: Final = frozenset({"UNAUTHORIZED", "DENIED"})
NO_SUCH: Final = frozenset({"NAME_UNKNOWN", "NAME_INVALID", "NOT_FOUND", "MANIFEST_UNKNOWN"})
_LONGEST: Final = 200


class Kind(StrEnum):
    """What is known about a push.

    GRANTED    the registry has begun an upload for these credentials
    DENIED     it refuses these credentials, or all pushes
    UNKNOWN    it has no such repository, and makes none
    NOT_ASKED  it has not answered the question: unreachable, throttling, failing
    """

    GRANTED = "Granted"
    DENIED = "Denied"
    UNKNOWN = "Unknown"
    NOT_ASKED = "NotAsked"


class Answer(Struct, frozen=True):
    """Whether a push is possible; `text` names registry, repository and remedy."""

    kind: Kind
    text: str


class Found(Struct, frozen=True):
    """The manifest is there."""

    digest: str


class Shown(Struct, frozen=True):
    """The image is there, and is for these `architectures`, sorted."""

    digest: str
    architectures: tuple[str, ...]


class Gone(Struct, frozen=True):
    """The registry has no such manifest."""

    text: str


class Denied(Struct, frozen=True):
    """The registry does not show manifests to these credentials."""

    text: str


class NotAsked(Struct, frozen=True):
    """The registry has not answered: the manifest may be there or not."""

    text: str


class Unlisted(Struct, frozen=True):
    """No list was made, because of the image for this `architecture`: it is gone, or for `found` instead."""

    architecture: str
    text: str
    found: str = ""


class Refused(Struct, frozen=True):
    """The registry takes no such list."""

    text: str


ListAnswer: TypeAlias = Found | Unlisted | Refused | Denied | NotAsked
"""What became of a list that was to be pushed."""


class Reply(Struct, frozen=True):
    """One HTTP answer. `whole` is False if the body was longer than what was read of it."""

    url: URL
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes = b""
    whole: bool = True

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object in the body; empty if it is none."""
        try:
            content = read_json(self.body)
        except Malformed:
            return {}
        return content if isinstance(content, dict) else {}

    @property
    def error(self) -> tuple[str, str]:
        """Code and message of the first error in the body; empty if it has none."""
        match self.document:
            case {"errors": [{"code": str(code), **rest}, *_]}:
                return code, str(rest.get("message") or "")
        return "", ""

    def __str__(self) -> str:
        """The status and the error, safe to show."""
        code, message = self.error
        pause = retry_after(self.headers.get("Retry-After")) if self.status in (429, 503) else None
        said = f"{self.status} {code}".rstrip() + (f": {message}" if message else "")
        return shown(f"{said}, it asks for a pause of {pause:.0f} s" if pause is not None else said)


def shown(text: str) -> str:
    """Text of others in one short line, without control characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def about_push(reply: Reply, target: Target, *, user: str, origin: str) -> Answer:
    """The answer to the begin of an upload. `user` is empty without credentials; `origin` says where they are from."""
    code, _ = reply.error
    whose = f"user {shown(user)}" if user else "anybody"
    if reply.status in (201, 202):
        return Answer(Kind.GRANTED, f"registry {target.host} lets {whose} push to {target.path}")
    if reply.status >= 500 or reply.status == 429 or code == "TOOMANYREQUESTS":
        return not_asked(target, f"it answers {reply}")
    if code in REFUSED or reply.status in (401, 403):
        if not user:
            remedy = f"{origin} has no credentials for it: add an entry for {target.host}"
        else:
            remedy = f"correct the credentials in {origin}, or allow {whose} to push there"
        return Answer(
            Kind.DENIED, f"registry {target.host} does not let {whose} push to {target.path} ({reply}): {remedy}"
        )
    if code in NO_SUCH or reply.status == 404:
        remedy = "create it there, or correct the name of the repository"
        return Answer(Kind.UNKNOWN, f"registry {target.host} has no repository {target.path} ({reply}): {remedy}")
    if code == "UNSUPPORTED" or reply.status == 405:
        return Answer(
            Kind.DENIED, f"registry {target.host} takes no pushes to {target.path} ({reply}): push to another registry"
        )
    return not_asked(target, f"it answers {reply}, as no registry does")


def not_asked(target: Target, why: str) -> Answer:
    """The answer when there is none."""
    return Answer(Kind.NOT_ASKED, f"registry {target.host} could not be asked about pushes to {target.path}: {why}")


def about_manifest(reply: Reply, image: str, *, origin: str) -> Gone | Denied | NotAsked:
    """The answer to a question for a manifest that was not shown; `image` is its pullspec."""
    code, message = reply.error
    quay_removed = reply.status == 500 and re.search("deleted|expired", message, re.IGNORECASE)
    if quay_removed or code in NO_SUCH or (code == "UNKNOWN" and "not found" in message.lower()):
        return Gone(f"{image} is not in the registry ({reply})")
    if reply.status >= 500 or reply.status == 429 or code == "TOOMANYREQUESTS":
        return NotAsked(f"the registry could not be asked for {image}: it answers {reply}")
    if code in REFUSED or reply.status in (401, 403):
        return Denied(f"the registry does not show {image} ({reply}): correct the credentials in {origin}")
    if reply.status == 404:
        return Gone(f"{image} is not in the registry ({reply})")
    return NotAsked(f"the registry could not be asked for {image}: it answers {reply}, as no registry does")


def about_list(reply: Reply, image: str, *, origin: str) -> Refused | Denied | NotAsked:
    """The answer to a list that was not taken; `image` is its pullspec."""
    code, _ = reply.error
    if reply.status >= 500 or reply.status == 429 or code == "TOOMANYREQUESTS":
        return NotAsked(f"the list {image} could not be pushed: the registry answers {reply}")
    if code in REFUSED or reply.status in (401, 403):
        return Denied(f"the registry does not take the list {image} ({reply}): correct the credentials in {origin}")
    return Refused(f"the registry does not take the list {image} ({reply}): allow OCI image indexes there")
