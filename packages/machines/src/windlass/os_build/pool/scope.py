"""What the rows of a decision about a pool share: its facts, and how people are told. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Action, Emit, Next, Plan, RequeueAfter
from windlass.kube.control.seen import Present
from windlass.os_build.builder import ATTEMPTS, Backend, BuildState, Cause, Failed
from windlass.os_build.constants import EVENT_SOURCE
from windlass.os_build.failure import failure_text
from windlass.os_build.machine_os import events
from windlass.os_build.pool import conditions
from windlass.os_build.pool.builds import wanted_builds
from windlass.os_build.pool.conditions import FAILED, BuildCondition
from windlass.os_build.pool.questions import Losses
from windlass.os_build.pool.report import OnMachineOsBuild, OnPool, Report
from windlass.os_build.pool.snapshot import PoolFacts, Timing
from windlass.os_build.request import BackendName, Problem, Request

WAITING: Final = frozenset({"NotRendered", "NotRead"})
"""Problems that pass without anybody's doing."""
UNKNOWN: Final = Failed(cause=Cause.UNKNOWN)


class Scope:
    """The facts of a pool that is there, what it is decided with, and how people are told."""

    def __init__(
        self,
        seen: PoolFacts,
        pool: Present[MachineConfigPool],
        backends: Mapping[BackendName, Backend],
        now: datetime,
        timing: Timing,
    ) -> None:
        self.seen = seen
        self.pool = pool
        self.backends = backends
        self.now = now
        self.timing = timing
        self.report: Report = (
            OnPool(pool, seen.request, seen.inputs, now=now)
            if seen.claim is None
            else OnMachineOsBuild(seen.claim, pool, seen.request, now=now)
        )

    def removed(self, builds: Iterable[BuildState], why: str) -> tuple[Action, ...]:
        """The builders are removed, and the Event of a removed Job is told."""
        return tuple(
            action
            for build in builds
            if not build.ending
            for action in (*removed(self.backends, [build], why), *events.job_deleted(self.seen.claim, build))
        )

    def job_failed(self, build: BuildState) -> tuple[Action, ...]:
        """The operator's Event of a failed Job, for a pool with a MachineOSConfig."""
        return events.job_failed(self.seen.claim, build) if self.seen.claim else ()

    def quiet(self) -> tuple[Action, ...]:
        """Nothing of ours stays on the pool."""
        return conditions.unrecord(self.pool), conditions.remove_conditions(self.pool)

    def reported(
        self, build_condition: BuildCondition, event: Emit | None = None, *, build: BuildState | None = None
    ) -> tuple[Action, ...]:
        """What the report says, and the Event if that changes, or if it can say nothing."""
        actions = self.report.says(build_condition, build)
        return actions if event is None else (*actions, *self.news(actions, event))

    def held(self, build_condition: BuildCondition, event: str = "") -> Plan:
        """Something keeps a build from its beginning that may pass; `event` None: the reason of the condition."""
        said = self.report.refused(build_condition)
        text = build_condition.message
        news = self.event(event or build_condition.reason, text, occasion=text, warning=True)
        return Plan.of(*said, *self.news(said, news))

    def news(self, actions: tuple[Action, ...], event: Emit) -> tuple[Emit, ...]:
        """The Event, if the actions that say the same change something, or if there are none."""
        return (event,) if not actions or any(action.needed for action in actions) else ()

    def event(self, reason: str, note: str, *, occasion: str, warning: bool = False) -> Emit:
        """An Event about the object that people look at."""
        return Emit(
            target=self.report.about,
            type="Warning" if warning else "Normal",
            reason=reason,
            note=note,
            source=EVENT_SOURCE,
            occasion=occasion,
        )

    def failure(self, build: BuildState, *, again: datetime | None = None) -> str:
        """Why the build failed, and the remedy. `again`: when attempts begin anew."""
        failed = build.failed or UNKNOWN
        request = self.request.on(build.architecture)
        return failure_text(failed, request, attempt=build.attempt, attempts=ATTEMPTS, again=again)

    def at(self, when: datetime, why: str) -> Next:
        """Decide again at this time."""
        return RequeueAfter(max((when - self.now).total_seconds(), 0.05), why)

    def note_losses(self, losses: tuple[datetime, ...]) -> None:
        """Builds of these inputs were lost at these times."""
        self.seen.need(Losses(str(self.seen.inputs), losses), this_round=True)

    @property
    def wanted(self) -> list[BuildState]:
        """The builds of what the pool asks for."""
        return wanted_builds(self.seen)

    @property
    def request(self) -> Request:
        """What the pool asks for. It must be clear."""
        assert isinstance(self.seen.request, Request)
        return self.seen.request


def removed(backends: Mapping[BackendName, Backend], builds: Iterable[BuildState], why: str) -> tuple[Action, ...]:
    """The builders are removed, except those that are being removed already."""
    return tuple(
        action for build in builds if not build.ending for action in backends[build.backend].clean(build, why=why)
    )


def of_problem(problem: Problem) -> BuildCondition:
    """The condition that tells of the problem."""
    return BuildCondition("" if problem.reason in WAITING else FAILED, problem.reason, problem.text)
