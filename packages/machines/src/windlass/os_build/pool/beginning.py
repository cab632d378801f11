"""Begins a build that is due: the registry is asked first, then the turn, then a builder starts. Pure."""

from typing import Final

from windlass.kube.control.plan import Call, Plan, RequeueAfter, target
from windlass.os_build.builder import Order
from windlass.os_build.credentials import Secrets
from windlass.os_build.environment import Environment
from windlass.os_build.identity import build_name
from windlass.os_build.inputs.context import Context
from windlass.os_build.pool.conditions import FAILED, PENDING, BuildCondition
from windlass.os_build.pool.materials import MISSING, lent_to, unfit_base, unread
from windlass.os_build.pool.materials import contexts as contexts_of
from windlass.os_build.pool.questions import Answered, Borrowed, current_secrets
from windlass.os_build.pool.scope import Scope, of_problem
from windlass.os_build.pool.situations import Ready
from windlass.os_build.registry.access import access_of
from windlass.os_build.registry.answers import Kind
from windlass.os_build.registry.carrier import ProbeUpload
from windlass.os_build.request import Problem
from windlass.os_build.turns import AGAIN, Queued, Turn

REFUSED: Final = {Kind.DENIED: "PushDenied", Kind.UNKNOWN: "RepositoryUnknown"}
"""What the pool says of a registry that refuses."""


def ready(scope: Scope, due: Ready) -> Plan:
    """Start the builders that are due, or say what keeps them back."""
    secrets = current_secrets(scope.seen, scope.request, scope.seen.versions)
    if isinstance(secrets, Problem):
        return scope.held(of_problem(secrets))
    backend = scope.backends[due.backend]
    if backend.mounts_secrets and (problem := unread(scope.request, secrets)):
        return scope.held(of_problem(problem))
    answer = scope.seen.need(Answered(str(scope.request.target), scope.seen.versions))
    if answer is None:
        return Plan.of(_probe(scope, secrets))
    if answer.kind in (Kind.DENIED, Kind.UNKNOWN):
        return scope.held(BuildCondition(FAILED, REFUSED[answer.kind], answer.text), "PushRefused").then(
            RequeueAfter(scope.timing.ask_again, "ask the registry again")
        )
    if backend.in_cluster and scope.seen.unfit is None:
        queued = scope.seen.need(Turn(scope.seen.name, scope.seen.wanted or scope.now))
        if queued is not None:
            return _queued(scope, queued)
    builds = due.due or ((scope.seen.architectures[0] if scope.seen.architectures else "", due.attempt),)
    architectures = [architecture for architecture, _ in builds]
    contexts = contexts_of(scope.seen, scope.request, backend=backend, architectures=architectures)
    if isinstance(contexts, Problem):
        event = scope.event("BuildFailed", contexts.text, occasion=due.name, warning=True)
        plan = Plan.of(*scope.reported(of_problem(contexts), event))
        if contexts.reason == MISSING:
            return plan.then(RequeueAfter(scope.timing.lost, f"look for {scope.request.config} again"))
        return plan
    if unfit := unfit_base(scope.seen, scope.request, contexts=contexts):
        return scope.held(of_problem(unfit)).then(RequeueAfter(scope.timing.ask_again, "look at the base again"))
    orders = [
        _order(scope, due, architecture, attempt, contexts[architecture], secrets) for architecture, attempt in builds
    ]
    return Plan.of(*(action for order in orders for action in backend.start(order)))


def _order(scope: Scope, due: Ready, architecture: str, attempt: int, context: Context, secrets: Secrets) -> Order:
    environment = Environment(egress=scope.request.egress, containers=context.containers, lent=lent_to(scope.seen))
    assert scope.seen.inputs is not None
    part_of = (scope.report.tag or due.name) if due.due else ""
    name = build_name(scope.seen.name, scope.seen.inputs, attempt, architecture=architecture if due.due else "")
    return Order(
        name=name,
        inputs=str(scope.seen.inputs),
        attempt=attempt,
        pool=target(scope.pool),
        request=scope.request.on(architecture),
        context=context,
        secrets=secrets,
        deadlines=scope.seen.deadlines,
        tag=f"{part_of}-{architecture}" if part_of else scope.report.tag,
        part_of=part_of,
        environment=environment,
        lent_files={} if scope.backends[due.backend].mounts_secrets else scope.seen.need(Borrowed(environment.lent)),
    )


def _queued(scope: Scope, queued: Queued) -> Plan:
    before = f", and {queued.before} pools wait longer" if queued.before else ""
    text = f"The build of {scope.request.config} waits for its turn: {', '.join(queued.building)} build{before}"
    said = scope.report.queued(BuildCondition(PENDING, "Queued", text))
    return Plan.of(*said).then(RequeueAfter(AGAIN, "ask for its turn again"))


def _probe(scope: Scope, secrets: Secrets) -> Call:
    probe = ProbeUpload(
        pool=scope.seen.name,
        target=str(scope.request.target),
        versions=scope.seen.versions,
        **access_of(scope.request, secrets.push),
    )
    return Call(target=target(scope.pool), request=probe, why="a build whose image cannot be pushed is wasted")
