"""Tells what the figures of a pool count, from two looks at it. Pure.

| between two looks | what is counted |
|---|---|
| the pool asks for another rendered MachineConfig | a change of configuration |
| its image begins to be built | how long the build has waited |
| its builder makes another attempt | a retry |
| a builder succeeds | a push that succeeded, and how long that builder took |
| a builder fails while it pushes | a push that failed, and how long that builder took |
| a builder is lost | a build that was interrupted |
| the result of a builder is recorded | a build that succeeded, and how long it took |
| a build fails for good | a build that failed, and how long it took |

An image that is taken again, without a builder, is no build. What is said before a builder starts, such as a Secret
that is missing, is no failed build, except a Containerfile that no builder takes.

The first look at a pool counts nothing: what happened before is not known. So a restart counts nothing twice.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.kube.control.seen import Present
from windlass.os_build.builder import BuildState, Cause, Phase
from windlass.os_build.overview import PoolRow, State, current_build, row_of, row_of_claim
from windlass.os_build.pool.snapshot import PoolSnapshot


class Is(StrEnum):
    """The state of a build or of a builder; the values of the label `state`."""

    NONE = "none"
    PENDING = "pending"
    BUILDING = "building"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    ACTIVE = "active"
    PUSHING = "pushing"


class Counted(StrEnum):
    """What is counted; the name of the metric."""

    CONFIG_CHANGES = "ocl_config_change_total"
    RETRIES = "ocl_build_retries_total"
    QUEUE = "ocl_build_queue_duration_seconds"
    BUILDS = "ocl_build_total"
    DURATION = "ocl_build_duration_seconds"
    PUSHES = "ocl_image_push_total"
    PUSH_DURATION = "ocl_image_push_duration_seconds"


class Count(Struct, frozen=True):
    """One more of `what`; with `seconds` for a duration, and with `state` where the metric has that label."""

    what: Counted
    state: str = ""
    seconds: float | None = None


INTERRUPTED_REASON: Final = "BuildInterrupted"
_STATES: Final = {
    State.PENDING: Is.PENDING,
    State.BUILDING: Is.BUILDING,
    State.BUILT: Is.SUCCEEDED,
    State.FAILED: Is.FAILED,
}
_ACTIVE: Final = (Phase.PENDING, Phase.RUNNING)


def state_of(row: PoolRow) -> Is:
    """The state of the build of a pool."""
    if row.state is State.PENDING and row.reason == INTERRUPTED_REASON:
        return Is.INTERRUPTED
    return _STATES.get(row.state, Is.NONE)


class Builder(Struct, frozen=True):
    """A builder object. `began` and `ended` in seconds since 1970; None: not known."""

    phase: Phase
    attempt: int = 1
    began: float | None = None
    ended: float | None = None
    cause: Cause | None = None
    pushing: bool = False
    """It failed while it pushed the image."""

    @classmethod
    def of(cls, build: BuildState) -> "Builder":
        failed = build.failed
        return cls(
            phase=build.phase,
            attempt=build.attempt,
            began=_seconds(build.runs or build.started),
            ended=_seconds(build.ended),
            cause=failed.cause if failed else None,
            pushing=failed is not None and failed.pushing,
        )

    @property
    def active(self) -> bool:
        return self.phase in _ACTIVE

    @property
    def took(self) -> float | None:
        return None if self.began is None or self.ended is None else max(self.ended - self.began, 0.0)


class Look(Struct, frozen=True, kw_only=True):
    """What caches said of a pool that asks for an image.

    build    the uid of the MachineOSBuild; empty: the pool has none
    since    when the state began, in seconds since 1970; None: not known
    created  when the MachineOSBuild was created, likewise
    """

    config: str = ""
    build: str = ""
    state: Is = Is.NONE
    reason: str = ""
    since: float | None = None
    created: float | None = None
    builders: Mapping[str, Builder] = {}

    @classmethod
    def at(cls, seen: PoolSnapshot) -> "Look | None":
        """The look that a snapshot is; None: the pool asks for no image that this process builds."""
        if not isinstance(seen.pool, Present) or seen.pool.deleting:
            return None
        pool, builders = seen.pool.object, {each.name: Builder.of(each) for each in seen.builds}
        if seen.config is None:
            row = row_of(pool)
            return None if row.state is State.OUT else _look(row, builders)
        if not isinstance(seen.config, Present):
            return None
        builds = {each.metadata.name: each.object for each in seen.os_builds}
        row = row_of_claim(pool, seen.config.object, builds)
        build = builds.get(current_build(seen.config.object))
        if build is None:
            return _look(row, builders)
        created = _seconds(build.metadata.creation_timestamp)
        return replace(_look(row, builders), build=build.metadata.uid, created=created)

    @property
    def began(self) -> float | None:
        """When the build began to be wanted, as far as that is known."""
        if self.created is not None:
            return self.created
        return min((each.began for each in self.builders.values() if each.began is not None), default=None)

    @property
    def job(self) -> Is:
        """The state of the builder."""
        if any(each.active for each in self.builders.values()):
            return Is.ACTIVE
        if self.state is Is.SUCCEEDED or self._has(Phase.SUCCEEDED):
            return Is.SUCCEEDED
        return Is.FAILED if self._has(Phase.FAILED) else Is.NONE

    @property
    def push(self) -> Is:
        """The state of the push. A builder does not tell when it begins to push."""
        if self.job is not Is.FAILED:
            return Is.PUSHING if self.job is Is.ACTIVE else self.job
        return Is.FAILED if any(each.pushing for each in self.builders.values()) else Is.NONE

    def _has(self, phase: Phase) -> bool:
        return any(each.phase is phase for each in self.builders.values())


def counts(before: Look, after: Look) -> tuple[Count, ...]:
    """The table of the module."""
    return (*_of_config(before, after), *_of_builders(before, after), *_of_state(before, after))


def _of_config(before: Look, after: Look) -> Iterator[Count]:
    if before.config and after.config and before.config != after.config:
        yield Count(Counted.CONFIG_CHANGES)


def _of_builders(before: Look, after: Look) -> Iterator[Count]:
    for name, now in after.builders.items():
        was = before.builders.get(name)
        retries = max(now.attempt - was.attempt, 0) if was else int(now.attempt > 1)
        if now.active:
            yield from [Count(Counted.RETRIES)] * retries
        if now.active or (was and not was.active):
            continue
        if now.phase is Phase.INTERRUPTED:
            # Without an earlier look, it may never have run: the API server refused it.
            if was:
                yield Count(Counted.BUILDS, Is.INTERRUPTED)
        elif now.phase is Phase.SUCCEEDED or now.pushing:
            state = Is.SUCCEEDED if now.phase is Phase.SUCCEEDED else Is.FAILED
            yield Count(Counted.PUSHES, state)
            if now.took is not None:
                yield Count(Counted.PUSH_DURATION, state, now.took)


def _of_state(before: Look, after: Look) -> Iterator[Count]:
    if (before.build, before.state) == (after.build, after.state):
        return
    if after.state is Is.BUILDING:
        wanted = after.created if after.created is not None else before.since
        first = all(each.attempt == 1 for each in after.builders.values())
        if first and before.state is Is.PENDING and wanted is not None and after.since is not None:
            yield Count(Counted.QUEUE, seconds=max(after.since - wanted, 0.0))
    elif _has_ended(after):
        yield Count(Counted.BUILDS, after.state)
        began = after.began if after.began is not None else before.since
        if began is not None and after.since is not None:
            yield Count(Counted.DURATION, after.state, max(after.since - began, 0.0))


def _has_ended(look: Look) -> bool:
    ends = look.builders.values()
    if look.state is Is.SUCCEEDED:
        return any(each.phase is Phase.SUCCEEDED for each in ends)
    if look.state is not Is.FAILED:
        return False
    if look.build or look.reason == Cause.CONTAINERFILE:
        return True
    return any(each.phase is Phase.FAILED and each.cause == look.reason for each in ends)


def _look(row: PoolRow, builders: Mapping[str, Builder]) -> Look:
    return Look(
        config=row.config,
        state=state_of(row),
        reason=row.reason,
        since=_seconds(row.since),
        builders=builders,
    )


def _seconds(moment: datetime | str | None) -> float | None:
    if isinstance(moment, str):
        return datetime.fromisoformat(moment).timestamp() if moment else None
    return None if moment is None else moment.timestamp()
