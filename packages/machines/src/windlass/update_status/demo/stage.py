"""The stage of Update status: a played cluster, and Windlass with the ServiceAccount of its manifests."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import ClassVar, Final

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.meta import ObjectMeta, Resource
from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.demo import stage
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.testing import crds
from windlass.testing.plane.access import Document
from windlass.testing.updates import PlayedCluster
from windlass.testing.updates.drain import Pod
from windlass.update_status.demo.scene import LAYOUT, Scene
from windlass.update_status.installation import installation
from windlass.update_status.reading.kept import HOME, LEASE

PACE: Final = 1.0
"""Seconds between two steps of an operator or a Node. Times in objects have no fractions: an operator that is updated
in the second in which the update began would not be in the record."""
DRAIN_PATIENCE: Final = 3.0
"""Seconds after which a Node reports that its drain failed; an hour on a cluster."""


class PodDisruptionBudget(Struct):
    RESOURCE: ClassVar[Resource] = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Stage(stage.Stage[Scene]):
    """A cluster whose operators and Nodes are played in this process."""

    MANIFESTS = "windlass.update_status.demo"
    WATCHED: ClassVar = dict.fromkeys(
        (ClusterVersion, ClusterOperator, MachineConfigPool, Node, UpdateStatus, UpdateRecord)
    )
    LEASES: ClassVar = {LEASE: HOME}

    opening = Scene()

    def __init__(self, directory: Path, *, temporary: bool = True) -> None:
        super().__init__(directory, temporary=temporary)
        self._cluster: PlayedCluster | None = None
        self._played: list[asyncio.Task[None]] = []

    def crds(self) -> Sequence[Document]:
        return [*crds.documents(*crds.UPDATES), *(kind.manifest() for kind in installation().owned)]

    async def complete(self, scene: Scene) -> Scene:
        return replace(scene, now=time.time_ns())

    @property
    def cluster(self) -> PlayedCluster:
        """The operators, which the story directs."""
        assert self._cluster is not None, "there is no control plane yet"
        return self._cluster

    def play(self, part: Awaitable[None]) -> None:
        """Let the cluster act while the story goes on."""

        async def act() -> None:
            await part

        self._played.append(asyncio.create_task(act(), name="played cluster"))

    def casualty(self) -> str:
        for task in self._played:
            if task.done() and not task.cancelled() and (error := task.exception()):
                return f"the played cluster stopped: {error}"
        return super().casualty()

    # what the steps install

    async def start_control_plane(self) -> None:
        await super().start_control_plane()
        player = Client(
            config.load(kubeconfig=str(self.plane.kubeconfig(stage.SIMULATORS))), field_manager="played-cluster"
        )
        self._ending.push_async_callback(player.close)
        self._ending.push_async_callback(self._end_play)
        self._cluster = PlayedCluster(player, LAYOUT, pace=PACE, patience=DRAIN_PATIENCE)
        self.watch()

    async def _end_play(self) -> None:
        for task in self._played:
            task.cancel()
        await asyncio.gather(*self._played, return_exceptions=True)

    async def start_windlass(self) -> None:
        """`windlass run update-status`, as its own ServiceAccount."""
        await self.install(installation())
        await self.run_windlass(installation())

    async def protect_a_pod(self) -> None:
        """A Pod on `infra-0`, Running, that its PodDisruptionBudget does not allow to be evicted."""
        await self.apply("shop.yaml")
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self._user.patch(
            Pod, "shop", {"status": status}, type=PatchType.MERGE, namespace="shop", subresource="status"
        )
