"""Writes the command lines of buildah, as values. Pure.

| option | why |
|---|---|
| `--isolation chroot` | commands of a build run without a container runtime, also inside a container |
| `--storage-driver`, `--root`, `--runroot` | a store of its own for each build at a time |
| `--timestamp 0`, `--identity-label=false` | equal inputs give the same digest |
| `--layers=false` | nothing is cached that no later build uses: the same build is not made twice |
| `--pull-always` | a tag is what the registry has now, and credentials are checked although the image is in the store |
| `--registries-conf`, `--signature-policy` | mirrors and policy are those of the nodes |
| `--volume` | what is lent to RUN steps, as copies: programs such as dnf write there |
| `--build-arg` | the proxy, for RUN steps |

Certificates have no option: `SSL_CERT_DIR` adds those for any host, and the home folder has those of one registry. The
home folder has `registries.conf.d`, too: buildah takes the folder of `--registries-conf-dir` for `registries.d`.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

PACKAGES: Final = "buildah, busybox-static and uidmap (Debian), or buildah (Fedora, RHEL)"
_NAMED: Final = re.compile(r"(?:^[^\S\n]*FROM\s+(?:--\S+\s+)*|\bfrom=)([^\s,]+)", re.IGNORECASE | re.MULTILINE)
_PROXY: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_ENVIRONMENT: Final = ("PATH", "HOME", "XDG_RUNTIME_DIR", "REGISTRY_AUTH_FILE")
_SYSTEM_CERTIFICATES: Final = ("/etc/ssl/certs", "/etc/pki/tls/certs")
"""Where Go programs look by themselves, until SSL_CERT_DIR says otherwise."""


class Given(Struct, frozen=True, kw_only=True):
    """What a build is given of its environment, as files of this machine.

    registries, policy  None: those of this machine
    lent   folders by the path in RUN steps
    proxy  environment variables; empty: those of this process
    trust  a folder with certificates for any host, beside those of this machine
    home   with what buildah reads below `.config/containers`; None: that of this user
    """

    registries: Path | None = None
    policy: Path | None = None
    lent: Mapping[str, Path] = {}
    proxy: Mapping[str, str] = {}
    trust: Path | None = None
    home: Path | None = None


NOTHING: Final = Given()


class Buildah(Struct, frozen=True, kw_only=True):
    """How buildah is called.

    program         its name or path
    driver          of its stores: vfs works everywhere; overlay needs far less disk, and a kernel that lets it mount;
                    auto is for `storage.chosen` to decide
    tls_verify      False allows plain HTTP and any certificate of all registries
    insecure        the hosts of registries for which that is allowed. Buildah knows no hosts: a build that uses one of
                    these trusts the others, too
    retries, delay  of requests to a registry that fail for a reason that may pass; seconds
    """

    program: str = "buildah"
    driver: str = "vfs"
    tls_verify: bool = True
    insecure: tuple[str, ...] = ()
    retries: int = 3
    delay: float = 2.0

    def build(
        self,
        store: Path,
        *,
        context: Path,
        image: str,
        auth: Path | None,
        used: Iterable[str] = (),
        given: Given = NOTHING,
    ) -> list[str]:
        """Build `Containerfile` of the folder `context`, which uses the images `used`, as `image`.

        `auth` None: the credentials of this user.
        """
        return [
            *self._in(store, given),
            *("build", "--isolation", "chroot", "--timestamp", "0", "--identity-label=false", "--layers=false"),
            *("--pull-always", *self._registry(used, auth=auth), "--tag", image),
            *(("--signature-policy", str(given.policy)) if given.policy else ()),
            *(f"--volume={folder}:{at}:rw" for at, folder in sorted(given.lent.items())),
            *(f"--build-arg={name}={value}" for name, value in given.proxy.items()),
            *("--file", str(context / "Containerfile"), str(context)),
        ]

    def push(self, store: Path, *, image: str, auth: Path | None, digest: Path, given: Given = NOTHING) -> list[str]:
        """Push `image`, and write the digest that it has in the registry to the file `digest`."""
        return [
            *self._in(store, given),
            "push",
            *self._registry([image], auth=auth),
            "--digestfile",
            str(digest),
            image,
        ]

    def remove_containers(self, store: Path) -> list[str]:
        """Remove working containers that a killed build left."""
        return [*self._in(store), "rm", "--all"]

    def images(self, store: Path) -> Path:
        """The file in which the store keeps its images as JSON: their `id` and `names`."""
        return store / "root" / f"{self.driver}-images" / "images.json"

    def remove_images(self, store: Path, images: Iterable[str]) -> list[str]:
        """Remove these images, by ID."""
        return [*self._in(store), "rmi", "--force", *images]

    def _in(self, store: Path, given: Given = NOTHING) -> list[str]:
        return [
            *(self.program, "--root", str(store / "root"), "--runroot", str(store / "run")),
            *("--storage-driver", self.driver),
            *(("--registries-conf", str(given.registries)) if given.registries else ()),
        ]

    def _registry(self, images: Iterable[str], *, auth: Path | None) -> list[str]:
        verify = self.tls_verify and not any(image.partition("/")[0] in self.insecure for image in images)
        return [
            # Whoever demands TLS by the option demands it of registries, too, that registries.conf calls insecure.
            *(() if verify else ("--tls-verify=false",)),
            *("--retry", str(self.retries), "--retry-delay", f"{round(self.delay * 1000)}ms"),
            *(("--authfile", str(auth)) if auth else ()),
        ]


def images_of(containerfile: str) -> frozenset[str]:
    """The images that a Containerfile names, as a store names them; the names of its stages are among them."""
    named = _NAMED.findall(containerfile)
    return frozenset(named) | {f"{name}:latest" for name in named if ":" not in name.rpartition("/")[2]}


def environment(ours: Mapping[str, str] = os.environ, *, temporary: Path, given: Given = NOTHING) -> dict[str, str]:
    """The environment of buildah, and nothing else of ours: a build must not depend on it, nor read what is in it."""
    found = {name: ours[name] for name in _ENVIRONMENT if name in ours} | {"TMPDIR": str(temporary)}
    found |= given.proxy or {name: ours[name] for name in _PROXY if name in ours}
    if given.trust is not None:
        found["SSL_CERT_DIR"] = ":".join((str(given.trust), *_SYSTEM_CERTIFICATES))
    if given.home is not None:
        found["HOME"] = str(given.home)
    return found
