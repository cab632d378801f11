"""A control plane with OpenShift's CRDs of MachineOSConfigs, and our account with the rights to serve them.

The real job controller runs, and the Pods of Jobs are played.
"""

from collections.abc import AsyncIterator

import pytest

from tests.api.os_build.backends.stage import renamed, until_owner
from tests.api.os_build.machine_os.claimed import Claimed
from tests.api.os_build.pool.stage import JobHands
from tests.authorizer import allowed
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.capability.manifests import rights
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.os_build.installation import installation
from windlass.os_build.pool.snapshot import Settings
from windlass.os_build.settings import OsBuildSettings
from windlass.testing import ControlPlane, crds
from windlass.testing.binaries import MACHINE_CONFIG_API
from windlass.testing.plane.pool import PlanePool
from windlass.testing.registry import Registry

KINDS = {MachineOSConfig.RESOURCE.name, MachineOSBuild.RESOURCE.name}


@pytest.fixture
def build_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane without pools: they are cluster-scoped, and a controller looks at all of them."""
    claims = [crd for crd in crds.of(MACHINE_CONFIG_API) if crd["metadata"]["name"] in KINDS]
    return windlass_planes.plane("module", crds=[*crds.documents(*crds.OS_BUILDS), *claims])


@pytest.fixture
async def cluster(build_plane: ControlPlane, registry: Registry) -> AsyncIterator[Claimed]:
    """With a namespace of the test's own."""
    namespace = await build_plane.create_namespace()
    async with Client(config.load(kubeconfig=build_plane.kubeconfig())) as client:
        cluster = Claimed(client, registry, namespace=namespace)
        await cluster.prepare()
        yield cluster


@pytest.fixture
async def account(build_plane: ControlPlane, cluster: Claimed) -> ClusterConfig:
    """Our ServiceAccount, with what `windlass manifests rbac os-build --machine-os-configs` grants."""
    namespace = cluster.namespace
    pools = Settings(namespace=namespace, machine_os_configs=True)
    ours = installation(home=namespace, settings=OsBuildSettings(pools=pools))
    documents = rights.documents(ours.permissions(), service_account=ours.service_account)
    await build_plane.apply(*(renamed(each, namespace) for each in documents if each["kind"] != "Namespace"))
    user = ours.service_account.user
    await allowed(build_plane.blocking.rest, user, "create", "configmaps", namespace=namespace)
    await allowed(build_plane.blocking.rest, user, "list", "controllerconfigs.machineconfiguration.openshift.io")
    await allowed(build_plane.blocking.rest, user, "list", "nodes")
    identity = config.load(
        kubeconfig=await build_plane.service_account_kubeconfig(namespace, ours.service_account.name)
    )
    async with Client(identity) as client:
        await until_owner(client, MachineOSConfig, namespace=namespace)
    return identity


@pytest.fixture
def hands(cluster: Claimed) -> JobHands:
    return JobHands(cluster)
