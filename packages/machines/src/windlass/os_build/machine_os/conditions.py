"""Says how a build reads on its MachineOSBuild, and on its pool as `ImageBuildDegraded`. Pure.

| state | is True | from the builder |
|---|---|---|
| INITIAL | nothing | |
| PREPARED | `Prepared` | the build is pending |
| BUILDING | `Building` | it runs, or it ended and is started again, or its digest is not known yet |
| SUCCEEDED, FAILED, INTERRUPTED | the condition of that name | it ended |

All five conditions are always written, each with a reason and a message of its own, which the operator's other parts
and its users know; only the status tells. Two texts are ours: `Failed` says why, and `Prepared` for what it waits.

The API refuses every change of conditions after an end, a second value for either time, and an end that is not later
than the start. `moved` never writes any of them.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildStatus
from windlass.api.meta import Condition
from windlass.kube.clock import rfc3339
from windlass.kube.conditions import condition, find, is_true, put
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.pullspec import Target

IMAGE_BUILD_DEGRADED: Final = "ImageBuildDegraded"
_SECOND: Final = timedelta(seconds=1)
"""Times of the API have no fractions."""
_LONGEST: Final = 32_768
"""Characters that the API takes for a message."""


class State(StrEnum):
    """How far a MachineOSBuild is; the value is the type of the condition that is True."""

    INITIAL = ""
    PREPARED = "Prepared"
    BUILDING = "Building"
    FAILED = "Failed"
    INTERRUPTED = "Interrupted"
    SUCCEEDED = "Succeeded"

    @property
    def is_over(self) -> bool:
        return self in (State.SUCCEEDED, State.FAILED, State.INTERRUPTED)


_TEXTS: Final = (
    (State.PREPARED, "Prepared", "Build Prepared and Pending"),
    (State.BUILDING, "Building", "Image Build In Progress"),
    (State.FAILED, "Failed", "Build Failed"),
    (State.INTERRUPTED, "Interrupted", "Build Interrupted"),
    (State.SUCCEEDED, "Ready", "Build Ready"),
)
_SAY_WHY: Final = (State.PREPARED, State.FAILED)
_BEFORE_AN_END: Final = (State.INITIAL, State.PREPARED, State.BUILDING)
_UNDER_WAY: Final = {Phase.PENDING: State.PREPARED, Phase.RUNNING: State.BUILDING}


def state_of(conditions: Iterable[Condition]) -> State | None:
    """The state that conditions tell; None if there are none."""
    conditions = [*conditions]
    for state, _, _ in _TEXTS:
        if is_true(conditions, state):
            return state
    return State.INITIAL if conditions else None


def may_move(before: State | None, after: State) -> bool:
    """Whether a MachineOSBuild may go from one state to the other; None: it has no conditions yet."""
    if before is None or before.is_over:
        return before is None
    return after.is_over or _BEFORE_AN_END.index(after) > _BEFORE_AN_END.index(before)


def vector(state: State, seen: Iterable[Condition] = (), *, now: datetime, why: str = "") -> list[Condition]:
    """All conditions of a MachineOSBuild in this state, with the times of `seen`; `why` it failed or waits."""
    conditions = [*seen]
    for one, reason, message in _TEXTS:
        text = why[:_LONGEST] if why and one is state and state in _SAY_WHY else message
        conditions = put(conditions, condition(one, one is state, reason, text), now=now)
    return conditions


def state_of_build(build: BuildState, *, again: bool = False) -> State:
    """The state of the MachineOSBuild of a build; `again`: an end other than success is not the last attempt's."""
    if build.phase is Phase.SUCCEEDED and not build.digest:
        return State.BUILDING
    if again and build.phase in (Phase.FAILED, Phase.INTERRUPTED):
        return State.BUILDING
    return _UNDER_WAY.get(build.phase) or State(build.phase)


def moved(
    status: MachineOSBuildStatus,
    build: BuildState,
    *,
    target: Target,
    now: datetime,
    why: str = "",
    again: bool = False,
) -> MachineOSBuildStatus:
    """The status of a MachineOSBuild after its build was looked at; the same if there is nothing new to write."""
    state = state_of_build(build, again=again)
    before = state_of(status.conditions)
    if before is state is State.PREPARED:  # it waits for its turn no more
        return msgspec.structs.replace(status, conditions=vector(state, status.conditions, now=now))
    if not may_move(before, state):
        return status
    start = status.build_start or rfc3339(build.started or build.ended or now)
    succeeded = state is State.SUCCEEDED
    return msgspec.structs.replace(
        status,
        conditions=vector(state, status.conditions, now=now, why=why if state is State.FAILED else ""),
        builder=build.builder or status.builder,
        build_start=start,
        build_end=status.build_end or (_end(start, build.ended or now) if state.is_over else None),
        digested_image_push_spec=target.digested(build.digest) if succeeded else status.digested_image_push_spec,
    )


def reused(status: MachineOSBuildStatus, image: str, *, now: datetime) -> MachineOSBuildStatus:
    """The status of a MachineOSBuild that has not begun, and takes an image: it succeeds at once, without a builder."""
    start = status.build_start or rfc3339(now)
    return MachineOSBuildStatus(
        conditions=vector(State.SUCCEEDED, status.conditions, now=now),
        build_start=start,
        build_end=_end(start, now),
        digested_image_push_spec=image,
    )


def image_build_degraded(pool: str, build: MachineOSBuild | None) -> Condition | None:
    """The condition of the pool, from its current build; None: it stays as it is."""
    state = state_of(build.status.conditions) if build else State.SUCCEEDED
    if build and state is State.FAILED:
        failed = find(build.status.conditions, State.FAILED)
        told = f"{failed.reason}: {failed.message}" if failed else "build failed for unknown reason"
        text = f"Failed to build OS image for pool {pool} (MachineOSBuild: {build.metadata.name}): {told}"
        return condition(IMAGE_BUILD_DEGRADED, True, "BuildFailed", text)
    if state in (State.PREPARED, State.BUILDING):
        return condition(IMAGE_BUILD_DEGRADED, False, "Building", f"Build started for pool {pool}")
    if state is State.SUCCEEDED:
        return condition(IMAGE_BUILD_DEGRADED, False, "BuildSuccess", f"Build succeeded for pool {pool}")
    return None


def _end(start: str, ended: datetime) -> str:
    earliest = datetime.fromisoformat(start) + _SECOND
    return rfc3339(max(ended, earliest))
