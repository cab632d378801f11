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


@pytest.mark.parametrize(
    ("name", "refused"),
    [("windlass-2.1.dist-info", True), ("windlass-2.1.egg-info", True), ("windlass_machines-0.1.0.dist-info", False)],
)
def test_it_refuses_to_start_beside_the_other_program_of_its_name(tmp_path: Path, name: str, refused: bool) -> None:
    (tmp_path / name).mkdir()
    command = [sys.executable, "-m", "windlass", "version"]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, name in done.stderr) == ((1, True) if refused else (0, False))
    if refused:
        assert done.stderr.startswith(f"error: {tmp_path / name} is of a distribution named windlass")
        assert "pip uninstall windlass" in done.stderr


def test_the_distribution_is_not_called_as_the_program_of_somebody_else(built: Path) -> None:
    assert sorted(file.name.partition("-")[0] for file in built.iterdir()) == ["windlass_machines"] * 2
