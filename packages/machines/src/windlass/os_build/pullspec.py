"""Names repositories of a registry: where images are pushed, and the pullspec of what was pushed.

    target = Target.parse("registry.example.com:5000/org/os:latest")
    target.tagged("build-worker-...")        # registry.example.com:5000/org/os:build-worker-...
    target.digested("sha256:...")            # registry.example.com:5000/org/os@sha256:...

Source of the grammar: github.com/distribution/reference. A host is required, as the operator requires it: the first
component counts as one if it has a dot or a port, or is `localhost`.
"""

import re
from typing import Final

from msgspec import Struct

BUILDER_IMAGE: Final = "quay.io/buildah/stable:latest"
"""What Jobs build with, unless told otherwise. `make pin-images` writes its digest here."""

_HOST: Final = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]{1,5})?"
    r"|\[[0-9a-fA-F:]+\](?::[0-9]{1,5})?"
)
_COMPONENT: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
DIGEST: Final = re.compile(r"sha256:[a-f0-9]{64}")
_LONGEST: Final = 255


class Target(Struct, frozen=True):
    """A repository: `host` (with its port) and `path`, such as `org/os`."""

    host: str
    path: str

    @classmethod
    def parse(cls, text: str) -> "Target":
        """From `host[:port]/org/repo`; a tag is dropped. Raises ValueError that says what is wrong."""
        example = "write it as host[:port]/org/repo, for example registry.example.com/machines/os"
        if "@" in text:
            raise ValueError(f"{text!r} has a digest, and nothing can be pushed under one: {example}")
        host, slash, rest = text.partition("/")
        if not slash or not (_is_host(host)):
            raise ValueError(f"{text!r} has no host: {example}")
        path, colon, tag = rest.partition(":")
        if colon and not _TAG.fullmatch(tag):
            raise ValueError(f"{text!r}: {tag!r} is no tag: {example}")
        for component in path.split("/"):
            if not _COMPONENT.fullmatch(component):
                raise ValueError(
                    f"{text!r}: {component!r} is no part of a repository's name (lower-case letters, digits, and "
                    f"'.', '_' or '-' between them): {example}"
                )
        if len(f"{host}/{path}") > _LONGEST:
            raise ValueError(f"{text!r} is longer than {_LONGEST} characters: {example}")
        return cls(host, path)

    def __str__(self) -> str:
        return f"{self.host}/{self.path}"

    def tagged(self, tag: str) -> str:
        """The pullspec with this tag."""
        return f"{self}:{tag}"

    def digested(self, digest: str) -> str:
        """The pullspec of the image with this digest. ValueError if it is none."""
        if not DIGEST.fullmatch(digest):
            raise ValueError(f"{digest!r} is no digest: sha256: and 64 hexadecimal digits")
        return f"{self}@{digest}"


def split(image: str) -> tuple[Target, str] | None:
    """The repository of a pullspec, and its digest, or else its tag; None if no registry is named there."""
    name, at, digest = image.partition("@")
    try:
        target = Target.parse(name)
    except ValueError:
        return None
    if at:
        return (target, digest) if DIGEST.fullmatch(digest) else None
    return target, name.removeprefix(str(target)).removeprefix(":") or "latest"


def _is_host(text: str) -> bool:
    return bool(_HOST.fullmatch(text)) and ("." in text or ":" in text or text == "localhost")
