"""A played cluster on which Update status is installed as it is shipped."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from windlass.api.core import Service
from windlass.api.update_informer import UpdateInformer
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.testing import ControlPlane, crds
from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.pool import PlanePool
from windlass.testing.updates import Layout, PlayedCluster, Pool

from .asked import STORAGE
from .keeper import DEPLOY, install, our_kinds

SMALL = Layout(operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=2)))


@pytest.fixture(scope="module")
def installed(windlass_planes: PlanePool) -> Iterator[BlockingAccess]:
    """A plane of this worker with our kinds."""
    with our_kinds(windlass_planes, crds.documents(*crds.UPDATES)) as plane:
        yield plane


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


@pytest.fixture
async def asking(account: Path, plane: ControlPlane, admin: Client, cluster: PlayedCluster) -> AsyncIterator[Path]:
    """The kubeconfig of the account with the rights to ask informers; the Services of those are in STORAGE."""
    await asyncio.to_thread(plane.blocking.apply_files, DEPLOY / "components" / "informers" / "rbac.yaml")
    await asyncio.to_thread(
        plane.blocking.apply, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STORAGE}}
    )
    yield account
    for found in (await admin.list(UpdateInformer)).items:
        await admin.delete(UpdateInformer, found.name)
    for service in (await admin.list(Service, namespace=STORAGE)).items:
        await admin.delete(Service, service.name, namespace=STORAGE)
