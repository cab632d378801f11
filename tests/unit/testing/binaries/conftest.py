from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from windlass.testing.binaries import Cache, Part, Platform
from windlass.testing.binaries.parts import Program

HERE = Platform.here()


@dataclass(frozen=True)
class PinnedPart(Part):
    """A part whose pins lie in a folder of the test."""

    pins: Path = Path()

    @property
    def sources(self) -> Path:
        return self.pins


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def said() -> list[str]:
    """What was reported; pass its `append`."""
    return []


@pytest.fixture
def make_part(tmp_path: Path) -> Callable[..., PinnedPart]:
    """A part that needs no network: `gofmt`, which comes with every Go toolchain."""

    def make(*, package: str = "cmd/gofmt", require: str = "") -> PinnedPart:
        pins = tmp_path / "pins"
        pins.mkdir(exist_ok=True)
        (pins / "go.mod").write_text(f"module windlass.invalid/pins\n\ngo 1.26.0\n{require}")
        (pins / "go.sum").write_text("")
        return PinnedPart("formatter", "example.invalid/fmt", "v1.0.0", (Program("gofmt", package),), pins=pins)

    return make


@pytest.fixture
def part(make_part: Callable[..., PinnedPart]) -> PinnedPart:
    return make_part()


def put(cache: Cache, part: Part, *programs: str) -> Path:
    """Bring a part into the cache without building anything."""
    cache.root.mkdir(parents=True, exist_ok=True)
    with cache.incoming(part, HERE) as staging:
        for name in programs:
            (staging / name).write_text("#!/bin/sh\n")
            (staging / name).chmod(0o755)
        if part.crds:
            (staging / "crds").mkdir()
    folder = cache.find(part, HERE)
    assert folder is not None
    return folder
