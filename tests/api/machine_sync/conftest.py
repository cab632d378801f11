"""A control plane for the tests of Machine sync, whose cluster-scoped objects say on which platform it is."""

from collections.abc import AsyncIterator

import pytest

from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool

from .stage import Stage, new_stage


@pytest.fixture(scope="module")
def machine_sync_plane(windlass_planes: PlanePool) -> ControlPlane:
    """The plane of this worker for modules, with the CRDs of all sides."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.MACHINES))


@pytest.fixture
def platform() -> str:
    """The platform of a test; parametrize it to have another."""
    return "OpenStack"


@pytest.fixture
async def stage(machine_sync_plane: ControlPlane, platform: str, untouched_gc: None) -> AsyncIterator[Stage]:
    """An empty stage on a cluster where Machine sync is enabled."""
    async with new_stage(machine_sync_plane, platform) as stage:
        yield stage
