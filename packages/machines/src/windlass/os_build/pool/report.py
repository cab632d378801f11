"""Says what became of a build to whoever asked for it: on the pool itself, or on objects of its MachineOSConfig."""

from datetime import datetime
from typing import Any, Protocol

from msgspec import structs

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.kube.control.plan import Action, Target, target
from windlass.kube.control.seen import Present
from windlass.os_build.builder import BuildState
from windlass.os_build.identity import Inputs
from windlass.os_build.machine_os import report as machine_os
from windlass.os_build.machine_os.claim import Claim
from windlass.os_build.pool import conditions
from windlass.os_build.pool.conditions import FAILED, SUCCESS, BuildCondition
from windlass.os_build.request import Request


class Report(Protocol):
    """`about`: what Events are about. `tag`: of the image; empty: the name of the build."""

    @property
    def about(self) -> Target: ...
    @property
    def tag(self) -> str: ...

    def says(self, condition: BuildCondition, build: BuildState | None = None) -> tuple[Action, ...]:
        """The state; `build` is the builder object that it is about."""
        ...

    def queued(self, condition: BuildCondition) -> tuple[Action, ...]:
        """No builder starts before others have ended."""
        ...

    def waits(self, condition: BuildCondition, build: BuildState) -> tuple[Action, ...]:
        """Something keeps the builder from its start, and nobody but a person may end that."""
        ...

    def refused(self, condition: BuildCondition) -> tuple[Action, ...]:
        """Something keeps a build from its beginning. That may pass, so it is no end of a MachineOSBuild."""
        ...

    def succeeded(self, build: BuildState, digest: str) -> tuple[Action, ...]:
        """The result. The builder object goes when it has been seen there."""
        ...


class OnPool:
    """On the pool: four conditions, and annotations with the result."""

    tag = ""

    def __init__(self, pool: Present[MachineConfigPool], request: Any, inputs: Inputs | None, *, now: datetime) -> None:
        self._pool = pool
        self._request = request
        self._inputs = inputs
        self._now = now

    @property
    def about(self) -> Target:
        return target(self._pool)

    def says(self, condition: BuildCondition, build: BuildState | None = None) -> tuple[Action, ...]:
        return (conditions.write(self._pool, condition, now=self._now),)

    def queued(self, condition: BuildCondition) -> tuple[Action, ...]:
        return self.says(condition)

    def waits(self, condition: BuildCondition, build: BuildState) -> tuple[Action, ...]:
        return self.says(condition, build)

    def refused(self, condition: BuildCondition) -> tuple[Action, ...]:
        return self.says(condition)

    def succeeded(self, build: BuildState, digest: str) -> tuple[Action, ...]:
        assert isinstance(self._request, Request)
        image, config = self._request.target.digested(digest), self._request.config
        condition = BuildCondition(SUCCESS, "BuildSucceeded", f"{image} is built from {config}")
        recorded = conditions.record(self._pool, image=image, config=config, inputs=str(self._inputs))
        return recorded, *self.says(condition)


class OnMachineOsBuild:
    """On the MachineOSBuild, and the pool's `ImageBuildDegraded`."""

    def __init__(self, claim: Claim, pool: Present[MachineConfigPool], request: Any, *, now: datetime) -> None:
        self._claim = claim
        self._build: Present[MachineOSBuild] | None = claim.build
        self._pool = pool
        self._request = request
        self._now = now

    @property
    def about(self) -> Target:
        return target(self._build) if self._build else target(self._claim.config)

    @property
    def tag(self) -> str:
        return self._claim.name if isinstance(self._claim.name, str) else ""

    def says(self, condition: BuildCondition, build: BuildState | None = None) -> tuple[Action, ...]:
        if self._build is None:
            return self.refused(condition) if condition.true == FAILED else ()
        if build is None:
            if condition.true != FAILED:
                return ()
            return machine_os.failed(self._claim, self._build, self._pool, why=condition.message, now=self._now)
        return machine_os.progressed(
            self._claim,
            self._build,
            build,
            self._pool,
            repository=self._request.target,
            now=self._now,
            why=condition.message,
            again=condition.true != FAILED,
        )

    def queued(self, condition: BuildCondition) -> tuple[Action, ...]:
        return machine_os.queued(self._build, why=condition.message, now=self._now) if self._build else ()

    def waits(self, condition: BuildCondition, build: BuildState) -> tuple[Action, ...]:
        if self._build is None:
            return ()
        moved = machine_os.moved_to(
            self._claim, self._build, build, self._pool, repository=self._request.target, now=self._now
        )
        return (*moved, *self.refused(condition))

    def refused(self, condition: BuildCondition) -> tuple[Action, ...]:
        return (machine_os.refused(self._pool, reason=condition.reason, why=condition.message, now=self._now),)

    def succeeded(self, build: BuildState, digest: str) -> tuple[Action, ...]:
        known = structs.replace(build, digest=digest)
        return self.says(BuildCondition(SUCCESS, "BuildSucceeded", ""), known)
