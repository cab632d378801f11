"""One row per machine and per MachineSet out of both sides: what `windlass machines` shows, as plain values.

The two mirrors of an object have the same name in two namespaces, so a name is all it takes to join them:

    from windlass.machine_sync.overview import MACHINES

    for row in MACHINES.join(machine_api, cluster_api):           # iterables of Present or Unreadable Machines
        print(row.name, row.authority, row.synchronized and row.synchronized.reason)

`MACHINE_SETS` does the same for MachineSets, `KINDS` has both.

| module | holds |
|---|---|
| `rows` | what a row is, and how any mirrored kind is joined |
| `machines`, `machine_sets` | what is worth showing of each kind |

Pure: nothing here reads a cluster or a clock.
"""

from windlass.machine_sync.overview.machine_sets import MACHINE_SETS, MachineSetRow, MachineSetSide, Replicas
from windlass.machine_sync.overview.machines import MACHINES, MachineRow, MachineSide
from windlass.machine_sync.overview.rows import AnyKind, AnyRow, Found, Generation, Kind, Reference, Row, Synchronized

KINDS: tuple[AnyKind, ...] = (MACHINES, MACHINE_SETS)
"""In the order in which people look at them."""

__all__ = [
    "KINDS",
    "MACHINES",
    "MACHINE_SETS",
    "AnyKind",
    "AnyRow",
    "Found",
    "Generation",
    "Kind",
    "MachineRow",
    "MachineSetRow",
    "MachineSetSide",
    "MachineSide",
    "Reference",
    "Replicas",
    "Row",
    "Synchronized",
]
