"""A control plane for tests that kill it, compact it and poison it."""

from collections.abc import AsyncIterator

import pytest

from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool

from ...api.machine_sync.stage import Stage, new_stage


@pytest.fixture(scope="module")
def weather_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane with the CRDs of all sides, on which anything may happen."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.MACHINES))


@pytest.fixture
async def stage(weather_plane: ControlPlane, untouched_gc: None) -> AsyncIterator[Stage]:
    """A stage on OpenStack, where Machine sync is enabled, with a MachineSet on both sides."""
    async with new_stage(weather_plane, "OpenStack") as stage:
        await stage.fleet()
        yield stage
