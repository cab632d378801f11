"""A registry with a base image, and a folder for builds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.os_build.local.workshop import Workshop
from tests.builder import require_builder
from windlass.testing.builder import push_base
from windlass.testing.registry import Registry


@pytest.fixture(scope="session")
def base(windlass_registry: Registry) -> str:
    """The pullspec of a base image in the registry of this worker."""
    require_builder()
    return push_base(windlass_registry)


@pytest.fixture
def workshop(tmp_path: Path, registry: Registry, base: str) -> Iterator[Workshop]:
    """Checks at the end that no process or mount is left."""
    workshop = Workshop(tmp_path / "builds", registry, base)
    yield workshop
    assert workshop.processes() == []
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
