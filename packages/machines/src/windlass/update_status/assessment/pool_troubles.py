"""Finds what keeps whole pools from being updated, by their conditions; `oc` reads none of them.

| condition of the pool that is True | insight | level |
|---|---|---|
| RenderDegraded | its MachineConfigs cannot be rendered | Error, Update Stalled |
| ImageBuildDegraded, or a build that failed | its OS image failed to build | Error, Update Stalled |
| NodeDegraded, and no node of it is degraded by its annotations | the operator's message | Error, Update Stalled |
| PinnedImageSetsDegraded | its pinned images cannot be had; nodes are updated all the same | Warning, Update Speed |
| Degraded, and none of these | the operator's message | Error, Update Stalled |
| - , but a node is in several custom pools | the node is in no pool, as the operator sees it | Error, Update Stalled |

A node of the control plane stays in its pool although a custom pool selects it, and may be in worker besides any other.

Source: `github.com/openshift/machine-config-operator`, `pkg/helpers/helpers.go` and `pkg/controller/node/status.go`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from windlass.api.machineconfiguration import GROUP, MachineConfigPool
from windlass.api.meta import PlainCondition
from windlass.update_status.assessment.builds import Build, Stage
from windlass.update_status.causes.names import listed
from windlass.update_status.constants import CONTROL_PLANE_POOLS, MASTER
from windlass.update_status.report import Impact, Insight, Level, Node, Reference, Scope
from windlass.update_status.times import Moment, known_moment

DEGRADED: Final = "Degraded"
RENDER, BUILD, NODE, PINNED = "RenderDegraded", "ImageBuildDegraded", "NodeDegraded", "PinnedImageSetsDegraded"

_NO_MESSAGE: Final = "The condition of the pool gives no message."


class _Text(Struct, frozen=True):
    """`title` and `remedy` have the name of the pool at {0}."""

    title: str
    remedy: str
    level: Level = Level.ERROR
    impact: Impact = Impact.UPDATE_STALLED


_TEXTS: Final = {
    RENDER: _Text(
        "Pool {0} cannot render its configuration",
        "Correct or delete the MachineConfig, KubeletConfig or ContainerRuntimeConfig that the message names.",
    ),
    NODE: _Text(
        "Nodes of pool {0} are degraded",
        "Correct what the message names; the log of machine-config-controller says more.",
    ),
    PINNED: _Text(
        "Images that are pinned for pool {0} cannot be had",
        "See whether the nodes of pool {0} may pull the images of its PinnedImageSets, and have room for them.",
        Level.WARNING,
        Impact.UPDATE_SPEED,
    ),
    DEGRADED: _Text(
        "Pool {0} is degraded",
        "Correct what the message names; the log of machine-config-controller says more.",
    ),
}


def is_degraded(pool: MachineConfigPool) -> bool:
    """Whether a condition of the pool says so."""
    return any(one.status == "True" and one.type.endswith(DEGRADED) for one in pool.status.conditions)


def troubles_of_pool(pool: MachineConfigPool, nodes: Sequence[Node], build: Build | None) -> Iterator[Insight]:
    """What the conditions of the pool, and the build that it waits for, say."""
    name = pool.metadata.name
    found = {one.type: one for one in pool.status.conditions if one.status == "True"}
    if build is not None and build.stage is Stage.FAILED:
        yield _of_build(build, name)
    shown = [kind for kind in (RENDER, NODE, PINNED) if kind in found]
    told = any(node.degraded for node in nodes)
    if not shown and BUILD not in found and not told and DEGRADED in found:
        shown = [DEGRADED]
    for kind in shown:
        if kind != NODE or not told:
            yield _of_condition(found[kind], _TEXTS[kind], name)


def in_several_pools(node: Node, pools: Sequence[str]) -> Insight:
    """The node is selected by several custom pools; the first of them has it in the report."""
    names = listed(pools)
    return _insight(
        pools[0],
        summary=f"Node {node.name} is in {len(pools)} custom pools: {names}",
        description="The Machine Config Operator refuses a node of several custom pools, and does not update it.",
        remedy=f"Remove the labels of node {node.name} that all but one of the pools {names} select.",
        resources=(Reference("", "nodes", node.name), *map(_pool, pools[:8])),
    )


def _of_build(build: Build, pool: str) -> Insight:
    build_name = f" (MachineOSBuild {build.about})" if build.about else ""
    asks = f"MachineOSConfig {pool}" if build.about else f"what asks for the image of pool {pool}"
    again = f"To build again without a change, annotate {asks} with {GROUP}/rebuild."
    return _insight(
        pool,
        summary=f"The OS image of pool {pool} failed to build{build_name}",
        description=build.message or _NO_MESSAGE,
        remedy=f"Correct what the message names. {again}",
        started=build.since,
        resources=(_pool(pool), *([Reference(GROUP, "machineosbuilds", build.about)] if build.about else [])),
    )


def _of_condition(said: PlainCondition, text: _Text, pool: str) -> Insight:
    return _insight(
        pool,
        level=text.level,
        impact=text.impact,
        summary=text.title.format(pool),
        description=said.message or said.reason or _NO_MESSAGE,
        remedy=text.remedy.format(pool),
        started=known_moment(said.last_transition_time),
        resources=(_pool(pool),),
    )


def _insight(
    pool: str,
    *,
    level: Level = Level.ERROR,
    impact: Impact = Impact.UPDATE_STALLED,
    summary: str,
    description: str,
    remedy: str,
    started: Moment | None = None,
    resources: tuple[Reference, ...],
) -> Insight:
    return Insight(
        level=level,
        impact=impact,
        summary=summary,
        description=description,
        remedy=remedy,
        reference="",
        started=started,
        resources=resources,
        scope=Scope.CONTROL_PLANE if pool in CONTROL_PLANE_POOLS else Scope.WORKER_POOL,
        pool="" if pool == MASTER else pool,
    )


def _pool(name: str) -> Reference:
    return Reference(GROUP, "machineconfigpools", name)
