"""A played cluster on which Update status is installed as it is shipped."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool
from windlass.testing.updates import Layout, PlayedCluster, Pool

from .keeper import CRDS, install

SMALL = Layout(operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=2)))
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def _installed(windlass_planes: PlanePool) -> Iterator[None]:
    """Our kinds go with the module: later ones find a cluster that never had them."""
    plane = windlass_planes.plane("module", crds=crds.documents(*crds.UPDATES)).blocking
    applied = plane.apply_crds(CRDS)
    yield
    plane = windlass_planes.plane("module").blocking
    for crd in applied:
        plane.rest.request("DELETE", f"{DEFINITIONS}/{crd['metadata']['name']}")


@pytest.fixture
def plane(_installed: None, update_plane: ControlPlane) -> ControlPlane:
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
