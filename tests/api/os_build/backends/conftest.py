"""The plane of builder backends: with the kinds of pools and Builds."""

import pytest

from windlass.api.core import ServiceAccount
from windlass.kube import config
from windlass.kube.client import Client
from windlass.os_build.backends.job import SERVICE_ACCOUNT
from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool


@pytest.fixture(scope="module")
def build_plane(windlass_planes: PlanePool) -> ControlPlane:
    pools = crds.documents("machineconfiguration.openshift.io")
    return windlass_planes.plane("module", crds=(*pools, *crds.documents(crds.BUILDS)))


@pytest.fixture
async def namespace(build_plane: ControlPlane) -> str:
    """A namespace in which Pods of builds can be created."""
    name = await build_plane.create_namespace()
    async with Client(config.load(kubeconfig=build_plane.kubeconfig())) as client:
        await client.create(ServiceAccount, {"metadata": {"name": SERVICE_ACCOUNT}}, namespace=name)
    return name
