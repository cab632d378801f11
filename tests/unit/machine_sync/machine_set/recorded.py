"""Recorded runs of MachineSets, taken to rest by our rules on the in-memory model."""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from tests.recorded.runs import NOW, began
from windlass.kube.control.plan import Plan
from windlass.kube.control.rounds import Decide, Ending
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.machine_set.looking import looked
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.platforms import PLATFORMS
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..process import to_rest
from .cases import Tree
from .world import NAMESPACES


async def rest_of(
    row: Tree, rules: Decide[MachineSetSnapshot], *, told: Callable[[MemoryApi], None] = lambda _: None
) -> tuple[MemoryApi, Ending]:
    """The model after the run, which began with what was recorded, by `rules` alone. `told` hears of every state."""
    platform, api = PLATFORMS[row["platform"]], began(row)
    told(api)
    api.subscribe(lambda _: told(api))
    reader = MemoryReader(api)

    def asking(seen: MachineSetSnapshot, *, now: datetime) -> Plan:
        return rules(looked(seen), now=now)

    controller = replace(machine_set_controller(reader, platform=platform, namespaces=NAMESPACES), decide=asking)
    return api, await to_rest(controller, row["request"], api=api, reader=reader, now=NOW)
