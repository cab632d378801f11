"""Joins both sides into one row per Machine and per MachineSet: the rows of `windlass machines`, as plain values.

An object and its mirror have the same name in two namespaces, so they are joined by name:

    from windlass.machine_sync.overview import MACHINES

    for row in MACHINES.join(machine_api, cluster_api):           # iterables of Present or Unreadable Machines
        print(row.name, row.authority, row.synchronized and row.synchronized.reason)

`MACHINE_SETS` does the same for MachineSets, `KINDS` has both.

| module | holds |
|---|---|
| `rows` | the fields of a row, and the join for any mirrored kind |
| `machines`, `machine_sets` | the fields shown for each kind |

Pure: nothing here reads a cluster or a clock.
"""

from windlass.machine_sync.overview.machine_sets import MACHINE_SETS, MachineSetRow, MachineSetSide, Replicas
from windlass.machine_sync.overview.machines import MACHINES, MachineRow, MachineSide
from windlass.machine_sync.overview.rows import (
    AnyKind,
    AnyRow,
    Found,
    Generation,
    InfraReference,
    Kind,
    Row,
    Synchronized,
)

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
