"""A played cluster on which Update status is installed as it is shipped."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.testing import ControlPlane, crds
from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.pool import PlanePool
from windlass.testing.plane.waiting import wait_for
from windlass.testing.updates import Layout, PlayedCluster, Pool

from .keeper import CRDS, install

SMALL = Layout(operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=2)))
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def installed(windlass_planes: PlanePool) -> Iterator[BlockingAccess]:
    """A plane of this worker with our kinds. They go with the module: later ones find a cluster that never had them."""
    plane = windlass_planes.plane("module", crds=crds.documents(*crds.UPDATES)).blocking
    applied = [crd["metadata"]["name"] for crd in plane.apply_crds(CRDS)]
    yield plane
    plane = windlass_planes.plane("module").blocking
    for name in applied:
        plane.rest.request("DELETE", f"{DEFINITIONS}/{name}")
    there = partial(_none_of, plane, applied)
    assert wait_for(there, seconds=PATIENCE), f"{', '.join(applied)} are still being deleted"


def _none_of(plane: BlockingAccess, names: list[str]) -> bool | None:
    found = plane.rest.request("GET", DEFINITIONS)["items"]
    return None if {crd["metadata"]["name"] for crd in found} & {*names} else True


@pytest.fixture
def plane(installed: BlockingAccess, update_plane: ControlPlane) -> ControlPlane:
    return update_plane


@pytest.fixture
async def account(plane: ControlPlane) -> Path:
    """A kubeconfig of the ServiceAccount that is shipped."""
    return await asyncio.to_thread(install, plane.blocking)


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as client:
        yield client


@pytest.fixture
async def cluster(admin: Client) -> PlayedCluster:
    """A small cluster at rest."""
    played = PlayedCluster(admin, SMALL, pace=0)
    await played.install()
    return played
