"""A played cluster on the in-memory API server, and a controller that has just started there."""

from datetime import datetime

from windlass.api import apps, config, core
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.policy import PodDisruptionBudget
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_record import UpdateRecord
from windlass.kube.clock import Clock
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.rounds import Ending
from windlass.kube.verbs import Api
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.model.schema import rules_of_crd
from windlass.testing.clock import VirtualLoop
from windlass.testing.updates import PlayedCluster
from windlass.update_status.controller.declare import update_status_controller
from windlass.update_status.installation import installation
from windlass.update_status.record import Record, record_of

READ = (
    apps.Deployment,
    config.ClusterOperator,
    config.ClusterVersion,
    core.Namespace,
    core.Node,
    MachineConfig,
    MachineConfigNode,
    MachineConfigPool,
    MachineOSBuild,
    core.Pod,
    PodDisruptionBudget,
)
OWNED = tuple(rules_of_crd(owned.kind, owned.manifest()) for owned in installation().owned)


class World:
    """`cluster` plays; `settle` is what a controller does that has just started."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.clock = loop.clock
        self.api = MemoryApi(*READ, core.Event, *OWNED, clock=self.clock.now)
        self.cluster = PlayedCluster(self.api, pace=1.0, clock=self.clock)

    async def settle(self, api: Api | None = None, reader: MemoryReader | None = None) -> Ending:
        return await settled(api or self.api, reader or MemoryReader(self.api), self.clock.now(), clock=self.clock)

    async def status(self) -> UpdateStatusStatus:
        return (await self.api.get(UpdateStatus, "cluster")).decode().status

    def records(self) -> list[Record]:
        return [record_of(found.decode()) for found in self.api.listing(UpdateRecord)]

    def events(self) -> list[str]:
        return [found.decode().reason for found in self.api.listing(core.Event)]


async def settled(api: Api, reader: MemoryReader, now: datetime, *, clock: Clock | None = None) -> Ending:
    controller = update_status_controller(reader, clock=clock)
    reader.only(controller)
    return await controller.reconcile(
        "cluster",
        executor=Executor(api, ledger=reader, permits=Declared(controller.declared), now=lambda: now),
        now=lambda: now,
    )
