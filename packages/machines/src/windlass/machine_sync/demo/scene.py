"""An immutable snapshot of the cluster, which the expectations check."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from windlass.api import capi, mapi
from windlass.demo import story
from windlass.kube.control.seen import Present
from windlass.machine_sync.overview import MACHINE_SETS, MACHINES, MachineRow, MachineSetRow
from windlass.testing.machines.simulators.instances import Instance


class Machines(story.Scene, frozen=True, kw_only=True):
    """The machines of both APIs and of the infrastructure, and the MachineSets, by name.

    `code` is the exit code of the command that the step has begun, None while it runs.
    """

    cluster: Present[capi.Cluster] | None = None
    machines: Mapping[str, Present[capi.Machine]] = field(default_factory=dict)
    mirrors: Mapping[str, Present[mapi.Machine]] = field(default_factory=dict)
    infrastructure: Mapping[str, Present[Any]] = field(default_factory=dict)
    sets: Mapping[str, Present[capi.MachineSet]] = field(default_factory=dict)
    mirror_sets: Mapping[str, Present[mapi.MachineSet]] = field(default_factory=dict)
    code: int | None = None

    @property
    def rows(self) -> list[MachineRow]:
        """Each machine of both APIs, by name, as `windlass machines` shows it."""
        return MACHINES.join(self.mirrors.values(), self.machines.values())

    def rows_of(self, machine_set: str) -> list[MachineRow]:
        """The machines of one MachineSet, which are named after it."""
        return [row for row in self.rows if row.name.startswith(f"{machine_set}-")]

    def address(self, name: str) -> str:
        """The first address of a machine in the Machine API, empty if it has none."""
        mirror = self.mirrors.get(name)
        addresses = mirror.object.status.addresses if mirror else []
        return addresses[0].address if addresses else ""


class Scene(Machines, frozen=True, kw_only=True):
    """The objects of the story; empty before the first step.

    `instances` are all that the simulated cloud has ever created.
    """

    instances: tuple[Instance, ...] = ()

    @property
    def set_rows(self) -> list[MachineSetRow]:
        """Each MachineSet of both APIs, by name."""
        return MACHINE_SETS.join(self.mirror_sets.values(), self.sets.values())
