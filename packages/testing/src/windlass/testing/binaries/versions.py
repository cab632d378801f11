"""Checks that the programs are of the Kubernetes version that the user asks for.

One version is pinned and can be built (`parts.KUBERNETES_VERSION`): another one would need go.mod and go.sum files
of its own. Any other version comes from a folder of the user's, as `setup-envtest` unpacks it.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from windlass.testing.binaries.errors import UnusableAssets
from windlass.testing.binaries.parts import KUBERNETES_VERSION

_APISERVER, _CONTROLLER_MANAGER = "kube-apiserver", "kube-controller-manager"
_SECONDS = 60.0


def check(wanted: str, given: Mapping[str, Path], *, controller_manager: bool) -> None:
    """Raise UnusableAssets unless a plane of Kubernetes `wanted` (`1.35`, `1.35.2`, `v1.35.2`) can be had.

    `given` are the programs in the user's folder; without any, the pinned version is what there is.
    """
    if not re.fullmatch(r"v?\d+\.\d+(\.\d+)?", wanted):
        raise UnusableAssets(f"Kubernetes {wanted!r} is not a version: write it like 1.35 or 1.35.2")
    if not given:
        if not _is(wanted, KUBERNETES_VERSION):
            raise UnusableAssets(
                f"Kubernetes {wanted} cannot be built here, only {KUBERNETES_VERSION}, which is pinned: have "
                f"setup-envtest unpack it (`setup-envtest use {wanted.removeprefix('v')}`) and name the folder with "
                "KUBEBUILDER_ASSETS or --windlass-assets"
            )
        return
    folder, found = given[_APISERVER].parent, version_of(given[_APISERVER])
    if not _is(wanted, found):
        raise UnusableAssets(
            f"Kubernetes {wanted} is wanted, and {folder} holds {found}: name another folder, or ask for no version"
        )
    # Kubernetes supports no controller manager that is newer than its API server.
    if controller_manager and _CONTROLLER_MANAGER not in given and not _same_minor(found, KUBERNETES_VERSION):
        raise UnusableAssets(
            f"{folder} holds {_APISERVER} {found} and no {_CONTROLLER_MANAGER}, and the one that can be built is "
            f"{KUBERNETES_VERSION}: put one there, or make the plane with controller_manager=False"
        )


def version_of(apiserver: Path) -> str:
    """What `kube-apiserver --version` says, for example `v1.35.2`. Raises UnusableAssets if there is no output."""
    try:
        said = subprocess.run(
            [apiserver, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as problem:
        raise UnusableAssets(
            f"{apiserver} --version failed: {problem}: put a program for this machine there"
        ) from problem
    if (match := re.search(r"v\d+\.\d+\.\d+", said)) is None:
        raise UnusableAssets(f"{apiserver} --version names no version, it says {said.strip()[:100]!r}")
    return match[0]


def _is(wanted: str, version: str) -> bool:
    numbers = _numbers(wanted)
    return _numbers(version)[: len(numbers)] == numbers


def _same_minor(one: str, other: str) -> bool:
    return _numbers(one)[:2] == _numbers(other)[:2]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.removeprefix("v").split(".")]
