"""What to do about a pool in each situation (`situation` has the table that tells them apart):

| situation | builders | the pool says | next |
|---|---|---|---|
| `Gone`, and the API server itself says so | removed | its MachineOSBuild is Interrupted | |
| `Claimed` | removed | nothing: its MachineOSConfig is served elsewhere | |
| `ByConfig` | | what `machine_os` says of its MachineOSBuild | |
| `OptedOut` | removed | nothing: result and conditions are removed | |
| `Unclear` | stay | `BuildFailed`, or nothing True if it only has to wait | |
| `Built` | removed | `BuildSuccess` | |
| `Underway` | of other inputs: removed | `BuildPending` or `Building`, with what it waits for | its end |
| `Doomed` | cancelled | `Building` | its end |
| `Finished` | | the result, then `BuildSuccess` | |
| `Unconfirmed` | | `Building` | ask the registry again |
| `Lost` | removed at its time | `BuildPending` | then |
| `Broken` | stays, so that people can look at it | `BuildFailed`, cause and remedy | begin anew, if the cause passes |
| `Joining` | stay | | the list is pushed |
| `Unjoined` | stay | `Building`; after 45 s, or if the registry refuses: `BuildFailed` | ask the registry again |
| `Retrying` | stays | `BuildPending` with the cause | the next attempt |
| `HeldBack` | of other inputs: removed | nothing True | |
| `Resting` | of other inputs: removed | `BuildPending` | when it has rested |
| `Refused` | of other inputs: removed | `BuildFailed` with the server's message | ask the API server again |
| `Ready` | | | the registry is asked, then a builder starts |

The result is written before its builder is removed, so a crash between the two loses nothing.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from windlass.kube.clock import rfc3339
from windlass.kube.control.plan import Emit, Plan, RequeueAfter, WaitFor, target
from windlass.kube.control.seen import NotServedKind, Present, Unreadable
from windlass.os_build.builder import ATTEMPTS, Backend, Cause
from windlass.os_build.constants import EVENT_SOURCE
from windlass.os_build.machine_os import events
from windlass.os_build.machine_os import report as machine_os
from windlass.os_build.machine_os.claim import Again, Claim, Current, Missing, Reuse, Silent, Wait, is_current, state
from windlass.os_build.machine_os.claim import Failed as FailedBuild
from windlass.os_build.pool import situations as of
from windlass.os_build.pool.beginning import ready
from windlass.os_build.pool.builds import unwanted
from windlass.os_build.pool.conditions import BUILDING, FAILED, PENDING, SUCCESS, BuildCondition
from windlass.os_build.pool.facts import facts_of
from windlass.os_build.pool.result import finished, joining, sign_first, signed_late, unjoined, until_shown
from windlass.os_build.pool.running import lost, underway, waiting
from windlass.os_build.pool.scope import UNKNOWN, Scope, of_problem, removed
from windlass.os_build.pool.situation import situation
from windlass.os_build.pool.situations import Situation
from windlass.os_build.pool.snapshot import PoolFacts, PoolSnapshot, Settings, Timing
from windlass.os_build.request import BackendName, Problem


def decide(seen: PoolSnapshot, *, now: datetime, backends: Mapping[BackendName, Backend], settings: Settings) -> Plan:
    """Pure: what the pool asks for, and then the rows of the module."""
    facts = facts_of(seen, backends=backends, settings=settings)
    plan = plan_of(facts, now=now, backends=backends, timing=settings.timing)
    if facts.claim is None or not seen.ignored:
        return plan
    text = (
        f"MachineOSConfig {facts.claimed} is served for pool {seen.name}, and {', '.join(seen.ignored)} ignored, "
        "since a pool has one: delete what is ignored"
    )
    told = Emit(
        target=target(facts.claim.config),
        type="Warning",
        reason="MachineOSConfigIgnored",
        note=text,
        source=EVENT_SOURCE,
    )
    return Plan((*plan.actions, told), plan.next)


def plan_of(seen: PoolFacts, *, now: datetime, backends: Mapping[BackendName, Backend], timing: Timing) -> Plan:
    """Pure: the rows of the module."""
    if isinstance(seen.pool, Unreadable | NotServedKind):
        return Plan.nothing(f"MachineConfigPool {seen.name} cannot be read: {seen.pool.why}")
    found = situation(seen, now=now, timing=timing)
    if isinstance(found, of.Gone):
        interrupted = [machine_os.interrupted(build, now=now) for build in seen.os_builds if not state(build).is_over]
        return Plan.of(*removed(backends, seen.builds, "its pool is gone"), *interrupted)
    assert isinstance(seen.pool, Present)
    plan = _plan(Scope(seen, seen.pool, backends, now, timing), found)
    gone = seen.config_gone
    return Plan((events.config_deleted(gone), *plan.actions), plan.next) if gone else plan


def _plan(scope: Scope, found: Situation) -> Plan:
    """The plan for a situation."""
    # What was said of the pool before it had a MachineOSConfig goes first: both write its conditions.
    if scope.seen.claim is not None and (stale := [action for action in scope.quiet() if action.needed]):
        return Plan.of(*stale)
    match found:
        case of.Claimed():
            why = f"MachineOSConfig {found.by} names the pool"
            return Plan.of(*scope.removed(scope.seen.builds, why), *scope.quiet())
        case of.OptedOut():
            return Plan.of(*scope.removed(scope.seen.builds, "the pool is not opted in"), *scope.quiet())
        case of.Unclear(problem):
            return Plan.of(*scope.reported(of_problem(problem), _problem_event(scope, problem)))
    superseded = [build for build in scope.seen.builds if unwanted(scope.seen, build)]
    cleared = [*scope.removed(superseded, "the pool asks for another image")]
    if scope.seen.claim is not None:
        for each in scope.seen.claim.superseded:
            cleared += machine_os.removed(each, "it is superseded")
    rest = _by_config(scope, found, scope.seen.claim) if scope.seen.claim else _with_request(scope, found)
    return Plan((*cleared, *rest.actions), rest.next)


def _by_config(scope: Scope, found: Situation, claim: Claim) -> Plan:
    if not isinstance(found, of.ByConfig):
        rest = _with_request(scope, found)
        return Plan((*machine_os.pointed(claim), *rest.actions), rest.next)
    match found.standing:
        case Wait(what):
            return Plan.nothing().then(WaitFor(what))
        case Silent():
            return _silent(scope, found.standing, claim)
        case Missing(name):
            return Plan.of(*machine_os.created(claim, name, scope.request, scope.pool))
        case Again(build, why):
            told = (*_says_anew(scope, claim, why), *events.rebuild_requested(claim, build))
            return Plan.of(*told, *scope.removed(scope.wanted, why), *machine_os.removed(build, why))
        case Reuse(build, image):
            if unsigned := sign_first(scope, image):
                return unsigned
            return Plan.of(*machine_os.reused(claim, build, scope.pool, image=image, now=scope.now))
        case Current(build):
            image = build.object.status.digested_image_push_spec
            if not is_current(claim, build) and (unsigned := sign_first(scope, image)):
                return unsigned
            build_condition = machine_os.degraded(scope.pool, build.object, now=scope.now)
            done = scope.removed(scope.wanted, "its result is recorded")
            return signed_late(scope, image, Plan.of(*machine_os.current(claim, build), *build_condition, *done))
        case FailedBuild(build, again):
            plan = Plan.of(*machine_os.pointed(claim), *machine_os.degraded(scope.pool, build.object, now=scope.now))
            return plan.then(scope.at(again, "build anew")) if again else plan


def _says_anew(scope: Scope, claim: Claim, why: str) -> tuple[Emit, ...]:
    """Somebody sees an image built again of which nothing has changed, but the Nodes."""
    if not claim.lacks:
        return ()
    about, note = target(claim.config), f"Building the image again: {why}"
    emitted = Emit(
        target=about, type="Normal", reason="ArchitectureMissing", note=note, source=EVENT_SOURCE, occasion=note
    )
    return (emitted,)


def _silent(scope: Scope, silent: Silent, claim: Claim) -> Plan:
    ask = RequeueAfter(scope.timing.lost, f"ask the registry again: {silent.why}")
    since = claim.silent or scope.now
    if scope.now < since + timedelta(seconds=scope.timing.patience):
        return Plan.nothing().then(ask)
    end = rfc3339(since + timedelta(seconds=scope.timing.silence))
    then = "it is built anew" if isinstance(silent.then, Again) else "the image that nodes run is taken"
    text = f"The registry does not tell whether it has the image: {silent.why}. If it does not until {end}, {then}"
    return scope.held(BuildCondition(FAILED, Cause.UNREACHABLE, text)).then(ask)


def _with_request(scope: Scope, found: Situation) -> Plan:
    match found:
        case of.Built(image, config):
            build_condition = BuildCondition(SUCCESS, "BuildSucceeded", f"{image} is built from {config}")
            done = scope.removed(scope.wanted, "its result is recorded")
            return signed_late(scope, image, Plan((*scope.reported(build_condition), *done), until_shown(scope, image)))
        case of.Finished(build, digest):
            return sign_first(scope, scope.request.target.digested(digest)) or finished(scope, build, digest)
        case of.Underway(build):
            return waiting(scope, build) or underway(scope, build)
        case of.Doomed(build, cause):
            cancelled = scope.backends[build.backend].cancel(build, cause)
            plan = underway(scope, build)
            return Plan((*cancelled, *plan.actions), plan.next)
        case of.Unconfirmed(build, why):
            text = f"{build.image} is pushed, and its digest is not known yet: {why}"
            return Plan.of(*scope.reported(BuildCondition(BUILDING, "DigestUnknown", text), build=build)).then(
                RequeueAfter(scope.timing.lost, "ask the registry for the digest")
            )
        case of.Joining(_, wanted):
            return joining(scope, wanted)
        case of.Unjoined(build, wanted, why):
            return unjoined(scope, build, wanted, why)
        case of.Lost(build, when, anew):
            return lost(scope, build, when, anew)
        case of.Retrying(build, when):
            failure = scope.failure(build)
            text = f"Attempt {build.attempt + 1} of {ATTEMPTS} begins at {rfc3339(when)}. {failure}"
            said = scope.reported(BuildCondition(PENDING, "Retrying", text), build=build)
            return Plan.of(*said, *scope.job_failed(build)).then(scope.at(when, "the next attempt"))
        case of.Broken(build, again):
            cause, text = (build.failed or UNKNOWN).cause, scope.failure(build, again=again)
            event = scope.event("BuildFailed", text, occasion=build.name, warning=True)
            said = scope.reported(BuildCondition(FAILED, str(cause), text), event, build=build)
            plan = Plan.of(*said, *scope.job_failed(build))
            return plan.then(scope.at(again, "attempts begin anew")) if again else plan
        case of.HeldBack(condition, message):
            text = f"No build starts while {condition} is True" + (f": {message}" if message else "")
            return Plan.of(*scope.reported(BuildCondition("", "PoolDegraded", text)))
        case of.Resting(when):
            text = f"The build of {scope.request.config} begins at {rfc3339(when)}, unless its inputs change again"
            return Plan.of(*scope.reported(BuildCondition(PENDING, "Resting", text))).then(
                scope.at(when, "start the build")
            )
        case of.Refused(why, when):
            return scope.held(BuildCondition(FAILED, "BuilderRefused", why)).then(
                scope.at(when, "ask the API server again")
            )
        case of.Ready():
            return ready(scope, found)
    raise TypeError(f"no plan for {found}")


def _problem_event(scope: Scope, problem: Problem) -> Emit:
    """A MachineOSConfig that was changed to something that cannot be built says so in the operator's words."""
    reason, text = problem.reason, problem.text
    claim = scope.seen.claim
    if claim is not None and reason == "ConfigurationInvalid" and events.changed(claim.config):
        reason, text = events.RECONCILE_FAILED, f"Failed to reconcile MachineOSConfig spec change: {text}"
    return scope.event(reason, text, occasion=problem.text, warning=True)
