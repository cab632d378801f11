"""From choices to a standing server: resolve, persist the intent, create, and tell.

| situation | what is done |
|---|---|
| neither choices nor a server | resolve, then store finalizer, mark and choices together |
| choices, but no finalizer or mark (an object of the OpenStack provider) | store both |
| finalizer, mark and choices are stored | what the instance core says: send, wait, tell |
| a server is known, and no choices (a moved object, an adopted server) | mark what belongs to it, and tell |
| the Machine of the Machine API that had the server is still giving it up | wait |
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import condition, is_true
from windlass.kube.control.plan import Plan, RequeueAfter, WaitFor
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.requests import CloudRequest, CreateServer
from windlass.openstack.instance.next import next_adoption, next_step
from windlass.openstack.instance.resolve import resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.step import Await, Send, Standing, Step, Stuck
from windlass.openstack.objects import intend, is_held, mark_of
from windlass.openstack.sending import Held, calls
from windlass.openstack.server.resolved import to_status
from windlass.openstack.server.sending import admit
from windlass.openstack.server.snapshot import Cloud, ServerVisit, Snapshot, Timing, intent_of, made, recorded
from windlass.openstack.server.telling import LOST, WAITING, alarm, going_on, in_the_way, made_of, standing, tell, write
from windlass.openstack.status import INSTANCE_READY, NOT_DELETING, NOT_PAUSED, PROGRESSING, Reason
from windlass.openstack.trouble import Told, invalid, told_of_problems, trouble_since

SOON: Final = 0.2
"""Seconds until the rest is sent, after a request of the same attempt failed."""


def is_intended(found: Present[OpenStackServer]) -> bool:
    return bool(mark_of(found)) and is_held(found)


def has_choices(found: Present[OpenStackServer]) -> bool:
    """A server is recorded, or all choices are: nothing has to be resolved, whatever the spec says."""
    return bool(recorded(found).server) or made(found).resolved is not None


def build(visit: ServerVisit) -> Plan:
    """What to do about an object that is neither paused nor being deleted, with access to its cloud."""
    found, now = visit.found, visit.now
    if visit.cloud.awaited and is_true(found.object.status.conditions, INSTANCE_READY):
        return Plan().then(WaitFor(visit.cloud.awaited))  # it runs, and is told about again when it is ours
    match step_of(visit.seen, found, visit.cloud):
        case None:
            return _resolve(visit)
        case Send(requests, why):
            return _send(visit, requests, why)
        case Await(what):
            return _await(visit, what)
        case Standing(server):
            return standing(found, made(found).resolved, visit.inventory, server, now=now)
        case Stuck(reason, message):
            ready = condition(INSTANCE_READY, False, reason, message)
            progress = condition(PROGRESSING, False, Reason.UNRECOVERABLE_ERROR, message)
            return Plan.of(tell(found, ready, progress, now=now, fields=_resources(visit)), alarm(found, ready))
    return _vanished(visit)


def step_of(seen: Snapshot, found: Present[OpenStackServer], cloud: Cloud) -> Step | None:
    """What comes next; None: something has to be resolved first."""
    inventory = cloud.inventory
    if inventory is None:
        return None
    if cloud.awaited:
        return Await(cloud.awaited)
    whole = made(found)
    intent = intent_of(found, whole.resolved)
    if intent is None or not isinstance(whole.spec, InstanceSpec) or whole.resolved is None:
        return next_adoption(
            inventory, recorded=recorded(found), project=cloud.project, mark=mark_of(found), former=cloud.former
        )
    user_data = seen.user_data if isinstance(seen.user_data, str) else ""
    return next_step(
        whole.spec,
        whole.resolved,
        inventory,
        recorded=recorded(found),
        project=cloud.project,
        intent=intent,
        extensions=cloud.extensions,
        user_data=user_data,
        former=cloud.former,
    )


def _resolve(visit: ServerVisit) -> Plan:
    found, now = visit.found, visit.now
    spec = made(found).spec
    resolved = resolve(spec, visit.cloud.answers) if isinstance(spec, InstanceSpec) else spec
    if isinstance(resolved, Resolved):
        intent = None if is_intended(found) else intend(found, visit.seen.fresh_mark)
        return Plan.of(intent, going_on(found, WAITING, now=now, fields={"resolved": to_status(resolved)}))
    trouble, until = unresolved(found, resolved, visit.cloud.answered or now, timing=visit.timing)
    return in_the_way(found, trouble, until, now=now)


def unresolved(
    found: Present[OpenStackServer], problems: Sequence[Problem | CloudFailure], asked: datetime, *, timing: Timing
) -> tuple[Told, datetime]:
    """The trouble of a spec that cannot be resolved, and when the cloud is asked again."""
    trouble = told_of_problems(problems, delays=timing.delays)
    return trouble, trouble.due(asked, since=trouble_since(found.object.status.conditions, trouble.type))


def _send(visit: ServerVisit, requests: Sequence[CloudRequest], why: str) -> Plan:
    ready, starved = _with_user_data(visit, requests)
    sending = admit(ready, visit)
    if sending.now and not sending.later:
        return Plan.of(*calls(visit.found, sending.now, why))
    plan = Plan.nothing().then(RequeueAfter(SOON, "send the rest"))
    if (first := sending.first or starved) is not None:
        told = in_the_way(visit.found, first.told, first.until, now=visit.now, held=first, fields=_resources(visit))
        return told.then(plan.next) if sending.now else told
    return plan


def _with_user_data(visit: ServerVisit, requests: Sequence[CloudRequest]) -> tuple[list[CloudRequest], Held | None]:
    """The requests that may be made: a server is not created without the user data that it asks for."""
    user_data = visit.seen.user_data
    if visit.found.object.spec.user_data_ref is None or isinstance(user_data, str):
        return list(requests), None
    others = [request for request in requests if not isinstance(request, CreateServer)]
    waits = next((request for request in requests if isinstance(request, CreateServer)), None)
    if waits is None:
        return others, None
    problem = user_data or Problem("Dependency", "userDataRef", "the user data has not been read yet")
    about = told_of_problems([problem], delays=visit.timing.delays)
    return others, Held(waits, about.due(visit.now, since=visit.since), about)


def _await(visit: ServerVisit, what: str) -> Plan:
    plan = Plan.of(going_on(visit.found, what, now=visit.now, fields=_resources(visit)))
    if not visit.inventory.certain:
        return plan.then(RequeueAfter(visit.inventory.certain_in + SOON, what))
    began = trouble_since(visit.found.object.status.conditions, PROGRESSING, "True") or visit.now
    return plan.then(RequeueAfter(min(max((visit.now - began).total_seconds() / 4, 1.0), 10.0), what))


def _vanished(visit: ServerVisit) -> Plan:
    """The recorded server is missing. It may be a mistake of the cloud, so it has to be missing twice."""
    left = visit.timing.lost - visit.inventory.missing_for.total_seconds()
    if left > 0:
        return Plan.nothing().then(RequeueAfter(left, "the server is missing: look again"))
    gone = f"The server was unexpectedly deleted: {recorded(visit.found).server} does not exist any more"
    ready = condition(INSTANCE_READY, False, Reason.INSTANCE_NOT_FOUND, gone)
    text = f"{gone}. Delete this object to replace it"
    progress = condition(PROGRESSING, False, Reason.UNRECOVERABLE_ERROR, text)
    fields = {"ready": False, "instanceState": LOST}
    return Plan.of(tell(visit.found, ready, progress, now=visit.now, fields=fields), alarm(visit.found, ready))


def refuse(found: Present[OpenStackServer], problems: Sequence[Problem], *, now: datetime) -> Plan:
    """The spec is wrong, which needs no cloud to see. It cannot be changed, so nothing is tried again."""
    text = "; ".join(problem.message for problem in problems)
    about = invalid(text)
    stop = condition(PROGRESSING, False, Reason.INVALID_CONFIGURATION, text)
    return Plan.of(write(found, (about.condition, stop, NOT_DELETING, NOT_PAUSED), now=now))


def _resources(visit: ServerVisit) -> dict[str, Any]:
    return made_of(made(visit.found).resolved, visit.inventory)
