"""Writes the command lines of buildah, as values. Pure.

| option | why |
|---|---|
| `--isolation chroot` | commands of a build run without a container runtime, also inside a container |
| `--storage-driver`, `--root`, `--runroot` | a store of its own for each build at a time |
| `--timestamp 0`, `--identity-label=false` | equal inputs give the same digest |
| `--layers=false` | nothing is cached that no later build uses: the same build is not made twice |
| `--pull-always` | a tag is what the registry has now, and credentials are checked although the image is in the store |
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

PACKAGES: Final = "buildah, busybox-static and uidmap (Debian), or buildah (Fedora, RHEL)"
_NAMED: Final = re.compile(r"(?:^[^\S\n]*FROM\s+(?:--\S+\s+)*|\bfrom=)([^\s,]+)", re.IGNORECASE | re.MULTILINE)
_ENVIRONMENT: Final = (
    *("PATH", "HOME", "XDG_RUNTIME_DIR", "REGISTRY_AUTH_FILE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)


class Buildah(Struct, frozen=True, kw_only=True):
    """How buildah is called.

    program         its name or path
    driver          of its stores: vfs works everywhere; overlay needs far less disk, and a kernel that lets it mount
    tls_verify      False allows plain HTTP and any certificate of all registries
    insecure        the hosts of registries for which that is allowed. Buildah knows no hosts: a build that uses one of
                    these trusts the others, too
    certificates    folder with CAs (`*.crt`) of registries beside those of this machine
    retries, delay  of requests to a registry that fail for a reason that may pass; seconds
    """

    program: str = "buildah"
    driver: str = "vfs"
    tls_verify: bool = True
    insecure: tuple[str, ...] = ()
    certificates: Path | None = None
    retries: int = 3
    delay: float = 2.0

    def build(
        self, store: Path, *, context: Path, image: str, auth: Path | None, used: Iterable[str] = ()
    ) -> list[str]:
        """Build `Containerfile` of the folder `context`, which uses the images `used`, as `image`.

        `auth` None: the credentials of this user.
        """
        return [
            *self._in(store),
            *("build", "--isolation", "chroot", "--timestamp", "0", "--identity-label=false", "--layers=false"),
            *("--pull-always", *self._registry(used, auth=auth), "--tag", image),
            *("--file", str(context / "Containerfile"), str(context)),
        ]

    def push(self, store: Path, *, image: str, auth: Path | None, digest: Path) -> list[str]:
        """Push `image`, and write the digest that it has in the registry to the file `digest`."""
        return [*self._in(store), "push", *self._registry([image], auth=auth), "--digestfile", str(digest), image]

    def remove_containers(self, store: Path) -> list[str]:
        """Remove working containers that a killed build left."""
        return [*self._in(store), "rm", "--all"]

    def images(self, store: Path) -> Path:
        """The file in which the store keeps its images as JSON: their `id` and `names`."""
        return store / "root" / f"{self.driver}-images" / "images.json"

    def remove_images(self, store: Path, images: Iterable[str]) -> list[str]:
        """Remove these images, by ID."""
        return [*self._in(store), "rmi", "--force", *images]

    def _in(self, store: Path) -> list[str]:
        return [
            *(self.program, "--root", str(store / "root"), "--runroot", str(store / "run")),
            *("--storage-driver", self.driver),
        ]

    def _registry(self, images: Iterable[str], *, auth: Path | None) -> list[str]:
        verify = self.tls_verify and not any(image.partition("/")[0] in self.insecure for image in images)
        return [
            f"--tls-verify={str(verify).lower()}",
            *("--retry", str(self.retries), "--retry-delay", f"{round(self.delay * 1000)}ms"),
            *(("--cert-dir", str(self.certificates.absolute())) if self.certificates else ()),
            *(("--authfile", str(auth)) if auth else ()),
        ]


def images_of(containerfile: str) -> frozenset[str]:
    """The images that a Containerfile names, as a store names them; the names of its stages are among them."""
    named = _NAMED.findall(containerfile)
    return frozenset(named) | {f"{name}:latest" for name in named if ":" not in name.rpartition("/")[2]}


def environment(ours: Mapping[str, str] = os.environ, *, temporary: Path) -> dict[str, str]:
    """The environment of buildah, and nothing else of ours: a build must not depend on it, nor read what is in it."""
    return {name: ours[name] for name in _ENVIRONMENT if name in ours} | {"TMPDIR": str(temporary)}
