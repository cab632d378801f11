"""Images made of a few files, and their push to a registry, for tests that need one without a builder."""

import gzip
import hashlib
import io
import json
import tarfile
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from windlass.testing.registry import Registry

OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
OCI_CONFIG: Final = "application/vnd.oci.image.config.v1+json"


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def layer(files: Mapping[str, bytes | str | None]) -> bytes:
    """A layer by paths: the content of a file, the target of a symbolic link, or None for a folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            if isinstance(content, bytes):
                member.size = len(content)
            else:
                member.type = tarfile.DIRTYPE if content is None else tarfile.SYMTYPE
                member.linkname = content or ""
            archive.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    return gzip.compress(packed.getvalue(), mtime=0)


def described(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest(content), "size": len(content)}


def image(*layers: bytes, labels: Mapping[str, str] | None = None) -> tuple[bytes, list[bytes]]:
    """The manifest of an image, and its blobs."""
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Labels": labels or {}}}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": described(OCI_CONFIG, config),
        "layers": [described(OCI_LAYER, each) for each in layers],
    }
    return json.dumps(manifest).encode(), [config, *layers]


def push(registry: Registry, repository: str, tag: str, *layers: bytes, labels: Mapping[str, str] | None = None) -> str:
    """Push an image as the user `pusher` of a registry with passwords; the digest of its manifest."""
    manifest, blobs = image(*layers, labels=labels)
    base = f"{registry.url}/v2/{repository}"
    for blob in blobs:
        begun = _send(registry, "POST", f"{base}/blobs/uploads/").headers["Location"]
        _send(registry, "PUT", f"{registry.url}{begun}&digest={digest(blob)}", blob, "application/octet-stream")
    _send(registry, "PUT", f"{base}/manifests/{tag}", manifest, OCI_MANIFEST)
    return digest(manifest)


def _send(registry: Registry, method: str, url: str, content: bytes = b"", media_type: str = "") -> Any:
    authorization = f"Basic {registry.auths('pusher')['auths'][registry.host]['auth']}"
    headers = {"Authorization": authorization, "Content-Type": media_type}
    return urllib.request.urlopen(urllib.request.Request(url, content, headers, method=method), timeout=10)
