"""Recorded runs of machines, taken to rest by our rules on the in-memory model."""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from tests.recorded.runs import NOW, began
from windlass.kube.control.plan import Plan
from windlass.kube.control.rounds import Decide, Ending
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.machine.looking import looked
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring.collector import ORPHAN
from windlass.machine_sync.platforms import PLATFORMS
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import MemoryReader

from ..process import to_rest
from .cases import Tree
from .world import NAMESPACES


async def rest_of(
    row: Tree, rules: Decide[MachineSnapshot], *, told: Callable[[MemoryApi], None] = lambda _: None
) -> tuple[MemoryApi, Ending]:
    """The model after the run, which began with what was recorded, by `rules` alone. `told` hears of every state."""
    platform, api = PLATFORMS[row["platform"]], began(row)
    told(api)
    api.subscribe(lambda _: told(api))
    reader = MemoryReader(api)

    def asking(seen: MachineSnapshot, *, now: datetime) -> Plan:
        return rules(looked(seen), now=now)

    controller = replace(machine_controller(reader, platform=platform, namespaces=NAMESPACES), decide=asking)
    while True:
        rest = await to_rest(controller, row["request"], api=api, reader=reader, now=NOW)
        if not any(ORPHAN in infra.metadata.finalizers for infra in api.listing(platform.infra_machine)):
            return api, rest
        await collect_garbage(api)
