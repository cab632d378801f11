from collections.abc import AsyncIterator

import pytest

from windlass.kube import config
from windlass.kube.client import Client
from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool


@pytest.fixture
def update_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane with the kinds in which an update is seen, and none of their objects."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.UPDATES))


@pytest.fixture
async def admin(update_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=update_plane.kubeconfig())) as client:
        yield client
