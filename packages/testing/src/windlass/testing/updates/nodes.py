"""Plays what the Machine Config Operator and the kubelet do with one Node, and its MachineConfigNode.

An update of a Node is these steps, each a method:

| step | what happens |
|---|---|
| `prepare` | the Node is told which configuration it shall have, and begins to work on it |
| `drain` | it is cordoned and its Pods are evicted; a PodDisruptionBudget may hold that up |
| `reboot` | files and system are written, the kubelet goes down |
| `boot` | the kubelet is back |
| `settle` | it is uncordoned and has the configuration |
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from windlass.api.core import Node
from windlass.api.machineconfiguration import GROUP, MachineConfigNode
from windlass.testing.updates.drain import drain
from windlass.testing.updates.layout import Pool
from windlass.testing.updates.objects import Objects, Tree, condition

STEPS: Final = (
    "UpdatePrepared",
    "UpdateExecuted",
    "Cordoned",
    "Drained",
    "AppliedFiles",
    "AppliedOSImage",
    "UpdatePostActionComplete",
    "RebootedNode",
    "UpdateComplete",
    "Uncordoned",
    "Resumed",
)
"""Conditions of a MachineConfigNode that are False at rest, Unknown during the step and True after it."""

_PRESSURES: Final = (
    condition("MemoryPressure", False, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    condition("DiskPressure", False, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    condition("PIDPressure", False, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_UP: Final = condition("Ready", True, "KubeletReady", "kubelet is posting ready status")
_DOWN: Final = condition("Ready", False, "KubeletNotReady", "node is shutting down")


class PlayedNode:
    """The Node `name` of `pool`. `changed` is awaited after each step.

    `patience` is that of `PlayedCluster`, `again` the time between two attempts to evict, in seconds.
    """

    def __init__(
        self,
        objects: Objects,
        pool: Pool,
        name: str,
        *,
        patience: float,
        again: float,
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        self._objects = objects
        self._pool = pool
        self.name = name
        self._patience = patience
        self._again = again
        self._changed = changed

    async def install(self, config: str) -> None:
        """Create the Node, at rest with the MachineConfig `config`."""
        labels = {"kubernetes.io/hostname": self.name} | {
            f"node-role.kubernetes.io/{role}": "" for role in self._pool.roles
        }
        await self._objects.create(Node, {"metadata": {"name": self.name, "labels": labels}, "spec": {}})
        drained = f"uncordon-{config}"
        await self._annotate(desiredConfig=config, desiredDrain=drained)
        await self._objects.report(Node, self.name, *_PRESSURES, _UP)
        spec = {"node": {"name": self.name}, "pool": {"name": self._pool.name}, "configVersion": {"desired": config}}
        await self._objects.create(MachineConfigNode, {"metadata": {"name": self.name}, "spec": spec})
        await self._settle(config)

    async def prepare(self, config: str) -> None:
        """The Node shall have the MachineConfig `config`."""
        await self._annotate(desiredConfig=config, desiredDrain=f"drain-{config}", state="Working")
        await self._objects.patch(MachineConfigNode, self.name, {"spec": {"configVersion": {"desired": config}}})
        await self._say(config, done=["UpdatePrepared"], doing=["UpdateExecuted", "Cordoned"])
        await self._changed()

    async def drain(self) -> None:
        """Cordon the Node and evict its Pods. It degrades when that lasts too long, and recovers when it is done."""
        config = await self.annotation("desiredConfig")
        await self._objects.patch(Node, self.name, {"spec": {"unschedulable": True}})
        await self._say(config, done=["Cordoned"], doing=["Drained"])
        await self._changed()
        logs = "Please see machine-config-controller logs for more information"
        late = f"failed to drain node: {self.name} after 1 hour. {logs}"
        await drain(
            self._objects.api,
            self.name,
            clock=self._objects.clock,
            every=self._again,
            within=self._patience,
            late=lambda: self.degrade(late),
        )
        await self._annotate(lastAppliedDrain=f"drain-{config}", state="Working", reason="")
        await self._say(config, done=["Drained"], doing=["AppliedFiles", "AppliedOSImage"])
        await self._changed()

    async def reboot(self) -> None:
        """The configuration is on disk; the Node goes down."""
        # The state stays Working. Source: machine-config-operator, pkg/daemon/update.go.
        await self._annotate(**{"post-config-action": "Rebooting"})
        applied = ["AppliedFiles", "AppliedOSImage", "UpdateExecuted"]
        await self._say(
            await self.annotation("desiredConfig"), done=applied, doing=["UpdatePostActionComplete", "RebootedNode"]
        )
        await self._objects.report(Node, self.name, _DOWN)
        await self._changed()

    async def boot(self) -> None:
        """The Node is back, and wants to be uncordoned."""
        config = await self.annotation("desiredConfig")
        await self._objects.report(Node, self.name, _UP)
        await self._annotate(**{"post-config-action": "", "desiredDrain": f"uncordon-{config}"})
        rebooted = ["UpdatePostActionComplete", "RebootedNode"]
        await self._say(config, done=rebooted, doing=["UpdateComplete", "Uncordoned"])
        await self._changed()

    async def settle(self) -> None:
        """Uncordon the Node: it has the configuration."""
        await self._objects.patch(Node, self.name, {"spec": {"unschedulable": None}})
        await self._settle(await self.annotation("desiredConfig"))
        await self._changed()

    async def degrade(self, reason: str) -> None:
        """The Node reports a failure, with this text."""
        await self._annotate(state="Degraded", reason=reason)
        await self._objects.report(MachineConfigNode, self.name, _step("NodeDegraded", True, reason))
        await self._changed()

    async def annotation(self, name: str) -> str:
        """One of the Machine Config Operator's, named without its prefix."""
        return annotations(await self._objects.get(Node, self.name))[name]

    async def _settle(self, config: str) -> None:
        await self._annotate(currentConfig=config, lastAppliedDrain=f"uncordon-{config}", state="Done", reason="")
        versions = {"configVersion": {"current": config, "desired": config}}
        await self._objects.report(
            MachineConfigNode,
            self.name,
            *(_step(one, False, f"This node has not yet entered the {one} phase") for one in STEPS),
            _step("NodeDegraded", False, "This node has not yet entered the NodeDegraded phase"),
            _step("Updated", True, f"Node {self.name} Updated"),
            change=lambda status: status.update(versions),
        )

    async def _say(self, config: str, *, done: Sequence[str], doing: Sequence[str]) -> None:
        """Report progress in the MachineConfigNode. A Node that makes progress is neither updated nor degraded."""
        await self._objects.report(
            MachineConfigNode,
            self.name,
            *(_step(one, True, f"{one} for {config}") for one in done),
            *(_step(one, "Unknown", f"{one} for {config} is under way") for one in doing),
            _step("NodeDegraded", False, f"Node {self.name} makes progress"),
            _step("Updated", False, f"Node {self.name} is being updated to {config}"),
        )

    async def _annotate(self, **values: str) -> None:
        named = {f"{GROUP}/{name}": value for name, value in values.items()}
        await self._objects.patch(Node, self.name, {"metadata": {"annotations": named}})


def annotations(node: Tree) -> dict[str, str]:
    """The annotations of the Machine Config Operator, without their prefix."""
    found = node["metadata"].get("annotations") or {}
    return {name.removeprefix(f"{GROUP}/"): value for name, value in found.items() if name.startswith(f"{GROUP}/")}


def _step(type: str, status: bool | str, message: str) -> Tree:  # noqa: A002
    return condition(type, status, type, message)
