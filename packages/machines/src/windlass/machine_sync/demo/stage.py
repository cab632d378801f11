"""The stage of Machine sync: a cluster on simulated OpenStack, and Windlass with the ServiceAccount of its
manifests."""

import asyncio
from typing import ClassVar, Final

from windlass.api import capi, capo, mapi
from windlass.demo import stage
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME, MACHINE_API_NAMESPACE
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.installation import installation
from windlass.testing import crds
from windlass.testing.machines import cluster_api
from windlass.testing.machines.simulators.instances import InstanceRecord

FOREIGN_GROUPS: Final = ("machine.openshift.io", "config.openshift.io", "infrastructure.cluster.x-k8s.io")
"""API groups whose CRDs a user's cluster has already. Those of Cluster API core come with its manager."""


class Stage(stage.Stage[Scene]):
    """Machines in two APIs."""

    MANIFESTS = "windlass.machine_sync.demo"
    WATCHED: ClassVar = {
        capi.Cluster: CLUSTER_API_NAMESPACE,
        capi.Machine: CLUSTER_API_NAMESPACE,
        capi.MachineSet: CLUSTER_API_NAMESPACE,
        capo.OpenStackMachine: CLUSTER_API_NAMESPACE,
        mapi.Machine: MACHINE_API_NAMESPACE,
        mapi.MachineSet: MACHINE_API_NAMESPACE,
        InstanceRecord: CLUSTER_API_NAMESPACE,
    }
    LEASES: ClassVar = {LEASE_NAME: CLUSTER_API_NAMESPACE}

    opening = Scene()

    async def start_control_plane(self) -> None:
        await super().start_control_plane()
        await asyncio.to_thread(cluster_api.start, self.plane.blocking)

    async def install_manifests(self) -> None:
        """The CRDs of other projects that a user's cluster has already, and the manifests of Windlass."""
        await self.plane.apply_crds(*await asyncio.to_thread(crds.documents, *FOREIGN_GROUPS))
        await self.apply("namespaces.yaml")
        await self.install(installation())
        self.watch()

    async def describe_cluster(self) -> None:
        """The cluster, and stand-ins for the infrastructure provider, the Machine API operator and the installer."""
        await self.apply("openshift.yaml", "cluster.yaml")
        await self.start(
            "simulators",
            "windlass.testing.machines.simulators",
            f"--kubeconfig={self.plane.kubeconfig(stage.SIMULATORS)}",
            f"--workload-kubeconfig={self.plane.kubeconfig()}",
            "--platform=OpenStack",
        )
