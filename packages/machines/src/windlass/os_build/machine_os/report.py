"""Writes what became of a build: on its MachineOSBuild, then on the MachineOSConfig, then on the pool.

The result is on the MachineOSBuild before anything is removed. MachineOSConfig and pool follow from it.
"""

from datetime import datetime
from typing import Any

from msgspec import structs

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildStatus, MachineOSConfig
from windlass.api.meta import Condition, tree
from windlass.kube.conditions import condition, put
from windlass.kube.control.plan import Action, Create, Delete, Merge, Target, target
from windlass.kube.control.seen import Present
from windlass.os_build.builder import BuildState
from windlass.os_build.constants import REBUILD
from windlass.os_build.machine_os import conditions as of_build
from windlass.os_build.machine_os import events
from windlass.os_build.machine_os.build import CURRENT, current_status, machine_os_build
from windlass.os_build.machine_os.claim import Claim
from windlass.os_build.machine_os.conditions import (
    IMAGE_BUILD_DEGRADED,
    State,
    image_build_degraded,
    may_move,
    moved,
    state_of,
    vector,
)
from windlass.os_build.pullspec import Target as Repository
from windlass.os_build.request import Request


def created(claim: Claim, name: str, request: Request, pool: Present[MachineConfigPool]) -> tuple[Action, ...]:
    """Create the MachineOSBuild, and carry out the request for a rebuild by that."""
    config = claim.config
    body = machine_os_build(name, config.object, request)
    asked = config.metadata.annotations.get(REBUILD)
    body["metadata"]["annotations"] |= {} if asked is None else {REBUILD: asked}
    why = f"MachineOSConfig {config.metadata.name} asks for it"
    told = (*events.pool_changed(claim, pool, request.config), *events.reconciled(config))
    return Create(target=Target(MachineOSBuild, name), body=body, why=why), _pointed(config, name), *told


def pointed(claim: Claim) -> tuple[Action, ...]:
    """The MachineOSConfig names its build, as it has since that was created, unless we died in between."""
    return (_pointed(claim.config, claim.build.metadata.name),) if claim.build else ()


def removed(build: Present[MachineOSBuild], why: str) -> tuple[Action, ...]:
    """Remove a MachineOSBuild, unless it goes already."""
    delete = Delete(target=target(build), deleting=build.deleting, propagation="Background", why=why)
    return (delete,) if build.deleting else (delete, events.deleted(build))


def progressed(
    claim: Claim,
    build: Present[MachineOSBuild],
    state: BuildState,
    pool: Present[MachineConfigPool],
    *,
    repository: Repository,
    now: datetime,
    why: str = "",
    again: bool = False,
) -> tuple[Action, ...]:
    """The status of the MachineOSBuild follows its builder, and the pool follows that."""
    status = moved(build.object.status, state, target=repository, now=now, why=why, again=again)
    return _written(claim, build, pool, status, now=now, builder=state.name)


def moved_to(
    claim: Claim,
    build: Present[MachineOSBuild],
    state: BuildState,
    pool: Present[MachineConfigPool],
    *,
    repository: Repository,
    now: datetime,
) -> tuple[Action, ...]:
    """The status of the MachineOSBuild follows its builder; the pool says something else."""
    status = moved(build.object.status, state, target=repository, now=now)
    if status == build.object.status:
        return ()
    return (_status(build, status), *events.progressed(claim, build, status, pool, builder=state.name))


def failed(
    claim: Claim, build: Present[MachineOSBuild], pool: Present[MachineConfigPool], *, why: str, now: datetime
) -> tuple[Action, ...]:
    """It failed before a builder began."""
    old = build.object.status
    if not may_move(state_of(old.conditions), State.FAILED):
        return ()
    status = structs.replace(old, conditions=vector(State.FAILED, old.conditions, now=now, why=why))
    return _written(claim, build, pool, status, now=now)


