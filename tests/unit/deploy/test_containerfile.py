"""The Containerfile names what there is."""

import re
import tomllib
from pathlib import Path

import pytest

from windlass.kube.version import VERSION

ROOT = Path(__file__).parents[3]
LINES = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
COPIES = [line.split()[1:] for line in LINES if line.startswith("COPY ") and "--from" not in line]


@pytest.mark.parametrize("source", [source for *sources, _ in COPIES for source in sources])
def test_what_it_copies_exists(source: str) -> None:
    assert (ROOT / source).exists()


def test_what_the_build_reads_is_copied() -> None:
    workspace = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["workspace"]
    copied = {source for *sources, _ in COPIES for source in sources}
    members = {str(each.relative_to(ROOT)) for pattern in workspace["members"] for each in ROOT.glob(pattern)}
    assert {"pyproject.toml", "uv.lock", *(f"{each}/pyproject.toml" for each in members)} <= copied


def test_the_image_has_no_test_tools() -> None:
    copied = {source for *sources, _ in COPIES for source in sources}
    assert copied & {"packages/kube", "packages/machines", "packages/testing", "packages"} == {
        "packages/kube",
        "packages/machines",
    }


def test_its_entry_point_is_a_command_of_the_package() -> None:
    project = tomllib.loads((ROOT / "packages" / "machines" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (entry,) = [line for line in LINES if line.startswith("ENTRYPOINT ")]
    assert re.findall(r'"(.+?)"', entry)[0] in project["scripts"]


def test_it_is_of_this_version() -> None:
    assert f'org.opencontainers.image.version="{VERSION}"' in " ".join(LINES)


def test_it_runs_as_a_user_with_a_number() -> None:
    (user,) = [line.split()[1] for line in LINES if line.startswith("USER ")]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
