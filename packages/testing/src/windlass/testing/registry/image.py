"""Makes images of the parts that a registry stores: layers, a configuration and a manifest."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from windlass.testing.binaries.parts import Platform

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"


def image(*layers: bytes, config: Mapping[str, Any]) -> tuple[bytes, list[bytes]]:
    """The manifest of an image of compressed layers, and its blobs. `config`: beside architecture and system."""
    configured = json.dumps({"architecture": Platform.here().arch, "os": "linux", **config}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _descriptor(_CONFIG, configured),
        "layers": [_descriptor(_LAYER, layer) for layer in layers],
    }
    return json.dumps(manifest).encode(), [configured, *layers]


def index(images: Mapping[str, bytes]) -> bytes:
    """The index of the images with these manifests, by architecture."""
    platforms = {name: {"architecture": name, "os": "linux"} for name in images}
    entries = [{**_descriptor(MANIFEST, body), "platform": platforms[name]} for name, body in images.items()]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _descriptor(kind: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": digest(content), "size": len(content)}
