"""A control plane with the kinds of pools and Builds, the real job controller, and a registry with a base image."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import install
from tests.builder import require_builder
from windlass.api.batch import Job
from windlass.api.build import Build
from windlass.api.core import ConfigMap, Pod, Secret
from windlass.kube import config
from windlass.kube.client import Client
from windlass.os_build.constants import NAMESPACE
from windlass.testing import ControlPlane, crds
from windlass.testing.builder import push_base
from windlass.testing.plane.pool import PlanePool
from windlass.testing.registry import Registry


@pytest.fixture(scope="session")
def base(windlass_registry: Registry) -> str:
    """The pullspec of a base image in the registry of this worker."""
    require_builder()
    return push_base(windlass_registry)


@pytest.fixture
def build_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane without pools: they are cluster-scoped, and a controller looks at all of them."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.OS_BUILDS))


@pytest.fixture
async def cluster(build_plane: ControlPlane, registry: Registry, base: str) -> AsyncIterator[Cluster]:
    """A cluster with a namespace of the test's own."""
    namespace = await build_plane.create_namespace()
    async with Client(config.load(kubeconfig=build_plane.kubeconfig())) as client:
        yield Cluster(client, registry, base=base, namespace=namespace)


@pytest.fixture
async def operated(build_plane: ControlPlane, registry: Registry, base: str) -> AsyncIterator[Cluster]:
    """A cluster with the namespace that a process looks at, empty."""
    build_plane.blocking.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    async with Client(config.load(kubeconfig=build_plane.kubeconfig())) as client:
        for kind in (Build, Job, Pod, ConfigMap, Secret):
            for each in (await client.list(kind, namespace=NAMESPACE)).items:
                if each.name != "kube-root-ca.crt":
                    await client.delete(kind, each.name, namespace=NAMESPACE, propagation="Background")
        yield Cluster(client, registry, base=base)


@pytest.fixture
def account(build_plane: ControlPlane, tmp_path: Path) -> Path:
    """A kubeconfig of the ServiceAccount with the rights that are generated, and no others."""
    return install(build_plane.blocking, tmp_path, namespace=NAMESPACE)
