from collections.abc import Iterator

import pytest

from tests.unit.kube.process.scripted_world import World
from windlass.testing.clock import VirtualLoop


@pytest.fixture
def world() -> Iterator[World]:
    loop = VirtualLoop()
    yield World(loop)
    loop.close()
