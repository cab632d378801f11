"""Joins both sides into one row per Machine and per MachineSet: the rows of `windlass machines`, as plain values.

An object and its mirror have the same name in two namespaces, so they are joined by name:

    from windlass.machine_sync.overview import MACHINES

    for row in MACHINES.join(machine_api, cluster_api):           # iterables of Present or Unreadable Machines
        print(row.name, row.authority, row.synchronized and row.synchronized.reason)

`MACHINE_SETS` does the same for MachineSets, `KINDS` has both.

| module | holds |
|---|---|
| `rows` | the fields of a row, and the join for any mirrored kind |

Pure: nothing here reads a cluster or a clock.
"""

from typing import Any, TypeAlias

from msgspec import Struct, field

from windlass.api import capi, mapi
from windlass.machine_sync.overview.rows import (
    AnyKind,
    AnyRow,
    Found,
    Generation,
    InfraReference,
    Kind,
    Row,
    Side,
    Synchronized,
)

# MachineSets in the overview: how many machines each side wants and has.


class Replicas(Struct, rename="camel", frozen=True):
    """The numbers of desired, current, ready and available machines; None while not reported."""

    desired: int | None
    current: int | None
    ready: int | None
    available: int | None

    @property
    def complete(self) -> bool:
        """The desired number of machines exists, and all are ready."""
        return self.desired is not None and self.desired == self.current == self.ready


class MachineSetSide(Side, rename="camel", frozen=True, kw_only=True):
    """`infrastructure_template` is the template of a Cluster API MachineSet's infra machines."""

    replicas: Replicas | None = None
    infrastructure_template: InfraReference | None = None


def _look_at_set(machine_set: mapi.MachineSet | capi.MachineSet) -> dict[str, Any]:
    status = machine_set.status
    seen: dict[str, Any] = {
        "replicas": Replicas(
            machine_set.spec.replicas, status.replicas, status.ready_replicas, status.available_replicas
        )
    }
    if isinstance(machine_set, capi.MachineSet) and (infra := machine_set.spec.template.spec.infrastructure_ref).name:
        seen["infrastructure_template"] = InfraReference(infra.kind, infra.name)
    return seen


MACHINE_SETS = Kind(
    "MachineSet", ("MachineSet", "MachineSets"), mapi.MachineSet, capi.MachineSet, MachineSetSide, _look_at_set
)

MachineSetRow: TypeAlias = Row[MachineSetSide]


# Machines in the overview: phase, Node, instance and infrastructure of each side.


class MachineSide(Side, rename="camel", frozen=True, kw_only=True):
    """`phase` is empty until a controller sets it, `node` and `provider_id` until there is an instance.

    `infrastructure` is the infra machine of a Cluster API Machine.
    """

    phase: str = ""
    provider_id: str = field(default="", name="providerID")
    node: str = ""
    infrastructure: InfraReference | None = None


def _look_at_machine(machine: mapi.Machine | capi.Machine) -> dict[str, Any]:
    node = machine.status.node_ref
    seen: dict[str, Any] = {
        "phase": machine.status.phase or "",
        "provider_id": machine.spec.provider_id or "",
        "node": node.name if node else "",
    }
    if isinstance(machine, capi.Machine) and (infra := machine.spec.infrastructure_ref).name:
        seen["infrastructure"] = InfraReference(infra.kind, infra.name)
    return seen


MACHINES = Kind("Machine", ("machine", "machines"), mapi.Machine, capi.Machine, MachineSide, _look_at_machine)

MachineRow: TypeAlias = Row[MachineSide]


KINDS: tuple[AnyKind, ...] = (MACHINES, MACHINE_SETS)
"""In display order."""

__all__ = [
    "KINDS",
    "MACHINES",
    "MACHINE_SETS",
    "AnyKind",
    "AnyRow",
    "Found",
    "Generation",
    "InfraReference",
    "Kind",
    "MachineRow",
    "MachineSetRow",
    "MachineSetSide",
    "MachineSide",
    "Replicas",
    "Row",
    "Synchronized",
]
