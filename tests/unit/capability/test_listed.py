"""What a new capability takes beside its entry in the list, so that a test says what is missing."""

import tomllib
from pathlib import Path

import pytest

from windlass.cli.capabilities import CAPABILITIES

ROOT = Path(__file__).parents[3]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def package(name: str) -> str:
    return CAPABILITIES[name].module.rpartition(".")[0]


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_capability_has_a_folder_and_a_page_and_stands_in_the_maps(name: str) -> None:
    assert (ROOT / "deploy" / name / "base" / "kustomization.yaml").exists()
    assert (ROOT / "docs" / f"{name}.md").exists()
    assert f"`{package(name)}`" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"](docs/{name}.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CAPABILITIES)
def test_contracts_keep_a_capability_from_others_and_the_frame_from_it(name: str) -> None:
    (layers,) = (each["layers"] for each in CONTRACTS if each["name"] == "imports point one way")
    beside = {module for layer in layers for module in layer.split(" | ") if "|" in layer}
    assert package(name) in beside
    for contract in CONTRACTS:
        if contract["name"].startswith(("the frame finds", "testing knows")):
            assert package(name) in contract["forbidden_modules"], contract["name"]
