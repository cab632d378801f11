"""Installs OpenStack's packages into a virtual environment in the cache, once per machine and Python version.

${XDG_CACHE_HOME:-~/.cache}/windlass/openstack/
    packages-2026.2-py3.11-1f0c...    the virtual environment; its programs are run with `python -m`
    seed-9a2b...                      databases and keys of a cloud that was just made, see `seed`
    .lock, .incoming-*                as in `windlass.testing.binaries.cache`
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from windlass.kube.folders import cache_folder
from windlass.testing.binaries.cache import Folders
from windlass.testing.binaries.progress import Clock, Report
from windlass.testing.cloud.errors import InstallFailed, end_of
from windlass.testing.cloud.pins import PINS, PROJECTS, RELEASE, SERVER


def folders(root: Path | None = None) -> Folders:
    """The cache."""
    return Folders(root or cache_folder("openstack"))


def key() -> str:
    """The name of the environment: another pin or another Python makes another one."""
    python = ".".join(map(str, sys.version_info[:2]))
    digest = hashlib.sha256("\n".join((*PINS, *PROJECTS, SERVER, sys.platform)).encode()).hexdigest()
    return f"packages-{RELEASE}-py{python}-{digest[:12]}"


def obtain(cache: Folders, *, report: Report) -> Path:
    """The environment, made now if it is not there: 60 s on two cores, 50 MB to load, 700 MB of disk.

    For a holder of `cache.filling`. Raises InstallFailed.
    """
    if (found := cache.get(key())) is not None:
        return found
    clock = Clock()
    report(f"installing OpenStack {RELEASE} from PyPI into {cache.root}; once, about a minute")
    with cache.incoming_for(key()) as staging:
        log = staging / "pip.log"
        constraints = staging / "constraints.txt"
        constraints.write_text("\n".join(PINS) + "\n", encoding="ascii")
        _run([sys.executable, "-m", "venv", staging], log)
        pip: list[str | Path] = [staging / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
        _run([*pip, "install", "-c", constraints, *PROJECTS, SERVER], log)
    report(f"OpenStack is installed ({clock})")
    return cache.root / key()


def _run(command: list[str | Path], log: Path) -> None:
    with log.open("ab") as output:
        done = subprocess.run(command, stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        raise InstallFailed(
            f"`{' '.join(map(str, command))[:200]}` failed. It needs Python's venv module (on Debian and Ubuntu: "
            f"apt-get install python3-venv) and a package index that pip can reach. The end of its output:\n"
            f"{end_of(log)}"
        )
