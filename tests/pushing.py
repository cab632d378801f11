"""Layers made of a few files, and the push of images to a registry, for tests that need one without a builder."""

import gzip
import io
import tarfile
import urllib.request
from collections.abc import Mapping
from typing import Any

from windlass.testing.registry import Registry
from windlass.testing.registry.image import MANIFEST, digest, image


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


def push(
    registry: Registry,
    repository: str,
    tag: str,
    *layers: bytes,
    labels: Mapping[str, str] | None = None,
    platform: Mapping[str, str] | None = None,
) -> str:
    """Push an image as the user `pusher` of a registry with passwords; the digest of its manifest.

    `platform`: what the image says that it is for, if not for this machine.
    """
    manifest, blobs = image(*layers, config={"config": {"Labels": labels or {}}, **(platform or {})})
    base = f"{registry.url}/v2/{repository}"
    for blob in blobs:
        begun = _send(registry, "POST", f"{base}/blobs/uploads/").headers["Location"]
        _send(registry, "PUT", f"{registry.url}{begun}&digest={digest(blob)}", blob, "application/octet-stream")
    _send(registry, "PUT", f"{base}/manifests/{tag}", manifest, MANIFEST)
    return digest(manifest)


def _send(registry: Registry, method: str, url: str, content: bytes = b"", media_type: str = "") -> Any:
    authorization = f"Basic {registry.auths('pusher')['auths'][registry.host]['auth']}"
    headers = {"Authorization": authorization, "Content-Type": media_type}
    return urllib.request.urlopen(urllib.request.Request(url, content, headers, method=method), timeout=10)
