"""Reads and makes what names one image for several architectures: OCI image indexes, Docker manifest lists. Pure.

    children_of(body)          # the digests that an index names: whoever deletes images must keep them with it
    made = index_of(children)  # the bytes, their media type and their digest

| the children's manifests | the index |
|---|---|
| all Docker's | a Docker manifest list |
| any other | an OCI image index, which may name Docker's manifests, too |

Equal children give equal bytes, in any order, so an index that is pushed again is the same image. Sources: the OCI
image specification, Docker's image manifest 2, schema 2.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from windlass.kube.foreign import Malformed, read_json
from windlass.os_build.pullspec import DIGEST

OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFEST_TYPES: Final = (OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST)


class Child(Struct, frozen=True, kw_only=True):
    """An image of an index: its manifest, and the platform that its configuration names.

    size  of the manifest, in bytes
    """

    digest: str
    media_type: str
    size: int
    architecture: str
    os: str = "linux"
    variant: str = ""

    @property
    def tree(self) -> dict[str, Any]:
        """The descriptor."""
        platform = {"architecture": self.architecture, "os": self.os}
        return {
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.size,
            "platform": platform | ({"variant": self.variant} if self.variant else {}),
        }


class Index(Struct, frozen=True):
    """An index as it is pushed."""

    media_type: str
    body: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.body)


def digest_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def index_of(children: Iterable[Child]) -> Index:
    """The index of these images, by architecture."""
    ordered = sorted(children, key=lambda each: (each.architecture, each.variant, each.digest))
    docker = all(each.media_type == DOCKER_MANIFEST for each in ordered)
    media_type = DOCKER_LIST if docker else OCI_INDEX
    tree = {"schemaVersion": 2, "mediaType": media_type, "manifests": [each.tree for each in ordered]}
    return Index(media_type, json.dumps(tree, indent=2).encode())


def children_of(body: bytes) -> tuple[str, ...]:
    """The digests that an index names; none if it is no index, such as the manifest of one image."""
    return tuple(each["digest"] for each in _entries(body) or ())


def architectures_of(body: bytes) -> tuple[str, ...] | None:
    """The architectures that an index names, sorted; None if it is no index."""
    entries = _entries(body)
    return None if entries is None else tuple(sorted({found for each in entries if (found := _architecture(each))}))


def config_of(body: bytes) -> str | None:
    """The digest of the configuration that the manifest of one image names; None if it is no such manifest."""
    match _document(body):
        case {"config": {"digest": str(digest)}} if DIGEST.fullmatch(digest):
            return digest
    return None


def platform_of(config: bytes) -> tuple[str, str, str] | None:
    """Architecture, OS and variant that the configuration of an image names; None if it names none."""
    document = _document(config)
    match document:
        case {"architecture": str(architecture), "os": str(os)} if architecture and os:
            variant = document.get("variant")
            return architecture, os, variant if isinstance(variant, str) else ""
    return None


def media_type_of(body: bytes, told: str) -> str:
    """The media type of a manifest: its own word, else that of the registry."""
    inner = _document(body).get("mediaType")
    return next((each for each in (inner, told.partition(";")[0].strip()) if each in MANIFEST_TYPES), OCI_MANIFEST)


def _entries(body: bytes) -> list[Mapping[str, Any]] | None:
    match _document(body):
        case {"manifests": list(manifests)}:
            named = [each for each in manifests if isinstance(each, dict) and isinstance(each.get("digest"), str)]
            return [each for each in named if DIGEST.fullmatch(each["digest"])]
    return None


def _architecture(entry: Mapping[str, Any]) -> str:
    """Attestations beside images have the platform unknown/unknown."""
    match entry:
        case {"platform": {"architecture": str(architecture), "os": "linux"}}:
            return architecture
    return ""


def _document(body: bytes) -> dict[str, Any]:
    try:
        content = read_json(body)
    except Malformed:
        return {}
    return content if isinstance(content, dict) else {}
