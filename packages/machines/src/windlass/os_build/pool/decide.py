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

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import structs

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.clock import rfc3339
from windlass.kube.control.plan import Action, Call, Done, Emit, Next, Plan, RequeueAfter, WaitFor, target
from windlass.kube.control.seen import NotServedKind, Present, Unreadable
from windlass.os_build.builder import ATTEMPTS, Backend, BuildState, Cause, Failed, Order, Phase
from windlass.os_build.constants import EVENT_SOURCE
from windlass.os_build.credentials import Secrets, same_versions
from windlass.os_build.environment import Environment
from windlass.os_build.failure import OBSTACLES, failure_text
from windlass.os_build.identity import build_name
from windlass.os_build.inputs.context import Context
from windlass.os_build.machine_os import events
from windlass.os_build.machine_os import report as machine_os
from windlass.os_build.machine_os.claim import Again, Claim, Current, Missing, Reuse, Silent, Wait, is_current, state
from windlass.os_build.machine_os.claim import Failed as FailedBuild
from windlass.os_build.pool import conditions
from windlass.os_build.pool import situation as of
from windlass.os_build.pool.conditions import BUILDING, FAILED, PENDING, SUCCESS, BuildCondition
from windlass.os_build.pool.facts import facts_of
from windlass.os_build.pool.listed import unlisted
from windlass.os_build.pool.materials import MISSING, lent_to, unfit_base, unread
from windlass.os_build.pool.materials import contexts as contexts_of
from windlass.os_build.pool.questions import (
    Answered,
    Borrowed,
    Losses,
    current_secrets,
)
from windlass.os_build.pool.report import OnMachineOsBuild, OnPool, Report
from windlass.os_build.pool.signed import unsigned
from windlass.os_build.pool.situation import Situation, situation, unwanted
from windlass.os_build.pool.snapshot import PoolFacts, PoolSnapshot, Settings, Timing
from windlass.os_build.pool.waits import by_events
from windlass.os_build.registry.answers import Denied, Kind, NotAsked
from windlass.os_build.registry.answers import Refused as RefusedList
from windlass.os_build.registry.carrier import ImageList, ProbeUpload, PushList
from windlass.os_build.request import BackendName, Problem, Request
from windlass.os_build.turns import AGAIN, Queued, Turn

WAITING: Final = frozenset({"NotRendered", "NotRead"})
"""Problems that pass without anybody's doing."""
_UNKNOWN: Final = Failed(cause=Cause.UNKNOWN)


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
        return Plan.of(*_removed(backends, seen.builds, "its pool is gone"), *interrupted)
    assert isinstance(seen.pool, Present)
    plan = _Decision(seen, seen.pool, backends, now, timing).plan(found)
    gone = seen.config_gone
    return Plan((events.config_deleted(gone), *plan.actions), plan.next) if gone else plan


