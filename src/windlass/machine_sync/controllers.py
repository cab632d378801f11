"""The controllers of Machine sync: one for Machines, one for MachineSets."""

from typing import Any

from windlass.kube.controller import Controller
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.controller import IndexedReader, machine_controller
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.platforms import Platform


def controllers(
    reader: IndexedReader,
    *,
    platform: Platform,
    namespaces: Namespaces,
    workers: int = 16,
    resync: float = 600.0,
) -> tuple[Controller[str, Any], ...]:
    """All of them; `workers` is for each. The sets first: Machines wait for theirs."""
    return (
        machine_set_controller(
            reader, platform=platform, namespaces=namespaces, workers=max(1, workers // 4), resync=resync
        ),
        machine_controller(reader, platform=platform, namespaces=namespaces, workers=workers, resync=resync),
    )
