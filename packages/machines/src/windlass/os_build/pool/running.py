"""Says how a build does that waits, runs, or was lost. Pure."""

from datetime import datetime, timedelta

from msgspec import structs

from windlass.kube.clock import rfc3339
from windlass.kube.control.plan import Action, Plan, RequeueAfter, WaitFor
from windlass.os_build.builder import ATTEMPTS, BuildState, Phase
from windlass.os_build.credentials import same_versions
from windlass.os_build.failure import OBSTACLES
from windlass.os_build.machine_os import events
from windlass.os_build.pool.builds import earlier_losses
from windlass.os_build.pool.conditions import BUILDING, PENDING, BuildCondition
from windlass.os_build.pool.questions import current_secrets
from windlass.os_build.pool.scope import Scope
from windlass.os_build.pool.waits import by_events
from windlass.os_build.request import Problem


def waiting(scope: Scope, build: BuildState) -> Plan | None:
    """Something has kept the builder from its start for a while. None: nothing has."""
    waits = build.waits
    if waits is None or waits.since is None or build.ending:
        return None
    told_at = waits.since + timedelta(seconds=scope.timing.patience)
    if scope.now < told_at:
        return underway(scope, build).then(scope.at(told_at, f"look whether {build.name} has started"))
    obstacle, text = (
        (waits.obstacle, waits.text) if waits.obstacle else by_events(waits, seen=scope.seen, now=scope.now)
    )
    if obstacle is None:
        return underway(scope, build).then(
            RequeueAfter(scope.timing.patience, f"look whether {build.name} has started")
        )
    said = f"Build {build.name} of {scope.request.config} has not started: {text}. {OBSTACLES[obstacle]}"
    event = scope.event(obstacle, said, occasion=f"{build.name} {obstacle}", warning=True)
    actions = scope.report.waits(BuildCondition(PENDING, obstacle, said), build)
    return Plan.of(*actions, *scope.news(actions, event)).then(
        RequeueAfter(scope.timing.ask_again, f"look whether {build.name} has started")
    )


def underway(scope: Scope, build: BuildState) -> Plan:
    """Say that the build is about to begin, or runs, and wait for its end."""
    what = f"{build.name} of {scope.request.config}"
    attempt = f", attempt {build.attempt} of {ATTEMPTS}" if build.attempt > 1 else ""
    waits = f": it {build.note}" if build.note else ""
    if scope.request.is_listed:
        waits = f"{waits}. {_of_each(scope)}"
        if any(each.phase in (Phase.RUNNING, Phase.SUCCEEDED) for each in scope.wanted):
            # One of them has begun, and so the image.
            build = structs.replace(build, phase=Phase.RUNNING)
    waits += _why_anew(scope)
    if build.phase == Phase.PENDING:
        build_condition = BuildCondition(PENDING, "BuildPending", f"Build {what} is about to begin{attempt}{waits}")
    else:
        # A Job runs as soon as it has a Pod, and that may wait for its image for ever.
        build_condition = BuildCondition(BUILDING, "BuildRunning", f"Build {what} is running{attempt}{waits}")
    # Of a MachineOSBuild, its transitions tell.
    started = f"Started build {what}{_why_anew(scope)}"
    event = None if scope.seen.claim else scope.event("BuildStarted", started, occasion=build.name)
    limit = scope.seen.deadlines.build + scope.seen.deadlines.push + scope.timing.grace
    renewed = _renewed(scope, build)
    return Plan.of(*renewed, *scope.reported(build_condition, event, build=build)).then(
        WaitFor(f"build {build.name} to end", limit)
    )


def _of_each(scope: Scope) -> str:
    """How far the builds of a list are."""
    phases = {each.architecture: str(each.phase).lower() for each in scope.wanted}
    return ", ".join(f"{name}: {phases.get(name, 'not begun')}" for name in scope.seen.architectures)


def _why_anew(scope: Scope) -> str:
    """What is wrong with the image that there is."""
    lacking = scope.seen.lacking
    return f"; the image that there is is not for {', '.join(lacking)}" if lacking else ""


def _renewed(scope: Scope, build: BuildState) -> tuple[Action, ...]:
    """A token may expire before the image is pushed, and its Secret have another one by then."""
    backend = scope.backends[build.backend]
    if backend.mounts_secrets or build.ending or same_versions(build.secrets, scope.seen.versions):
        return ()
    secrets = current_secrets(scope.seen, scope.request, scope.seen.versions)
    return () if isinstance(secrets, Problem) else backend.renew(build, secrets)


def lost(scope: Scope, build: BuildState, when: datetime, anew: str) -> Plan:
    """Remove the builder at `when`, since `anew`; until then, say that the build begins again."""
    told = events.interrupted(scope.seen.claim, build)
    if scope.now >= when:
        if build.phase is Phase.INTERRUPTED and build.ended:
            scope.note_losses((*earlier_losses(scope.seen, build), build.ended))
        return Plan.of(*told, *scope.removed([build], anew))
    interrupted = f"Build {build.name} was interrupted" + (f": {build.note}" if build.note else "")
    why = scope.failure(build) if build.failed else interrupted
    build_condition = BuildCondition(PENDING, "BuildInterrupted", f"{why}. It begins again at {rfc3339(when)}")
    said = scope.reported(build_condition, build=build)
    return Plan.of(*said, *told).then(scope.at(when, "begin the build again"))
