"""The pins agree with each other: what parts.py says is what the go.mod files require."""

import re

import pytest

from windlass.testing.binaries import JUDGES, KUBERNETES, PARTS, SYSTEMS, Part, Platform


@pytest.mark.parametrize("part", [*PARTS, *JUDGES, *SYSTEMS], ids=lambda part: part.name)
def test_the_version_of_a_part_is_the_one_that_its_go_mod_requires(part: Part) -> None:
    go_mod = (part.sources / "go.mod").read_text(encoding="utf-8")
    assert re.search(rf"^(require |\t){re.escape(part.module)} {re.escape(part.version)}( |$)", go_mod, re.MULTILINE)


@pytest.mark.parametrize("part", [*PARTS, *JUDGES, *SYSTEMS], ids=lambda part: part.name)
def test_go_sum_holds_the_sources_of_a_part_and_not_just_its_go_mod(part: Part) -> None:
    go_sum = (part.sources / "go.sum").read_text(encoding="utf-8")
    assert f"{part.module} {part.version} h1:" in go_sum


def test_the_staging_modules_of_kubernetes_have_the_version_of_the_kubernetes_that_they_belong_to() -> None:
    go_mod = (KUBERNETES.sources / "go.mod").read_text(encoding="utf-8")
    staging = re.findall(r"^\t(k8s\.io/\S+) => \1 (\S+)$", go_mod, re.MULTILINE)
    assert len(staging) == 33
    assert {version for _, version in staging} == {KUBERNETES.version.replace("v1.", "v0.", 1)}


def test_a_platform_is_written_as_go_writes_it() -> None:
    assert str(Platform.parse("darwin/arm64")) == "darwin/arm64"


@pytest.mark.parametrize("text", ["darwin", "/arm64", "linux/", ""])
def test_anything_else_is_no_platform(text: str) -> None:
    with pytest.raises(ValueError, match="write it as os/arch"):
        Platform.parse(text)
