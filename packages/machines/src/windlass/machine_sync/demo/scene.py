"""Machines and MachineSets of both APIs in one snapshot, which the expectations check."""

from typing import TypeAlias

from windlass.api import capi, mapi
from windlass.demo import scene, story
from windlass.demo.story import Missing, need
from windlass.machine_sync.overview import MACHINE_SETS, MACHINES, MachineRow, MachineSetRow
from windlass.testing.machines.simulators.instances import SELECTOR, Instance, InstanceRecord, instance_of


class Machines(scene.Scene, frozen=True, kw_only=True):
    """The objects of a story about machines."""

    @property
    def rows(self) -> list[MachineRow]:
        """Each machine of both APIs, by name, as `windlass machines` shows it."""
        return MACHINES.join(self.of(mapi.Machine).values(), self.of(capi.Machine).values())

    def rows_of(self, machine_set: str) -> list[MachineRow]:
        """The machines of one MachineSet, which are named after it."""
        return [row for row in self.rows if row.name.startswith(f"{machine_set}-")]

    @property
    def set_rows(self) -> list[MachineSetRow]:
        """Each MachineSet of both APIs, by name."""
        return MACHINE_SETS.join(self.of(mapi.MachineSet).values(), self.of(capi.MachineSet).values())

    def address(self, name: str) -> str:
        """The first address of a machine in the Machine API, empty if it has none."""
        mirror = self.get(mapi.Machine, name)
        addresses = mirror.object.status.addresses if mirror else []
        return addresses[0].address if addresses else ""

    # what expectations ask for

    def needs_row(self, name: str) -> MachineRow:
        """A machine that has to exist."""
        return need(next((row for row in self.rows if row.name == name), None), f"there is no Machine {name}")

    def needs_mirror(self, row: MachineRow, authority: str) -> None:
        """A machine is mirrored under this authority."""
        need(row.cluster_api, f"{row.name} does not exist in Cluster API")
        need(row.machine_api, f"{row.name} does not exist in the Machine API")
        need(row.authority == authority, f"{row.name} has authority {row.authority or '(none)'}, not {authority}")
        said = need(row.synchronized, f"{row.name} has no Synchronized condition")
        if said.status != "True":
            raise Missing(f"{row.name} has Synchronized={said.status} {said.reason}: {said.message}")

    def needs_running(self, row: MachineRow, authority: str) -> None:
        """A machine runs under this authority, with a complete mirror."""
        self.needs_mirror(row, authority)
        for side in row.sides:
            need(side.phase == "Running", f"{row.name} has phase {side.phase or '(none)'} in {side.namespace}")
        (here, there) = row.sides
        if not here.provider_id or here.provider_id != there.provider_id:
            raise Missing(f"{row.name} has provider IDs {here.provider_id!r} and {there.provider_id!r}")
        need(here.node, f"{row.name} names no Node in the Machine API")
        need(self.address(row.name), f"{row.name} has no address in the Machine API")
        if row.generation is None or row.generation.behind:
            raise Missing(f"the mirror of {row.name} is behind the generation of the authority")


class Scene(Machines, frozen=True, kw_only=True):
    """The objects of the story of Machine sync."""

    @property
    def instances(self) -> list[Instance]:
        """All instances that the simulated cloud has ever created."""
        records = self.of(InstanceRecord).values()
        return [instance_of(record.object) for record in records if SELECTOR in record.metadata.labels]


Expectation: TypeAlias = story.Expectation[Scene]
Moment: TypeAlias = story.Moment[Scene]
