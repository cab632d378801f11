"""`make pin-images` on a real registry: it writes no digest that it has not read."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pushing import layer, push
from tools import pin_images
from windlass.os_build.pullspec import BUILDER_IMAGE
from windlass.testing.registry import Auth, Registry

pytestmark = pytest.mark.registry

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def public() -> Iterator[Registry]:
    """A registry that asks for no password."""
    with Registry(auth=Auth.NONE) as registry:
        yield registry


def run(registry: Registry, file: Path, *images: str) -> "subprocess.CompletedProcess[str]":
    named = [argument for image in images for argument in ("--image", image)]
    command = [sys.executable, pin_images.__file__, "--insecure-registry", registry.host, *named, str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_each_place_that_names_an_image_gets_its_digest_and_later_the_next_one(
    public: Registry, tmp_path: Path
) -> None:
    file, image = tmp_path / "Containerfile", f"{public.host}/library/python:3"
    file.write_text(f"FROM {image} AS build\nFROM {image}\nFROM {image}.13\nFROM other/{image}\n")
    for content in ("a", "b"):
        digest = push(public, "library/python", "3", layer({"content": content.encode()}))
        done = run(public, file, image)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{file}: pinned\n", "")
        pinned = f"{image}@{digest}"
        assert file.read_text() == f"FROM {pinned} AS build\nFROM {pinned}\nFROM {image}.13\nFROM other/{image}\n"
    assert run(public, file, image).stdout == ""


def test_where_one_image_cannot_be_read_nothing_is_written(public: Registry, tmp_path: Path) -> None:
    push(public, "library/there", "1", layer({"a": b"a"}))
    there, absent = f"{public.host}/library/there:1", f"{public.host}/library/absent:1"
    file = tmp_path / "Containerfile"
    file.write_text(before := f"FROM {there}\nFROM {absent}\n")
    done = run(public, file, there, absent)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{absent}: ")
    assert file.read_text() == before


def test_every_image_of_others_that_the_project_runs_is_among_those_that_it_pins() -> None:
    files = {*ROOT.glob("deploy/**/Containerfile"), *ROOT.glob("examples/**/Containerfile")}
    bases = {line.split()[1] for file in files for line in file.read_text().splitlines() if line.startswith("FROM ")}
    named = {BUILDER_IMAGE, *(base for base in bases if "/" in base)}
    assert {image.partition("@")[0] for image in named} == {*pin_images.IMAGES}
    assert all(any(image in (ROOT / file).read_text() for image in pin_images.IMAGES) for file in pin_images.FILES)
    found = {file for file in files if any(image in file.read_text() for image in pin_images.IMAGES)}
    assert found <= {ROOT / file for file in pin_images.FILES}
