"""What a signature says, and the manifest that holds signatures. Pure.

The payload names the repository and the digest. It has no time, so what is signed is always the same for an image.
Sources: cosign's signature specification; containers/image, which reads it on nodes.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from windlass.os_build.pullspec import DIGEST, Target
from windlass.os_build.registry.index import OCI_MANIFEST, digest_of

PAYLOAD_TYPE: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
SIGNATURE: Final = "dev.cosignproject.cosign/signature"
"""An annotation of a layer: the signature of the layer, in base64."""


class Signed(Struct, frozen=True):
    """A layer of a manifest of signatures: the digest of the payload, and its signature."""

    payload: str
    signature: bytes


def tag_of(digest: str) -> str:
    """The tag under which the signatures of an image are found. ValueError if it is no digest."""
    if not DIGEST.fullmatch(digest):
        raise ValueError(f"{digest!r} is no digest")
    return f"{digest.replace(':', '-')}.sig"


def payload_of(target: Target, digest: str) -> bytes:
    """The payload of an image: its digest and its repository, which a signature is made of."""
    critical = {
        "identity": {"docker-reference": str(target)},
        "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature",
    }
    return json.dumps({"critical": critical, "optional": None}, separators=(",", ":")).encode()


def signatures_in(manifest: Mapping[str, Any]) -> Iterator[Signed]:
    """The signatures in a manifest; what is none is left out."""
    layers = manifest.get("layers")
    for layer in layers if isinstance(layers, list) else []:
        match layer:
            case {"mediaType": str(kind), "digest": str(digest), "annotations": {**found}} if kind == PAYLOAD_TYPE:
                packed = found.get(SIGNATURE)
                if isinstance(packed, str):
                    try:
                        yield Signed(digest, base64.b64decode(packed, validate=True))
                    except binascii.Error:
                        continue


def config_of(payloads: Iterable[str]) -> bytes:
    """The configuration of a manifest with these layers. It has no time: equal layers give equal bytes."""
    tree = {"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": [*payloads]}}
    return json.dumps(tree).encode()


def manifest_of(payload: bytes, signature: bytes, *, beside: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The manifest with this signature after those that `beside`, an earlier manifest, has; and its configuration."""
    earlier = beside.get("layers")
    ours = {
        "mediaType": PAYLOAD_TYPE,
        "digest": digest_of(payload),
        "size": len(payload),
        "annotations": {SIGNATURE: base64.b64encode(signature).decode()},
    }
    layers = [*(each for each in (earlier if isinstance(earlier, list) else []) if isinstance(each, dict)), ours]
    config = config_of(str(each.get("digest")) for each in layers)
    described = {"mediaType": CONFIG_TYPE, "digest": digest_of(config), "size": len(config)}
    tree = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": described, "layers": layers}
    return json.dumps(tree).encode(), config
