"""The stage of Machine sync: a cluster on simulated OpenStack, and Windlass with the ServiceAccount of its
manifests."""

import asyncio
from collections.abc import Mapping
from typing import Final

from windlass.api import capi, capo, mapi
from windlass.api.meta import KubernetesObject
from windlass.demo import stage
from windlass.machine_sync import rbac
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME, MACHINE_API_NAMESPACE
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.installation import NAME
from windlass.testing import crds
from windlass.testing.machines import cluster_api
from windlass.testing.machines.simulators.instances import SELECTOR, Instance, InstanceRecord, instance_of

FOREIGN_GROUPS: Final = ("machine.openshift.io", "config.openshift.io", "infrastructure.cluster.x-k8s.io")
"""API groups whose CRDs a user's cluster has already. Those of Cluster API core come with its manager."""

_WATCHED: Mapping[type[KubernetesObject], str | None] = {
    capi.Cluster: CLUSTER_API_NAMESPACE,
    capi.Machine: CLUSTER_API_NAMESPACE,
    capi.MachineSet: CLUSTER_API_NAMESPACE,
    capo.OpenStackMachine: CLUSTER_API_NAMESPACE,
    mapi.Machine: MACHINE_API_NAMESPACE,
    mapi.MachineSet: MACHINE_API_NAMESPACE,
    InstanceRecord: CLUSTER_API_NAMESPACE,
}


class Stage(stage.Stage[Scene]):
    """Machines in two APIs."""

    MANIFESTS = "windlass.machine_sync.demo"

    opening = Scene()

    # what the steps install

    async def start_control_plane(self) -> None:
        await super().start_control_plane()
        await asyncio.to_thread(cluster_api.start, self.plane.blocking)

    async def install(self) -> None:
        """The CRDs of other projects that a user's cluster has already, and the manifests of Windlass."""
        await self.plane.apply_crds(*await asyncio.to_thread(crds.documents, *FOREIGN_GROUPS))
        await self.apply("namespaces.yaml")
        await self.plane.apply(*rbac.documents(service_account=rbac.DEFAULT_SERVICE_ACCOUNT))
        self.watch(_WATCHED)

    async def start_simulators(self) -> None:
        """Stand-ins for the infrastructure provider, the Machine API operator and the installer."""
        await self.start(
            "simulators",
            "windlass.testing.machines.simulators",
            f"--kubeconfig={self.plane.kubeconfig(stage.SIMULATORS)}",
            f"--workload-kubeconfig={self.plane.kubeconfig()}",
            "--platform=OpenStack",
        )

    async def start_windlass(self) -> None:
        """`windlass run machine-sync`, as its own ServiceAccount."""
        await self.run_windlass(NAME, rbac.DEFAULT_SERVICE_ACCOUNT)

    # what the scene shows

    async def look(self) -> Scene:
        if self._client is None:
            return self.opening
        watches = self._watches
        if watches is None:
            return Scene(version=await self.version())
        return Scene(
            version=await self.version(),
            unwatched=watches.unwatched,
            cluster=watches.see(capi.Cluster).get("demo"),
            machines=watches.see(capi.Machine),
            mirrors=watches.see(mapi.Machine),
            infrastructure=watches.see(capo.OpenStackMachine),
            sets=watches.see(capi.MachineSet),
            mirror_sets=watches.see(mapi.MachineSet),
            instances=self._instances(),
            ready=await self.ready(),
            leader=await self.leader(LEASE_NAME, namespace=CLUSTER_API_NAMESPACE),
            code=await self.ended(),
        )

    def _instances(self) -> tuple[Instance, ...]:
        """The instances of the simulated cloud."""
        assert self._watches is not None
        records = self._watches.see(InstanceRecord).values()
        return tuple(instance_of(record.object) for record in records if SELECTOR in record.metadata.labels)
