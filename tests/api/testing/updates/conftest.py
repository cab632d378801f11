from collections.abc import AsyncIterator

import pytest

from windlass.kube import config
from windlass.kube.client import Client
from windlass.testing import ControlPlane


@pytest.fixture
async def admin(update_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=update_plane.kubeconfig())) as client:
        yield client
