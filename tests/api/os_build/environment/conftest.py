"""A registry behind a proxy, and the plane of builder backends."""

from collections.abc import Iterator

import pytest

from tests.api.os_build.backends.conftest import build_plane, namespace
from tests.api.os_build.environment.outside import Outside, outside
from tests.builder import require_builder

__all__ = ["build_plane", "namespace"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    require_builder("curl")
    with outside(tmp_path_factory.mktemp("outside") / "servers") as world:
        yield world
