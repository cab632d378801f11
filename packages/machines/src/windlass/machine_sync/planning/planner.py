"""The planner of Machine sync, on a cluster and from files."""

from functools import partial

from msgspec.structs import replace

from windlass.capability.planning import Ground, Planner
from windlass.kube.control.seen import Present, Reader
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.documents import MACHINES
from windlass.machine_sync.planning.deciders import deciders, scope
from windlass.machine_sync.planning.standing import Standing, remedy_for, standing_of


def planner(namespaces: Namespaces, *, takes_taints: bool = False) -> Planner:
    """For machines in `namespaces`; `takes_taints`: see `Platform`."""

    async def ground(reader: Reader, *, whole: bool) -> Ground:
        standing = await standing_of(reader, namespace=namespaces.cluster_api)
        platform = replace(standing.platform, takes_taints=takes_taints)
        deciding = partial(deciders, platform=platform, namespaces=namespaces)
        # A must-gather has no FeatureGate, so its absence means nothing there.
        if whole or isinstance(standing.gate, Present):
            return Ground(deciding, _warnings(standing), _notes(standing))
        return Ground(deciding)

    return Planner(
        ground=ground,
        scope=scope(namespaces),
        interest=MACHINES,
        one="machine or MachineSet",
        many="machines or MachineSets",
        where=f"{namespaces.machine_api} or {namespaces.cluster_api}",
    )


def _warnings(standing: Standing) -> tuple[str, ...]:
    if not standing.idle:
        return ()
    text = f"{standing.idle}; until then these plans are not carried out: {remedy_for(standing.idle)}"
    return (f"Machine sync idles on this cluster: {text}",)


def _notes(standing: Standing) -> tuple[str, ...]:
    if standing.idle or standing.gate is not None:
        return ()
    return ("FeatureGate cluster may not be read, so it is not known whether Machine sync runs",)
