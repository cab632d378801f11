"""A control plane for the tests of Machine sync, whose cluster-scoped objects say on which platform it is."""

import gc
from collections.abc import AsyncIterator, Iterator

import pytest

from windlass.kube import config
from windlass.kube.client import Client
from windlass.machine_sync.constants import Namespaces
from windlass.testing import ControlPlane
from windlass.testing.machines import crds
from windlass.testing.plane.pool import PlanePool

from .examples import EXAMPLES
from .stage import Stage


@pytest.fixture(scope="module")
def machine_sync_plane(windlass_planes: PlanePool) -> ControlPlane:
    """The plane of this worker for modules, with the CRDs of all sides."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.MACHINES))


@pytest.fixture
def platform() -> str:
    """The platform of a test; parametrize it to have another."""
    return "OpenStack"


@pytest.fixture
async def stage(machine_sync_plane: ControlPlane, platform: str) -> AsyncIterator[Stage]:
    """An empty stage on a cluster where Machine sync is enabled.

    Its namespaces stay when the test is over, and go with the plane: deleting hundreds of them keeps the controller
    manager busy for longer than all tests together.
    """
    plane = machine_sync_plane
    namespaces = Namespaces(await plane.create_namespace("mapi-"), await plane.create_namespace("capi-"))
    async with Client(config.load(kubeconfig=plane.kubeconfig()), field_manager="test") as admin:
        stage = Stage(plane, admin, namespaces=namespaces, example=EXAMPLES[platform])
        await stage.grant()
        await stage.enable()
        yield stage


@pytest.fixture(autouse=True)
def untouched_gc() -> Iterator[None]:
    """The service tunes the garbage collector of its process, which here is that of the tests."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