class _Decision:
    """The facts of a pool that is there, what it is decided with, and one method for each group of rows."""

    def __init__(
        self,
        seen: PoolFacts,
        pool: Present[MachineConfigPool],
        backends: Mapping[BackendName, Backend],
        now: datetime,
        timing: Timing,
    ) -> None:
        self._seen = seen
        self._pool = pool
        self._backends = backends
        self._now = now
        self._timing = timing
        self._report: Report = (
            OnPool(pool, seen.request, seen.inputs, now=now)
            if seen.claim is None
            else OnMachineOsBuild(seen.claim, pool, seen.request, now=now)
        )

    def plan(self, found: Situation) -> Plan:
        """The plan for a situation."""
        # What was said of the pool before it had a MachineOSConfig goes first: both write its conditions.
        if self._seen.claim is not None and (stale := [action for action in self._quiet() if action.needed]):
            return Plan.of(*stale)
        match found:
            case of.Claimed():
                why = f"MachineOSConfig {found.by} names the pool"
                return Plan.of(*self._removed(self._seen.builds, why), *self._quiet())
            case of.OptedOut():
                return Plan.of(*self._removed(self._seen.builds, "the pool is not opted in"), *self._quiet())
            case of.Unclear(problem):
                return Plan.of(*self._reported(_of_problem(problem), self._problem_event(problem)))
        superseded = [build for build in self._seen.builds if unwanted(self._seen, build)]
        cleared = [*self._removed(superseded, "the pool asks for another image")]
        if self._seen.claim is not None:
            for each in self._seen.claim.superseded:
                cleared += machine_os.removed(each, "it is superseded")
        rest = self._by_config(found, self._seen.claim) if self._seen.claim else self._with_request(found)
        return Plan((*cleared, *rest.actions), rest.next)

    def _by_config(self, found: Situation, claim: Claim) -> Plan:
        if not isinstance(found, of.ByConfig):
            rest = self._with_request(found)
            return Plan((*machine_os.pointed(claim), *rest.actions), rest.next)
        match found.standing:
            case Wait(what):
                return Plan.nothing().then(WaitFor(what))
            case Silent():
                return self._silent(found.standing, claim)
            case Missing(name):
                return Plan.of(*machine_os.created(claim, name, self._request, self._pool))
            case Again(build, why):
                told = (*self._says_anew(claim, why), *events.rebuild_requested(claim, build))
                return Plan.of(*told, *self._removed(self._wanted, why), *machine_os.removed(build, why))
            case Reuse(build, image):
                if unsigned := self._unsigned(image):
                    return unsigned
                return Plan.of(*machine_os.reused(claim, build, self._pool, image=image, now=self._now))
            case Current(build):
                image = build.object.status.digested_image_push_spec
                if not is_current(claim, build) and (unsigned := self._unsigned(image)):
                    return unsigned
                build_condition = machine_os.degraded(self._pool, build.object, now=self._now)
                done = self._removed(self._wanted, "its result is recorded")
                return self._signed_late(image, Plan.of(*machine_os.current(claim, build), *build_condition, *done))
            case FailedBuild(build, again):
                plan = Plan.of(
                    *machine_os.pointed(claim), *machine_os.degraded(self._pool, build.object, now=self._now)
                )
                return plan.then(self._at(again, "build anew")) if again else plan

    def _says_anew(self, claim: Claim, why: str) -> tuple[Emit, ...]:
        """Somebody sees an image built again of which nothing has changed, but the Nodes."""
        if not claim.lacks:
            return ()
        about, note = target(claim.config), f"Building the image again: {why}"
        emitted = Emit(
            target=about, type="Normal", reason="ArchitectureMissing", note=note, source=EVENT_SOURCE, occasion=note
        )
        return (emitted,)

    def _silent(self, silent: Silent, claim: Claim) -> Plan:
        ask = RequeueAfter(self._timing.lost, f"ask the registry again: {silent.why}")
        since = claim.silent or self._now
        if self._now < since + timedelta(seconds=self._timing.patience):
            return Plan.nothing().then(ask)
        end = rfc3339(since + timedelta(seconds=self._timing.silence))
        then = "it is built anew" if isinstance(silent.then, Again) else "the image that nodes run is taken"
        text = f"The registry does not tell whether it has the image: {silent.why}. If it does not until {end}, {then}"
        return self._held(BuildCondition(FAILED, Cause.UNREACHABLE, text)).then(ask)

    def _with_request(self, found: Situation) -> Plan:
        match found:
            case of.Built(image, config):
                build_condition = BuildCondition(SUCCESS, "BuildSucceeded", f"{image} is built from {config}")
                done = self._removed(self._wanted, "its result is recorded")
                return self._signed_late(
                    image, Plan((*self._reported(build_condition), *done), self._until_shown(image))
                )
            case of.Finished(build, digest):
                return self._unsigned(self._request.target.digested(digest)) or self._finished(build, digest)
            case of.Underway(build):
                return self._waiting(build) or self._underway(build)
            case of.Doomed(build, cause):
                cancelled = self._backends[build.backend].cancel(build, cause)
                plan = self._underway(build)
                return Plan((*cancelled, *plan.actions), plan.next)
            case of.Unconfirmed(build, why):
                text = f"{build.image} is pushed, and its digest is not known yet: {why}"
                return Plan.of(*self._reported(BuildCondition(BUILDING, "DigestUnknown", text), build=build)).then(
                    RequeueAfter(self._timing.lost, "ask the registry for the digest")
                )
            case of.Joining(_, wanted):
                return self._joining(wanted)
            case of.Unjoined(build, wanted, why):
                return self._unjoined(build, wanted, why)
            case of.Lost(build, when, anew):
                return self._lost(build, when, anew)
            case of.Retrying(build, when):
                failure = self._failure(build)
                text = f"Attempt {build.attempt + 1} of {ATTEMPTS} begins at {rfc3339(when)}. {failure}"
                said = self._reported(BuildCondition(PENDING, "Retrying", text), build=build)
                return Plan.of(*said, *self._job_failed(build)).then(self._at(when, "the next attempt"))
            case of.Broken(build, again):
                cause, text = (build.failed or _UNKNOWN).cause, self._failure(build, again=again)
                event = self._event("BuildFailed", text, occasion=build.name, warning=True)
                said = self._reported(BuildCondition(FAILED, str(cause), text), event, build=build)
                plan = Plan.of(*said, *self._job_failed(build))
                return plan.then(self._at(again, "attempts begin anew")) if again else plan
            case of.HeldBack(condition, message):
                text = f"No build starts while {condition} is True" + (f": {message}" if message else "")
                return Plan.of(*self._reported(BuildCondition("", "PoolDegraded", text)))
            case of.Resting(when):
                text = f"The build of {self._request.config} begins at {rfc3339(when)}, unless its inputs change again"
                return Plan.of(*self._reported(BuildCondition(PENDING, "Resting", text))).then(
                    self._at(when, "start the build")
                )
            case of.Refused(why, when):
                return self._held(BuildCondition(FAILED, "BuilderRefused", why)).then(
                    self._at(when, "ask the API server again")
                )
            case of.Ready():
                return self._ready(found)
        raise TypeError(f"no plan for {found}")

    def _finished(self, build: BuildState, digest: str) -> Plan:
        if self._seen.losses:
            self._note_losses(())
        image = self._request.target.digested(digest)
        missing = unlisted(self._seen, self._pool, image)
        if isinstance(missing, Call):
            return Plan.of(missing)
        for_what = f" for {', '.join(named)}" if (named := self._seen.architectures) else ""
        event = self._event(
            "BuildCompleted", f"Image {image} is built from {self._request.config}{for_what}", occasion=build.name
        )
        unattached = None
        if missing:
            note = f"Image {image} has no list of contents attached: {missing}"
            unattached = self._event("ContentsNotAttached", note, occasion=build.name, warning=True)
        return Plan.of(*self._report.succeeded(build, digest), None if self._seen.claim else event, unattached)

    def _unsigned(self, image: str) -> Plan | None:
        """What keeps the image from being taken; None: nothing."""
        found = unsigned(self._seen, self._pool, image)
        if found is None:
            return None
        if isinstance(found, Problem):
            return self._held(_of_problem(found)).then(RequeueAfter(self._timing.patience, "sign the image again"))
        return Plan.of(found)

    def _signed_late(self, image: str, plan: Plan) -> Plan:
        """The pool has the image already, such as from before a key was named."""
        found = unsigned(self._seen, self._pool, image)
        if found is None:
            return plan
        if isinstance(found, Problem):
            event = self._event(found.reason, found.text, occasion=found.text, warning=True)
            again = RequeueAfter(self._timing.ask_again, "sign the image again")
            return Plan((*plan.actions, event), again)
        return Plan((*plan.actions, found), plan.next)

    def _until_shown(self, image: str) -> Next:
        """Nothing else tells when a registry says for which architectures the image is."""
        if not isinstance(self._seen.shown, NotAsked | Denied):
            return Done()
        why = f"ask the registry whether {image} is for {', '.join(self._seen.architectures)}"
        return RequeueAfter(self._timing.ask_again, why)

    def _joining(self, wanted: ImageList) -> Plan:
        secrets = current_secrets(self._seen, self._request, self._seen.versions)
        if isinstance(secrets, Problem):
            return self._held(_of_problem(secrets))
        push = PushList(
            pool=self._seen.name,
            list=wanted,
            secret=self._request.push_secret,
            auths=secrets.push,
            egress=self._request.egress,
        )
        named = ", ".join(architecture for architecture, _ in wanted.images)
        return Plan.of(Call(target=target(self._pool), request=push, why=f"the images for {named} are built"))

    def _unjoined(self, build: BuildState, wanted: ImageList, why: RefusedList | Denied | NotAsked) -> Plan:
        again = RequeueAfter(self._timing.ask_again, "push the list again")
        match why:
            case RefusedList(text):
                return self._held(BuildCondition(FAILED, Cause.IMAGE_REFUSED, text)).then(again)
            case Denied(text):
                return self._held(BuildCondition(FAILED, Cause.PUSH_DENIED, text)).then(again)
        again = RequeueAfter(self._timing.patience + self._timing.lost, "push the list again")
        told_at = (build.ended or self._now) + timedelta(seconds=self._timing.patience)
        if self._now >= told_at:
            return self._held(BuildCondition(FAILED, Cause.UNREACHABLE, f"{why.text}. It is tried again")).then(again)
        text = f"The images for {', '.join(self._seen.architectures)} are built: {why.text}"
        running = structs.replace(build, phase=Phase.RUNNING)
        return Plan.of(*self._reported(BuildCondition(BUILDING, "BuildRunning", text), build=running)).then(again)

    def _waiting(self, build: BuildState) -> Plan | None:
        """Something has kept the builder from its start for a while. None: nothing has."""
        waits = build.waits
        if waits is None or waits.since is None or build.ending:
            return None
        told_at = waits.since + timedelta(seconds=self._timing.patience)
        if self._now < told_at:
            return self._underway(build).then(self._at(told_at, f"look whether {build.name} has started"))
        obstacle, text = (
            (waits.obstacle, waits.text) if waits.obstacle else by_events(waits, seen=self._seen, now=self._now)
        )
        if obstacle is None:
            return self._underway(build).then(
                RequeueAfter(self._timing.patience, f"look whether {build.name} has started")
            )
        said = f"Build {build.name} of {self._request.config} has not started: {text}. {OBSTACLES[obstacle]}"
        event = self._event(obstacle, said, occasion=f"{build.name} {obstacle}", warning=True)
        actions = self._report.waits(BuildCondition(PENDING, obstacle, said), build)
        return Plan.of(*actions, *self._news(actions, event)).then(
            RequeueAfter(self._timing.ask_again, f"look whether {build.name} has started")
        )

    def _underway(self, build: BuildState) -> Plan:
        what = f"{build.name} of {self._request.config}"
        attempt = f", attempt {build.attempt} of {ATTEMPTS}" if build.attempt > 1 else ""
        waits = f": it {build.note}" if build.note else ""
        if self._request.is_listed:
            waits = f"{waits}. {self._of_each()}"
            if any(each.phase in (Phase.RUNNING, Phase.SUCCEEDED) for each in self._wanted):
                # One of them has begun, and so the image.
                build = structs.replace(build, phase=Phase.RUNNING)
        waits += self._why_anew()
        if build.phase == Phase.PENDING:
            build_condition = BuildCondition(PENDING, "BuildPending", f"Build {what} is about to begin{attempt}{waits}")
        else:
            # A Job runs as soon as it has a Pod, and that may wait for its image for ever.
            build_condition = BuildCondition(BUILDING, "BuildRunning", f"Build {what} is running{attempt}{waits}")
        # Of a MachineOSBuild, its transitions tell.
        started = f"Started build {what}{self._why_anew()}"
        event = None if self._seen.claim else self._event("BuildStarted", started, occasion=build.name)
        limit = self._seen.deadlines.build + self._seen.deadlines.push + self._timing.grace
        renewed = self._renewed(build)
        return Plan.of(*renewed, *self._reported(build_condition, event, build=build)).then(
            WaitFor(f"build {build.name} to end", limit)
        )

    def _of_each(self) -> str:
        """How far the builds of a list are."""
        phases = {each.architecture: str(each.phase).lower() for each in self._wanted}
        return ", ".join(f"{name}: {phases.get(name, 'not begun')}" for name in self._seen.architectures)

    def _why_anew(self) -> str:
        """What is wrong with the image that there is."""
        lacking = self._seen.lacking
        return f"; the image that there is is not for {', '.join(lacking)}" if lacking else ""

    def _renewed(self, build: BuildState) -> tuple[Action, ...]:
        """A token may expire before the image is pushed, and its Secret have another one by then."""
        backend = self._backends[build.backend]
        if backend.mounts_secrets or build.ending or same_versions(build.secrets, self._seen.versions):
            return ()
        secrets = current_secrets(self._seen, self._request, self._seen.versions)
        return () if isinstance(secrets, Problem) else backend.renew(build, secrets)

    def _lost(self, build: BuildState, when: datetime, anew: str) -> Plan:
        told = events.interrupted(self._seen.claim, build)
        if self._now >= when:
            if build.phase is Phase.INTERRUPTED and build.ended:
                self._note_losses((*of.earlier_losses(self._seen, build), build.ended))
            return Plan.of(*told, *self._removed([build], anew))
        lost = f"Build {build.name} was interrupted" + (f": {build.note}" if build.note else "")
        why = self._failure(build) if build.failed else lost
        build_condition = BuildCondition(PENDING, "BuildInterrupted", f"{why}. It begins again at {rfc3339(when)}")
        said = self._reported(build_condition, build=build)
        return Plan.of(*said, *told).then(self._at(when, "begin the build again"))

    def _note_losses(self, losses: tuple[datetime, ...]) -> None:
        self._seen.need(Losses(str(self._seen.inputs), losses), this_round=True)

    def _ready(self, due: of.Ready) -> Plan:
        secrets = current_secrets(self._seen, self._request, self._seen.versions)
        if isinstance(secrets, Problem):
            return self._held(_of_problem(secrets))
        if self._backends[due.backend].mounts_secrets and (problem := unread(self._request, secrets)):
            return self._held(_of_problem(problem))
        answer = self._seen.need(Answered(str(self._request.target), self._seen.versions))
        if answer is None:
            return Plan.of(self._probe(secrets))
        if answer.kind in (Kind.DENIED, Kind.UNKNOWN):
            return self._held(BuildCondition(FAILED, REFUSED[answer.kind], answer.text), "PushRefused").then(
                RequeueAfter(self._timing.ask_again, "ask the registry again")
            )
        if self._backends[due.backend].in_cluster and self._seen.unfit is None:
            queued = self._seen.need(Turn(self._seen.name, self._seen.wanted or self._now))
            if queued is not None:
                return self._queued(queued)
        builds = due.due or ((self._seen.architectures[0] if self._seen.architectures else "", due.attempt),)
        architectures = [architecture for architecture, _ in builds]
        backend = self._backends[due.backend]
        contexts = contexts_of(self._seen, self._request, backend=backend, architectures=architectures)
        if isinstance(contexts, Problem):
            event = self._event("BuildFailed", contexts.text, occasion=due.name, warning=True)
            plan = Plan.of(*self._reported(_of_problem(contexts), event))
            if contexts.reason == MISSING:
                return plan.then(RequeueAfter(self._timing.lost, f"look for {self._request.config} again"))
            return plan
        if unfit := unfit_base(self._seen, self._request, contexts=contexts):
            return self._held(_of_problem(unfit)).then(RequeueAfter(self._timing.ask_again, "look at the base again"))
        orders = [
            self._order(due, architecture, attempt, contexts[architecture], secrets) for architecture, attempt in builds
        ]
        return Plan.of(*(action for order in orders for action in self._backends[due.backend].start(order)))

    def _order(self, due: of.Ready, architecture: str, attempt: int, context: Context, secrets: Secrets) -> Order:
        environment = Environment(egress=self._request.egress, containers=context.containers, lent=lent_to(self._seen))
        assert self._seen.inputs is not None
        part_of = (self._report.tag or due.name) if due.due else ""
        name = build_name(self._seen.name, self._seen.inputs, attempt, architecture=architecture if due.due else "")
        return Order(
            name=name,
            inputs=str(self._seen.inputs),
            attempt=attempt,
            pool=target(self._pool),
            request=self._request.on(architecture),
            context=context,
            secrets=secrets,
            deadlines=self._seen.deadlines,
            tag=f"{part_of}-{architecture}" if part_of else self._report.tag,
            part_of=part_of,
            environment=environment,
            lent_files={}
            if self._backends[due.backend].mounts_secrets
            else self._seen.need(Borrowed(environment.lent)),
        )

    def _queued(self, queued: Queued) -> Plan:
        before = f", and {queued.before} pools wait longer" if queued.before else ""
        text = f"The build of {self._request.config} waits for its turn: {', '.join(queued.building)} build{before}"
        said = self._report.queued(BuildCondition(PENDING, "Queued", text))
        return Plan.of(*said).then(RequeueAfter(AGAIN, "ask for its turn again"))

    def _probe(self, secrets: Secrets) -> Call:
        probe = ProbeUpload(
            pool=self._seen.name,
            target=str(self._request.target),
            secret=self._request.push_secret,
            versions=self._seen.versions,
            auths=secrets.push,
            egress=self._request.egress,
        )
        return Call(target=target(self._pool), request=probe, why="a build whose image cannot be pushed is wasted")

    def _removed(self, builds: Iterable[BuildState], why: str) -> tuple[Action, ...]:
        return tuple(
            action
            for build in builds
            if not build.ending
            for action in (*_removed(self._backends, [build], why), *events.job_deleted(self._seen.claim, build))
        )

    def _job_failed(self, build: BuildState) -> tuple[Action, ...]:
        return events.job_failed(self._seen.claim, build) if self._seen.claim else ()

    def _problem_event(self, problem: Problem) -> Emit:
        """A MachineOSConfig that was changed to something that cannot be built says so in the operator's words."""
        reason, text = problem.reason, problem.text
        claim = self._seen.claim
        if claim is not None and reason == "ConfigurationInvalid" and events.changed(claim.config):
            reason, text = events.RECONCILE_FAILED, f"Failed to reconcile MachineOSConfig spec change: {text}"
        return self._event(reason, text, occasion=problem.text, warning=True)

    def _quiet(self) -> tuple[Action, ...]:
        """Nothing of ours stays on the pool."""
        return conditions.unrecord(self._pool), conditions.remove_conditions(self._pool)

    def _reported(
        self, build_condition: BuildCondition, event: Emit | None = None, *, build: BuildState | None = None
    ) -> tuple[Action, ...]:
        """What the report says, and the Event if that changes, or if it can say nothing."""
        actions = self._report.says(build_condition, build)
        return actions if event is None else (*actions, *self._news(actions, event))

    def _held(self, build_condition: BuildCondition, event: str = "") -> Plan:
        """Something keeps a build from its beginning that may pass; `event` None: the reason of the condition."""
        said = self._report.refused(build_condition)
        text = build_condition.message
        news = self._event(event or build_condition.reason, text, occasion=text, warning=True)
        return Plan.of(*said, *self._news(said, news))

    def _news(self, actions: tuple[Action, ...], event: Emit) -> tuple[Emit, ...]:
        """The Event, if the actions that say the same change something, or if there are none."""
        return (event,) if not actions or any(action.needed for action in actions) else ()

    def _event(self, reason: str, note: str, *, occasion: str, warning: bool = False) -> Emit:
        return Emit(
            target=self._report.about,
            type="Warning" if warning else "Normal",
            reason=reason,
            note=note,
            source=EVENT_SOURCE,
            occasion=occasion,
        )

    def _failure(self, build: BuildState, *, again: datetime | None = None) -> str:
        failed = build.failed or _UNKNOWN
        request = self._request.on(build.architecture)
        return failure_text(failed, request, attempt=build.attempt, attempts=ATTEMPTS, again=again)

    def _at(self, when: datetime, why: str) -> Next:
        return RequeueAfter(max((when - self._now).total_seconds(), 0.05), why)

    @property
    def _wanted(self) -> list[BuildState]:
        return [build for build in self._seen.builds if not unwanted(self._seen, build)]

    @property
    def _request(self) -> Request:
        assert isinstance(self._seen.request, Request)
        return self._seen.request


def _removed(backends: Mapping[BackendName, Backend], builds: Iterable[BuildState], why: str) -> tuple[Action, ...]:
    return tuple(
        action for build in builds if not build.ending for action in backends[build.backend].clean(build, why=why)
    )


REFUSED: Final = {Kind.DENIED: "PushDenied", Kind.UNKNOWN: "RepositoryUnknown"}


def _of_problem(problem: Problem) -> BuildCondition:
    return BuildCondition("" if problem.reason in WAITING else FAILED, problem.reason, problem.text)
