"""The wheel and the sdist: built from the files alone, without a network or git, and complete."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return into


def test_the_wheel_holds_what_the_package_needs_at_run_time(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    data = {
        str(file.relative_to(source))
        for file in (source / "windlass").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert data <= packed


def test_the_sdist_can_be_tested(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {"/".join(name.split("/")[1:]) for name in packed.getnames()}
    assert {"Makefile", "uv.lock", "tools/bootstrap", "tests/unit/test_packaging.py", "LICENSE"} <= names
