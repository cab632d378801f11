"""A played cluster on a plane of its own, and `windlass` as a process that is its user."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.cli.conftest import environment_of
from windlass.api import apps, config, core, machineconfiguration, route
from windlass.api.meta import KubernetesObject
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.testing import ControlPlane
from windlass.testing.updates import Layout, PlayedCluster, Pool

LAYOUT = Layout(
    operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=1))
)
KINDS: tuple[type[KubernetesObject], ...] = (
    config.ClusterVersion,
    config.ClusterOperator,
    machineconfiguration.MachineConfigPool,
    machineconfiguration.MachineConfig,
    machineconfiguration.MachineConfigNode,
    core.Node,
    apps.Deployment,
    route.Route,
)


@pytest.fixture
def environment(update_plane: ControlPlane, tmp_path: Path) -> dict[str, str]:
    return environment_of(update_plane.kubeconfig(), tmp_path)


@pytest.fixture
async def admin(update_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(connections.load(kubeconfig=update_plane.kubeconfig())) as client:
        yield client


@pytest.fixture
async def cluster(admin: Client) -> AsyncIterator[PlayedCluster]:
    """A small cluster at rest. The next test finds nothing of it."""
    played = PlayedCluster(admin, LAYOUT, pace=0)
    await played.install()
    yield played
    for kind in KINDS:
        for item in (await admin.list(kind)).items:
            await admin.delete(kind, item.name, namespace=item.namespace)
