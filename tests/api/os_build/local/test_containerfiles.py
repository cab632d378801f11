"""Real buildah on the texts that the lint knows: it refuses what the lint refuses, and builds the rest."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.containerfiles import ROWS, Row
from windlass.testing.registry import Registry

pytestmark = pytest.mark.registry


class Store:
    """Images of buildah in a folder; the base image is there."""

    def __init__(self, folder: Path, registry: Registry, base: str) -> None:
        self.folder = folder
        (auth := folder / "auth.json").write_text(json.dumps(registry.auths("puller")))
        pulled = self.buildah("pull", "--tls-verify=false", "--authfile", auth, base)
        assert pulled.returncode == 0, pulled.stderr

    def buildah(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        where = ["--root", f"{self.folder}/store", "--runroot", f"{self.folder}/run", "--storage-driver", "vfs"]
        command = ["buildah", *where, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, windlass_registry: Registry, base: str) -> Store:
    return Store(tmp_path_factory.mktemp("store"), windlass_registry, base)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS if not row.builder])
def test_buildah_refuses_what_the_lint_refuses_and_builds_the_rest(
    row: Row, base: str, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "Containerfile").write_text(f"FROM {base} AS configs\n{row.text}", newline="")
    (tmp_path / "a").write_text("a file to copy\n")
    ran = store.buildah("bud", "--isolation", "chroot", "--pull-never", "-f", tmp_path / "Containerfile", tmp_path)
    assert (ran.returncode != 0) == bool(row.findings), ran.stderr[-2000:]
