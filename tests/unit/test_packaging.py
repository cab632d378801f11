"""The distributions: built from the files alone, without a network or git, complete, and each with its own part."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.house import ROOT, SOURCES
from windlass.kube.version import VERSION

DISTRIBUTIONS = {"windlass_kube": "kube", "windlass_testing": "testing", "windlass_machines": "machines"}
PACKAGES = {name: ROOT / "packages" / folder for name, folder in DISTRIBUTIONS.items()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("dist")
    for folder in PACKAGES.values():
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(into)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return into


def contents(built: Path, name: str) -> set[str]:
    (wheel,) = built.glob(f"{name}-*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_wheel_holds_what_its_part_needs_at_run_time(built: Path, name: str) -> None:
    source = PACKAGES[name] / "src"
    files = (file for file in source.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    assert {str(file.relative_to(source)) for file in files} <= contents(built, name)


def test_no_file_is_in_two_wheels_and_none_makes_windlass_the_package_of_one(built: Path) -> None:
    of_ours = [file for name in DISTRIBUTIONS for file in contents(built, name) if file.startswith("windlass/")]
    assert len(of_ours) == len(set(of_ours))
    assert "windlass/__init__.py" not in of_ours


def test_an_sdist_has_its_licence_and_its_sources(built: Path) -> None:
    for name, folder in PACKAGES.items():
        with tarfile.open(built / f"{name}-{VERSION}.tar.gz") as packed:
            names = {"/".join(each.split("/")[1:]) for each in packed.getnames()}
        assert {"LICENSE", "README.md", "pyproject.toml"} <= names
        assert {str(file.relative_to(folder)) for file in (folder / "src").rglob("*.py")} <= names


def test_all_have_the_version_of_the_program(built: Path) -> None:
    assert {f"{name}-{VERSION}-py3-none-any.whl" for name in DISTRIBUTIONS} == {
        each.name for each in built.glob("*.whl")
    }


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_it_is_not_uploaded_before_there_is_a_release(name: str) -> None:
    project = tomllib.loads((PACKAGES[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "Private :: Do Not Upload" in project["classifiers"]
    assert project["name"] == name.replace("_", "-")


ABSENT = """
import sys
class Absent:
    def find_spec(name, path=None, target=None):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent)
from windlass.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("module", "extra", "command"),
    [
        ("windlass.testing", "demo", ["dev", "status"]),
        ("windlass.testing", "demo", ["dev", "cloud", "status"]),
        ("windlass.testing", "demo", ["demo"]),
        ("windlass.testing", "demo", ["demo", "openstack"]),
        ("openstack", "openstack", ["plan", "openstack", "-f", "-"]),
    ],
)
def test_a_command_says_which_extra_it_needs(module: str, extra: str, command: list[str], tmp_path: Path) -> None:
    said = run(module, command, tmp_path)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith(f"error: {module}")
    assert f"the extra '{extra}' of windlass-machines" in said.stderr


@pytest.mark.parametrize("module", ["cloud", "cloud.access", "cloud.layout", "cloud.__main__"])
def test_the_cloud_of_tests_says_which_extra_it_needs(module: str) -> None:
    without = f"import sys; sys.modules['openstack'] = None; import windlass.testing.{module}"
    said = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "the extra 'openstack' of windlass-testing" in said.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "starts",
    ["authority import new_authority; new_authority()", "updates.thanos import ThanosQuerier; ThanosQuerier(token='')"],
)
def test_a_server_with_tls_says_which_extra_it_needs(starts: str) -> None:
    without = f"import sys; sys.modules['trustme'] = None; from windlass.testing.{starts}"
    said = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "the extra 'pytest' of windlass-testing" in said.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", [["--help"], ["dev", "up", "--help"], ["demo", "--help"], ["openstack", "--help"]])
@pytest.mark.parametrize("module", ["windlass.testing", "openstack"])
def test_help_needs_no_extra(module: str, command: list[str], tmp_path: Path) -> None:
    assert run(module, command, tmp_path).returncode == 0


def run(absent: str, command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """What the command says where a module is absent."""
    argv = [sys.executable, "-c", ABSENT, absent, *command]
    return subprocess.run(argv, env={**os.environ, "HOME": str(folder)}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "init",
    ["from windlass.api import Windlass", "from windlass import kube", '"""Ours, from before it had this name."""'],
)
@pytest.mark.parametrize("command", [["-m", "windlass", "version"], ["-c", "import windlass.kube.client"]])
def test_it_refuses_to_start_in_the_folder_of_the_other_program_of_its_name(
    init: str, command: list[str], tmp_path: Path
) -> None:
    both = tmp_path / "windlass"
    both.mkdir()
    for each in (file for source in SOURCES for file in (source / "windlass").iterdir() if file.name != "__pycache__"):
        (both / each.name).symlink_to(each)
    argv = [sys.executable, *command]
    beside = {"PYTHONPATH": str(tmp_path)}
    alone = subprocess.run(argv, env=beside, capture_output=True, text=True, check=False)
    assert (alone.returncode, alone.stderr) == (0, "")
    (both / "__init__.py").write_text(init)
    said = subprocess.run(argv, env=beside, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (1, "")
    (sentence,) = said.stderr.splitlines()
    assert sentence.startswith(f"error: {both / '__init__.py'} is of a distribution named windlass")
    assert "pip uninstall windlass" in sentence


def test_each_part_of_the_program_has_types() -> None:
    packages = [
        each for source in SOURCES for each in (source / "windlass").iterdir() if (each / "__init__.py").exists()
    ]
    assert [each for each in packages if not (each / "py.typed").exists()] == []
