"""Pools on a plane with OpenShift's kinds, and `windlass` as a process that is its user."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.cli.conftest import environment_of
from tests.api.cli.os_build.pools.pools import Pools
from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool


@pytest.fixture
def pool_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane with the kinds of pools and Builds, and none of their objects."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.OS_BUILDS))


@pytest.fixture
def environment(pool_plane: ControlPlane, tmp_path: Path) -> dict[str, str]:
    return environment_of(pool_plane.kubeconfig(), tmp_path)


@pytest.fixture
def pools(pool_plane: ControlPlane) -> Iterator[Pools]:
    """What a controller needs is there; the next test finds no pool."""
    there = Pools(pool_plane.blocking)
    there.prepare()
    yield there
    there.remove()
