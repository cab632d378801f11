"""`windlass run os-build` as a process under the ServiceAccount that it has in a cluster, and what is left of it."""

import re
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import yaml

from tests import program
from tests.authorizer import until_allowed
from tests.left import command_lines, files_of_builds, mounts_below
from tests.program import Program
from windlass.os_build.installation import HOME
from windlass.testing import BlockingAccess
from windlass.testing.plane.manifests import read_manifests

NAME: Final = HOME
"""Of the ServiceAccount in the namespace of the same name."""
USER: Final = f"system:serviceaccount:{HOME}:{NAME}"
_PROGRAM: Final = (sys.executable, "-m", "windlass")


def rights(folder: Path) -> Path:
    """What `windlass manifests rbac os-build` prints, as a file."""
    printed = subprocess.run([*_PROGRAM, "manifests", "rbac", "os-build"], check=True, capture_output=True)
    file = folder / "rbac.yaml"
    file.write_bytes(printed.stdout)
    return file


def install(plane: BlockingAccess, folder: Path, *, namespace: str) -> Path:
    """Apply these rights, and wait until they are in force; returns a kubeconfig of the ServiceAccount."""
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    plane.apply(*read_manifests([rights(folder)]))
    until_allowed(plane.rest, USER, "create", "builds.build.openshift.io", namespace=namespace)
    until_allowed(plane.rest, USER, "patch", "machineconfigpools.machineconfiguration.openshift.io/status")
    until_allowed(plane.rest, USER, "list", "controllerconfigs.machineconfiguration.openshift.io")
    until_allowed(plane.rest, USER, "list", "nodes")
    return plane.service_account_kubeconfig(HOME, NAME)


def behind(kubeconfig: Path, url: str) -> Path:
    """A kubeconfig for the same user, who finds the API server at another address."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = url
    file = kubeconfig.with_name(f"behind-{re.sub('[^0-9]', '', url)}.yaml")
    file.write_text(yaml.safe_dump(config))
    return file


def running(
    kubeconfig: Path, folder: Path, *arguments: str, registry: str, builds: Path | None, metrics: bool = False
) -> AbstractAsyncContextManager[Program]:
    """A process that is ready. `builds` is the folder of builds on this machine, if any; `metrics`: it shows them."""
    argv = [
        *(*_PROGRAM, f"--kubeconfig={kubeconfig}", "run", "os-build"),
        *("--apply-by=tree", "--debounce=0s", f"--insecure-registry={registry}"),
        *((f"--local-builds={builds}",) if builds else ()),
        *arguments,
    ]
    return program.running(argv, folder, metrics=metrics)


def alive(folder: Path) -> list[str]:
    """The processes that have this folder of builds in their command lines, but for `windlass` itself."""
    return [line for line in command_lines().values() if str(folder) in line and "--local-builds=" not in line]


def left(folder: Path) -> list[str]:
    """What is left of builds on this machine: processes, mounts and files. Stores of images may stay."""
    return [*alive(folder), *mounts_below(folder), *files_of_builds(folder)]
