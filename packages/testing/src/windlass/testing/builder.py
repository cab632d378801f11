"""What tests of OS builds need beside a registry: buildah, and a base image that builds in a second.

    if why := missing_builder(): pytest.skip(why)
    base = push_base(registry, "os/base", "v1")         # 127.0.0.1:23456/os/base@sha256:...

The base stands for an image of an OS: a static busybox, which `tools/install-builder` installs together with buildah,
with a link for each of its commands.
"""

import gzip
import http.client
import io
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from windlass.testing.registry import Registry
from windlass.testing.registry.image import INDEX, MANIFEST, digest, image, index

_SECONDS: Final = 10.0


class PushFailed(Exception):
    """The registry does not take the base image."""


def missing_builder() -> str:
    """What is missing to build images here, with the remedy; empty if nothing is."""
    missing = [program for program in ("buildah", "busybox") if shutil.which(program) is None]
    return f"missing: {' and '.join(missing)}; run tools/install-builder" if missing else ""


def push_base(
    registry: Registry,
    repository: str = "os/base",
    tag: str = "v1",
    *,
    programs: Mapping[str, bytes] = MappingProxyType({}),
    architectures: Sequence[str] = (),
) -> str:
    """Push the base image, and return its pullspec with digest. It goes past users, faults and the log of requests.

    `programs`: more executable files of the image by their paths. `architectures`: push a list, whose images say these
    architectures; programs in the images are those of this machine.
    """
    layers = [base_layer(programs)]
    connection = _Behind(registry.behind)
    images = {each: _pushed(connection, repository, each, layers, {"architecture": each}) for each in architectures}
    if images:
        body = index(images)
        connection.ask("PUT", f"/v2/{repository}/manifests/{tag}", body, kind=INDEX)
        connection.close()
        return f"{registry.host}/{repository}@{digest(body)}"
    connection.close()
    return push_layers(registry, layers, repository, tag)


def push_layers(registry: Registry, layers: Sequence[bytes], repository: str, tag: str) -> str:
    """The same with an image of these layers, each a tar archive."""
    connection = _Behind(registry.behind)
    manifest = _pushed(connection, repository, tag, layers, {})
    connection.close()
    return f"{registry.host}/{repository}@{digest(manifest)}"


def _pushed(
    connection: "_Behind", repository: str, tag: str, layers: Sequence[bytes], platform: Mapping[str, str]
) -> bytes:
    """Push an image of these layers, and return the manifest."""
    config = {
        **platform,
        "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        "history": [{"created_by": "the base image of tests"} for _ in layers],
    }
    manifest, blobs = image(*(gzip.compress(layer, compresslevel=1, mtime=0) for layer in layers), config=config)
    for blob in blobs:
        place = connection.ask("POST", f"/v2/{repository}/blobs/uploads/").getheader("Location", "")
        joined = "&" if "?" in place else "?"
        connection.ask("PUT", f"{place}{joined}digest={digest(blob)}", blob, kind="application/octet-stream")
    connection.ask("PUT", f"/v2/{repository}/manifests/{tag}", manifest, kind=MANIFEST)
    return manifest


class _Behind(http.client.HTTPConnection):
    """A connection to the registry's program itself."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(str(self._path))

    def ask(self, method: str, path: str, body: bytes = b"", *, kind: str = "") -> http.client.HTTPResponse:
        self.request(method, path, body, {"Content-Type": kind} if kind else {})
        answer = self.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise PushFailed(f"{method} {path}: {answer.status} {text.decode(errors='replace')}")
        return answer


def base_layer(programs: Mapping[str, bytes] = MappingProxyType({})) -> bytes:
    """The layer of the base image, a tar archive."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise FileNotFoundError(missing_builder())
    commands = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for folder in ("bin", "etc", "root", "tmp", "usr", "var"):
            _add(tar, folder, type=tarfile.DIRTYPE, mode=0o755)
        _add(tar, "bin/busybox", content=Path(busybox).read_bytes(), mode=0o755)
        for path, content in sorted(programs.items()):
            _add(tar, path.lstrip("/"), content=content, mode=0o755)
        for command in sorted({*commands} - {"busybox"}):
            _add(tar, f"bin/{command}", type=tarfile.SYMTYPE, linkname="busybox")
        _add(tar, "etc/os-release", content=b'ID=windlass-test\nVERSION_ID="1"\n', mode=0o644)
    return written.getvalue()


def _add(tar: tarfile.TarFile, name: str, *, content: bytes = b"", **attributes: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for attribute, value in attributes.items():
        setattr(member, attribute, value)
    tar.addfile(member, io.BytesIO(content))
