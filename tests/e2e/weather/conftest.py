"""A control plane for tests that kill it, compact it and poison it."""

import gc
from collections.abc import AsyncIterator, Iterator

import pytest

from windlass.kube import config
from windlass.kube.client import Client
from windlass.machine_sync.constants import Namespaces
from windlass.testing import ControlPlane
from windlass.testing.machines import crds
from windlass.testing.plane.pool import PlanePool

from ...api.machine_sync.examples import EXAMPLES
from ...api.machine_sync.stage import Stage


@pytest.fixture(scope="module")
def weather_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane with the CRDs of all sides, on which anything may happen."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.MACHINES))


@pytest.fixture
async def stage(weather_plane: ControlPlane) -> AsyncIterator[Stage]:
    """An empty stage on OpenStack, where Machine sync is enabled, with a MachineSet on both sides.

    Its namespaces stay when the test is over, and go with the plane.
    """
    plane = weather_plane
    namespaces = Namespaces(await plane.create_namespace("mapi-"), await plane.create_namespace("capi-"))
    async with Client(config.load(kubeconfig=plane.kubeconfig()), field_manager="test") as admin:
        stage = Stage(plane, admin, namespaces=namespaces, example=EXAMPLES["OpenStack"])
        await stage.grant()
        await stage.enable()
        await stage.fleet()
        yield stage


@pytest.fixture(autouse=True)
def untouched_gc() -> Iterator[None]:
    """The service tunes the garbage collector of its process, which here is that of the tests."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
