"""Tells by Events what becomes of a MachineOSConfig and its builds: reasons, objects and texts of the operator. Pure.

| reason | about | when |
|---|---|---|
| `BuildStarted`, `BuildPreparing`, `JobCreated` | MachineOSBuild | its builder is there |
| `JobStarted`, `BuildBuilding` | MachineOSBuild | its builder runs |
| `JobCompleted` | MachineOSBuild | its builder has succeeded |
| `BuildCompleted` | MachineOSBuild | it has its image |
| `JobFailed` | MachineOSBuild | its builder has failed, whether or not another attempt follows |
| `BuildFailed` | MachineOSBuild | it has failed for good: `pool.decide` says why |
| `BuildDegraded` | MachineOSConfig | the same |
| `BuildRecovered` | MachineOSConfig | a build succeeds after one that failed |
| `BuildInterrupted` | MachineOSBuild | its builder was lost |
| `JobDeleted` | MachineOSBuild | its builder is removed |
| `BuildDeleted` | MachineOSBuild | it is removed |
| `RebuildRequested` | MachineOSConfig | the annotation `rebuild` is carried out |
| `ConfigReconciled` | MachineOSConfig | its changed spec has a build |
| `ConfigReconcileFailed` | MachineOSConfig | its changed spec can have none |
| `ConfigDeleted` | MachineOSConfig | it is gone |
| `PoolConfigChanged` | MachineConfigPool | a build of another rendered MachineConfig is created |

Each is bound to a write, or has an `occasion`: so a repeated decision, or one after a restart, sends it once. A job is
the builder, also where it is no Job.
"""

from datetime import datetime
from typing import Final

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildStatus, MachineOSConfig
from windlass.kube.conditions import find, is_true
from windlass.kube.control.plan import Emit, Target, target
from windlass.kube.control.seen import Present
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.constants import EVENT_SOURCE, REBUILD
from windlass.os_build.identity import Inputs
from windlass.os_build.machine_os.build import CURRENT
from windlass.os_build.machine_os.claim import Claim, state
from windlass.os_build.machine_os.conditions import IMAGE_BUILD_DEGRADED, State, state_of

RECONCILE_FAILED: Final = "ConfigReconcileFailed"


def progressed(
    claim: Claim,
    build: Present[MachineOSBuild],
    status: MachineOSBuildStatus,
    pool: Present[MachineConfigPool],
    *,
    builder: str = "",
) -> tuple[Emit, ...]:
    """The MachineOSBuild gets the `status`; `builder` is the name of its builder, empty: it has none."""
    about, name = target(build), pool.metadata.name
    reached = state_of(status.conditions)
    told: list[Emit] = []

    def tell(reason: str, note: str) -> None:
        told.append(_event(about, reason, note, builder))

    if builder and reached in (State.PREPARED, State.BUILDING):
        tell("BuildStarted", f'Started build for pool "{name}" with config "{build.object.spec.machine_config.name}"')
        tell("BuildPreparing", f'Preparing build: creating build job for pool "{name}"')
        tell("JobCreated", f"Created build job: {builder}")
    if builder and reached is State.BUILDING:
        tell("JobStarted", f"Build job started: {builder}")
        tell("BuildBuilding", "Build is now in progress")
    if builder and reached is State.SUCCEEDED:
        tell("JobCompleted", f"Build job completed: {builder}")
    if reached is State.SUCCEEDED:
        tell("BuildCompleted", f"Build completed successfully, image: {status.digested_image_push_spec}")
        if _recovers(claim, build.object, pool.object):
            text = f'Build for pool "{name}" recovered from degraded state'
            told.append(_event(target(claim.config), "BuildRecovered", text, build.metadata.uid))
    if reached is State.FAILED:
        text = f'Build for pool "{name}" degraded; see MachineOSBuild status conditions for details'
        told.append(_event(target(claim.config), "BuildDegraded", text, build.metadata.uid, warning=True))
    return tuple(told)


def job_failed(claim: Claim, builder: BuildState) -> tuple[Emit, ...]:
    """An attempt has failed."""
    build = _build_of(claim, builder)
    if build is None:
        return ()
    where = f'see MachineOSBuild "{build.metadata.name}" status conditions for details'
    return (_event(target(build), "JobFailed", f'Build job "{builder.name}" failed; {where}', warning=True),)


