"""Takes the image of a build that succeeded: its list is pushed, it is signed, then it is written. Pure."""

from datetime import timedelta

from msgspec import structs

from windlass.kube.control.plan import Call, Done, Next, Plan, RequeueAfter, target
from windlass.os_build.builder import BuildState, Cause, Phase
from windlass.os_build.pool.attached import unlisted, unsigned
from windlass.os_build.pool.conditions import BUILDING, FAILED, BuildCondition
from windlass.os_build.pool.questions import current_secrets
from windlass.os_build.pool.scope import Scope, of_problem
from windlass.os_build.registry.access import access_of
from windlass.os_build.registry.answers import Denied, NotAsked
from windlass.os_build.registry.answers import Refused as RefusedList
from windlass.os_build.registry.carrier import ImageList, PushList
from windlass.os_build.request import Problem


def finished(scope: Scope, build: BuildState, digest: str) -> Plan:
    """Write the result, once the list of contents is attached or cannot be."""
    if scope.seen.losses:
        scope.note_losses(())
    image = scope.request.target.digested(digest)
    missing = unlisted(scope.seen, scope.pool, image)
    if isinstance(missing, Call):
        return Plan.of(missing)
    for_what = f" for {', '.join(named)}" if (named := scope.seen.architectures) else ""
    event = scope.event(
        "BuildCompleted", f"Image {image} is built from {scope.request.config}{for_what}", occasion=build.name
    )
    unattached = None
    if missing:
        note = f"Image {image} has no list of contents attached: {missing}"
        unattached = scope.event("ContentsNotAttached", note, occasion=build.name, warning=True)
    return Plan.of(*scope.report.succeeded(build, digest), None if scope.seen.claim else event, unattached)


def sign_first(scope: Scope, image: str) -> Plan | None:
    """What keeps the image from being taken: it is not signed. None: nothing keeps it."""
    found = unsigned(scope.seen, scope.pool, image)
    if found is None:
        return None
    if isinstance(found, Problem):
        return scope.held(of_problem(found)).then(RequeueAfter(scope.timing.patience, "sign the image again"))
    return Plan.of(found)


def signed_late(scope: Scope, image: str, plan: Plan) -> Plan:
    """The pool has the image already, such as from before a key was named."""
    found = unsigned(scope.seen, scope.pool, image)
    if found is None:
        return plan
    if isinstance(found, Problem):
        event = scope.event(found.reason, found.text, occasion=found.text, warning=True)
        again = RequeueAfter(scope.timing.ask_again, "sign the image again")
        return Plan((*plan.actions, event), again)
    return Plan((*plan.actions, found), plan.next)


def until_shown(scope: Scope, image: str) -> Next:
    """Nothing else tells when a registry says for which architectures the image is."""
    if not isinstance(scope.seen.shown, NotAsked | Denied):
        return Done()
    why = f"ask the registry whether {image} is for {', '.join(scope.seen.architectures)}"
    return RequeueAfter(scope.timing.ask_again, why)


def joining(scope: Scope, wanted: ImageList) -> Plan:
    """Push the list of the images."""
    secrets = current_secrets(scope.seen, scope.request, scope.seen.versions)
    if isinstance(secrets, Problem):
        return scope.held(of_problem(secrets))
    push = PushList(pool=scope.seen.name, list=wanted, **access_of(scope.request, secrets.push))
    named = ", ".join(architecture for architecture, _ in wanted.images)
    return Plan.of(Call(target=target(scope.pool), request=push, why=f"the images for {named} are built"))


def unjoined(scope: Scope, build: BuildState, wanted: ImageList, why: RefusedList | Denied | NotAsked) -> Plan:
    """Say why the registry has not taken the list, and push it again."""
    again = RequeueAfter(scope.timing.ask_again, "push the list again")
    match why:
        case RefusedList(text):
            return scope.held(BuildCondition(FAILED, Cause.IMAGE_REFUSED, text)).then(again)
        case Denied(text):
            return scope.held(BuildCondition(FAILED, Cause.PUSH_DENIED, text)).then(again)
    again = RequeueAfter(scope.timing.patience + scope.timing.lost, "push the list again")
    told_at = (build.ended or scope.now) + timedelta(seconds=scope.timing.patience)
    if scope.now >= told_at:
        return scope.held(BuildCondition(FAILED, Cause.UNREACHABLE, f"{why.text}. It is tried again")).then(again)
    text = f"The images for {', '.join(scope.seen.architectures)} are built: {why.text}"
    running = structs.replace(build, phase=Phase.RUNNING)
    return Plan.of(*scope.reported(BuildCondition(BUILDING, "BuildRunning", text), build=running)).then(again)
