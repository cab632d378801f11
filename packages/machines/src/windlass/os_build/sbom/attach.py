"""Looks whether an image in a registry has a document of ours attached, and stores and attaches it if not.

The document is an artifact whose `subject` is the image, as the OCI specifications 1.1 have it: any client that knows
referrers finds it. A registry that does not keep referrers itself gets the list of them under the tag
`sha256-<digest>`, as the specification says.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from windlass.os_build.registry.index import OCI_INDEX, OCI_MANIFEST, digest_of
from windlass.os_build.registry.repository import Repository, Trouble, Why

SPDX: Final = "application/spdx+json"
MARK: Final = "io.windlass.contents"
"""An annotation of the artifact: it is one of ours."""
_EMPTY: Final = b"{}"
_EMPTY_TYPE: Final = "application/vnd.oci.empty.v1+json"


def fallback_tag(digest: str) -> str:
    """The tag of the list of what is attached to an image, where the registry does not keep that itself."""
    return digest.replace(":", "-")


def artifact(document: bytes, subject: Mapping[str, Any]) -> bytes:
    """The manifest of the artifact that attaches a document to the image with the descriptor `subject`."""
    title = {"org.opencontainers.image.title": "contents.spdx.json"}
    layer = {"mediaType": SPDX, "digest": digest_of(document), "size": len(document), "annotations": title}
    tree = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": SPDX,
        "config": {"mediaType": _EMPTY_TYPE, "digest": digest_of(_EMPTY), "size": len(_EMPTY)},
        "layers": [layer],
        "subject": subject,
        "annotations": {MARK: "1"},
    }
    return json.dumps(tree).encode()


def has_ours(listed: Mapping[str, Any]) -> bool:
    """A list of what is attached names a document of ours."""
    entries = listed.get("manifests")
    for each in entries if isinstance(entries, list) else []:
        match each:
            case {"artifactType": str(kind), "annotations": {**found}} if kind == SPDX and MARK in found:
                return True
    return False


async def attach(repository: Repository, digest: str, document: bytes) -> bool:
    """Attach the document. False: one is attached already, which stays. Raises Trouble."""
    if has_ours(await repository.referrers(digest) or {}):
        return False
    tag = fallback_tag(digest)
    listed = await repository.manifest(tag)
    beside = listed.document if listed is not None and listed.media_type == OCI_INDEX else {}
    if has_ours(beside):
        return False
    image = await repository.manifest(digest)
    if image is None:
        raise Trouble(Why.UNANSWERED, f"the registry does not have {repository.target}@{digest}")
    for blob in (document, _EMPTY):
        await repository.put_blob(blob)
    subject = {"mediaType": image.media_type, "digest": digest, "size": len(image.content)}
    made = artifact(document, subject)
    reply = await repository.put_manifest(digest_of(made), made, media_type=OCI_MANIFEST)
    if "OCI-Subject" not in reply.headers:
        entry = {
            "mediaType": OCI_MANIFEST,
            "digest": digest_of(made),
            "size": len(made),
            "artifactType": SPDX,
            "annotations": {MARK: "1"},
        }
        entries = beside.get("manifests")
        index = {
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": [*(entries if isinstance(entries, list) else []), entry],
        }
        await repository.put_manifest(tag, json.dumps(index).encode(), media_type=OCI_INDEX)
    return True