def queued(build: Present[MachineOSBuild], *, why: str, now: datetime) -> tuple[Action, ...]:
    """It is pending, and says `why`."""
    old = build.object.status
    conditions = vector(State.PREPARED, old.conditions, now=now, why=why)
    if not may_move(state_of(old.conditions), State.PREPARED) and state_of(old.conditions) is not State.PREPARED:
        return ()
    return (_status(build, structs.replace(old, conditions=conditions)),) if conditions != old.conditions else ()


def interrupted(build: Present[MachineOSBuild], *, now: datetime) -> Merge:
    """The pool is gone, so nobody builds its image any more."""
    old = build.object.status
    return _status(build, structs.replace(old, conditions=vector(State.INTERRUPTED, old.conditions, now=now)))


def reused(
    claim: Claim, build: Present[MachineOSBuild], pool: Present[MachineConfigPool], *, image: str, now: datetime
) -> tuple[Action, ...]:
    """It succeeded without a builder: an earlier image serves."""
    return _written(claim, build, pool, of_build.reused(build.object.status, image, now=now), now=now)


def current(claim: Claim, build: Present[MachineOSBuild]) -> tuple[Action, ...]:
    """The MachineOSConfig names the build and its image: nodes get it."""
    config = claim.config
    told = tree(current_status(config.object, build.object))
    old: Any = config.tree.get("status") or {}
    write = Merge(
        target=target(config),
        part="status",
        observed={"status": {key: old[key] for key in told if key in old}},
        desired={"status": told},
        why="nodes get the image that stands there",
    )
    return (_pointed(config, build.metadata.name), write, *events.reconciled(config))


def degraded(pool: Present[MachineConfigPool], build: MachineOSBuild | None, *, now: datetime) -> tuple[Action, ...]:
    """`ImageBuildDegraded` of the pool, as it follows from its current build."""
    says = image_build_degraded(pool.metadata.name, build)
    return () if says is None else (_on_pool(pool, says, now=now),)


def refused(pool: Present[MachineConfigPool], *, reason: str, why: str, now: datetime) -> Merge:
    """`ImageBuildDegraded` of the pool while something keeps a build back. The first state of a build replaces it."""
    return _on_pool(pool, condition(IMAGE_BUILD_DEGRADED, True, reason, why), now=now)


def _on_pool(pool: Present[MachineConfigPool], says: Condition, *, now: datetime) -> Merge:
    there: list[Any] = list((pool.tree.get("status") or {}).get("conditions") or [])
    return Merge(
        target=target(pool),
        part="status",
        observed={"status": {"conditions": there}},
        desired={"status": {"conditions": put(there, tree(says), now=now)}},
        why="the Machine Config Operator's node controller reads it",
    )


def _pointed(config: Present[MachineOSConfig], name: str) -> Merge:
    here = config.metadata.annotations
    observed = {key: here[key] for key in (CURRENT, REBUILD) if key in here}
    return Merge(
        target=target(config),
        observed={"metadata": {"annotations": observed}},
        desired={"metadata": {"annotations": {CURRENT: name}}},
        why=f"{name} is its current build",
    )


def _written(
    claim: Claim,
    build: Present[MachineOSBuild],
    pool: Present[MachineConfigPool],
    status: MachineOSBuildStatus,
    *,
    now: datetime,
    builder: str = "",
) -> tuple[Action, ...]:
    """The status of the MachineOSBuild, the condition of the pool that follows from it, and the Events."""
    follows = degraded(pool, structs.replace(build.object, status=status), now=now)
    if status == build.object.status:
        return follows
    return (_status(build, status), *follows, *events.progressed(claim, build, status, pool, builder=builder))


def _status(build: Present[MachineOSBuild], status: MachineOSBuildStatus) -> Merge:
    observed: Any = build.tree.get("status") or {}
    return Merge(
        target=target(build),
        part="status",
        observed={"status": observed},
        desired={"status": {**observed, **tree(status)}},
        why="it follows its builder",
    )