def job_deleted(claim: Claim | None, builder: BuildState) -> tuple[Emit, ...]:
    """A builder is removed."""
    build = _build_of(claim, builder) if claim else None
    return () if build is None else (_event(target(build), "JobDeleted", f"Build job deleted: {builder.name}"),)


def interrupted(claim: Claim | None, builder: BuildState) -> tuple[Emit, ...]:
    """The builder of a build that had begun was lost."""
    build = _build_of(claim, builder) if claim else None
    if build is None or builder.phase is not Phase.INTERRUPTED or state(build) not in (State.PREPARED, State.BUILDING):
        return ()
    occasion = builder.ended.isoformat() if builder.ended else builder.name
    text = "Build interrupted: build job was deleted"
    return (_event(target(build), "BuildInterrupted", text, occasion, warning=True),)


def deleted(build: Present[MachineOSBuild]) -> Emit:
    """A MachineOSBuild is removed."""
    return _event(target(build), "BuildDeleted", "Build deleted: build resources removed")


def rebuild_requested(claim: Claim, build: Present[MachineOSBuild]) -> tuple[Emit, ...]:
    """`build` is removed; the annotation of the MachineOSConfig may ask for that."""
    if REBUILD not in claim.config.metadata.annotations:
        return ()
    text = "Rebuild requested: rebuild annotation applied"
    return (_event(target(claim.config), "RebuildRequested", text, build.metadata.uid),)


def pool_changed(claim: Claim, pool: Present[MachineConfigPool], config: str) -> tuple[Emit, ...]:
    """A build of the rendered MachineConfig `config` is created; the one before may be of another."""
    named = claim.config.metadata.annotations.get(CURRENT)
    before = next((each for each in claim.builds if each.metadata.name == named), None)
    old = before.object.spec.machine_config.name if before else ""
    if not old or old == config:
        return ()
    text = f"Rendered config changed from {old} to {config}"
    return (_event(target(pool), "PoolConfigChanged", text, str(pool.metadata.generation)),)


def changed(config: Present[MachineOSConfig]) -> bool:
    """The spec is another than the one that had an image last."""
    observed = config.object.status.observed_generation
    return bool(observed) and observed != config.metadata.generation


def reconciled(config: Present[MachineOSConfig]) -> tuple[Emit, ...]:
    """There is a build of the present spec."""
    if not changed(config):
        return ()
    text = "MachineOSConfig spec change detected and reconciled: new build created or reused"
    return (_event(target(config), "ConfigReconciled", text, str(config.metadata.generation)),)


def config_deleted(config: Target) -> Emit:
    """A MachineOSConfig is gone."""
    text = f'MachineOSConfig "{config.name}" deleted, removing associated builds'
    return _event(config, "ConfigDeleted", text)


def _event(about: Target, reason: str, note: str, occasion: str = "", *, warning: bool = False) -> Emit:
    return Emit(
        target=about,
        type="Warning" if warning else "Normal",
        reason=reason,
        note=note,
        source=EVENT_SOURCE,
        occasion=occasion,
    )


def _build_of(claim: Claim, builder: BuildState) -> Present[MachineOSBuild] | None:
    for each in claim.builds:
        if str(Inputs(each.metadata.name, each.metadata.uid)) == builder.inputs:
            return each
    return None


def _recovers(claim: Claim, build: MachineOSBuild, pool: MachineConfigPool) -> bool:
    """A build failed before this one, as far as `ImageBuildDegraded` tells: it is False again since this one runs. Of a
    pool that has had no image, that may be the first time that it is said."""
    found = find(pool.status.conditions, IMAGE_BUILD_DEGRADED)
    if found is None or is_true([found], IMAGE_BUILD_DEGRADED):
        return found is not None
    since, created = found.last_transition_time, build.metadata.creation_timestamp
    if not since or not created or not claim.config.object.status.current_image_pull_spec:
        return False
    return datetime.fromisoformat(since) >= datetime.fromisoformat(created)
