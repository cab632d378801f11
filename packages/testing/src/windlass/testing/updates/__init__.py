"""Plays the update of an OpenShift cluster on a bare API server, for tests and the demo, step by step or at once.

    cluster = PlayedCluster(client, pace=0.5)
    await cluster.install()
    for step in cluster.healthy_update("4.16.1"):
        print(step.title)
        await step.play()

Nothing is updated: the real objects say what they would say if something were. `cluster.cvo` and `cluster.mco` have the
steps of other stories: operators that degrade, paused pools, drains that hang.

| module | what it plays |
|---|---|
| `layout` | what the cluster consists of |
| `cvo` | the Cluster Version Operator: ClusterVersion, ClusterOperators |
| `mco` | the Machine Config Operator: pools and their MachineConfigs |
| `machine_config` | nothing: it runs that operator's own controller in the place of `mco` |
| `os_builder` | nothing, either: it also runs that operator's own builder of OS images |
| `nodes` | one Node on its way to another MachineConfig, its kubelet and its MachineConfigNode |
| `drain` | the drain of a Node, by the real Eviction API |
| `thanos` | the service that has the alerts, over TLS |
| `objects` | the reads and writes of all of them |

They speak `windlass.kube.verbs.Api`: the API server of a plane (with `windlass.testing.crds.UPDATES`) and
`windlass.model` both do. On a plane, the simulators need sole use of its cluster-scoped objects.
"""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from windlass.kube.clock import Clock, SystemClock
from windlass.kube.verbs import Api
from windlass.testing.updates.cvo import ClusterVersionOperator
from windlass.testing.updates.layout import MACHINE_CONFIG, Layout, Pool
from windlass.testing.updates.mco import MachineConfigOperator
from windlass.testing.updates.objects import Objects

__all__ = ["Layout", "PlayedCluster", "Pool", "Step"]


class Step(Struct, frozen=True):
    """A part of a script: what happens, for people, and a coroutine that makes it happen."""

    title: str
    play: Callable[[], Awaitable[None]]


class PlayedCluster:
    """The cluster that `layout` describes, with the operators that update it.

    `pace` is the time between two steps of an operator or a Node; 0 is as quick as the API server. `patience` is how
    long a drain may last before its Node reports that it failed (an hour on a cluster). Both are in seconds.
    """

    def __init__(
        self,
        api: Api,
        layout: Layout | None = None,
        *,
        pace: float = 1.0,
        patience: float = 3600.0,
        clock: Clock | None = None,
    ) -> None:
        self.layout = layout or Layout()
        self._clock = clock or SystemClock()
        self._pace = pace
        objects = Objects(api, self._clock)
        self.cvo = ClusterVersionOperator(objects, self.layout)
        self.mco = MachineConfigOperator(objects, self.layout, pace=pace, patience=patience)

    async def install(self) -> None:
        """Create all objects of the cluster, at rest. Raises AlreadyExists on a server that has such objects."""
        await self.mco.install()
        await self.cvo.install()

    def healthy_update(self, version: str) -> list[Step]:
        """An update to `version` at which nothing goes wrong."""
        first = [name for name in self.layout.operators if name != MACHINE_CONFIG]
        return [
            Step(f"the update to {version} begins", lambda: self.cvo.start(version)),
            *(Step(f"{name} is updated", lambda name=name: self.update(name)) for name in first),  # type: ignore[misc]
            Step("machine-config begins, and pools get their new configurations", lambda: self._begin_pools(version)),
            Step("the nodes are updated; the control plane is done with its own", self._roll),
        ]

    async def update(self, operator: str) -> None:
        """The operator works on the update, and finishes it."""
        await self.cvo.progress(operator)
        await self._clock.sleep(self._pace)
        await self.cvo.finish(operator)

    async def _begin_pools(self, version: str) -> None:
        await self.cvo.progress(MACHINE_CONFIG)
        await self.mco.render(version)

    async def _roll(self) -> None:
        async with asyncio.TaskGroup() as rolling:
            for pool in self.layout.pools:
                rolling.create_task(self._control_plane() if pool.name == "master" else self.mco.roll(pool.name))

    async def _control_plane(self) -> None:
        await self.mco.roll("master")
        await self.cvo.finish(MACHINE_CONFIG)
        await self.cvo.complete()
