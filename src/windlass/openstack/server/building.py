"""From choices to a standing server: resolve, persist the intent, create, and tell.

| situation | what is done |
|---|---|
| neither choices nor a server | resolve, then store finalizer, mark and choices together |
| choices, but no finalizer or mark (an object of the OpenStack provider) | store both |
| finalizer, mark and choices are stored | what the instance core says: send, wait, tell |
| a server is known, and no choices (a moved object, an adopted server) | mark what belongs to it, and tell |
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import condition
from windlass.kube.control.plan import Plan, RequeueAfter
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Inventory
from windlass.openstack.cloud.requests import CloudRequest, CreateServer
from windlass.openstack.instance.next import next_step
from windlass.openstack.instance.resolve import resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.step import Await, Send, Standing, Step, Stuck
from windlass.openstack.objects import intend, is_held, mark_of
from windlass.openstack.server.adopting import adopt
from windlass.openstack.server.resolved import to_status
from windlass.openstack.server.sending import Held, admit, calls
from windlass.openstack.server.snapshot import (
    Cloud,
    Snapshot,
    Timing,
    intent_of,
    made,
    recorded,
)
from windlass.openstack.server.telling import AUTHENTIC, WAITING, going_on, in_the_way, made_of, standing, write
from windlass.openstack.status import INSTANCE_READY, NOT_DELETING, NOT_PAUSED, PROGRESSING, Reason
from windlass.openstack.trouble import Told, invalid, told_of_problems, trouble_since

SOON: Final = 0.2
"""Seconds until the rest is sent, after a request of the same attempt failed."""


def is_intended(found: Present[OpenStackServer]) -> bool:
    return bool(mark_of(found)) and is_held(found)


def has_choices(found: Present[OpenStackServer]) -> bool:
    """A server is recorded, or all choices are: nothing has to be resolved, whatever the spec says."""
    return bool(recorded(found).server) or made(found).resolved is not None


def build(seen: Snapshot, found: Present[OpenStackServer], cloud: Cloud, *, now: datetime, timing: Timing) -> Plan:
    """What to do about an object that is neither paused nor being deleted, with access to its cloud."""
    step = step_of(seen, found, cloud)
    match step:
        case None:
            return _resolve(seen, found, cloud, now=now, timing=timing)
        case Send(requests=requests, why=why):
            return _send(seen, found, cloud, requests, why, now=now, timing=timing)
        case Await(what=what):
            return _await(found, cloud, what, now=now)
        case Standing(server=server):
            return standing(found, made(found).resolved, _inventory(cloud), server, now=now)
        case Stuck(reason=reason, message=message):
            return _stuck(found, cloud, reason, message, now=now)
    return _vanished(found, _inventory(cloud), now=now, timing=timing)


def step_of(seen: Snapshot, found: Present[OpenStackServer], cloud: Cloud) -> Step | None:
    """What comes next; None: something has to be resolved first."""
    inventory = cloud.inventory
    if inventory is None:
        return None
    whole = made(found)
    intent = intent_of(found, whole.resolved)
    if intent is None or not isinstance(whole.spec, InstanceSpec) or whole.resolved is None:
        return adopt(inventory, recorded(found), project=cloud.project, mark=mark_of(found))
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
    )


def _resolve(seen: Snapshot, found: Present[OpenStackServer], cloud: Cloud, *, now: datetime, timing: Timing) -> Plan:
    spec = made(found).spec
    resolved = resolve(spec, cloud.answers) if isinstance(spec, InstanceSpec) else spec
    if isinstance(resolved, Resolved):
        intent = None if is_intended(found) else intend(found, seen.fresh_mark)
        return Plan.of(intent, going_on(found, WAITING, now=now, fields={"resolved": to_status(resolved)}))
    trouble, until = unresolved(found, resolved, cloud.answered or now, timing=timing)
    return in_the_way(found, trouble, until, now=now)


def unresolved(
    found: Present[OpenStackServer], problems: Sequence[Problem | CloudFailure], asked: datetime, *, timing: Timing
) -> tuple[Told, datetime]:
    """The trouble of a spec that cannot be resolved, and when the cloud is asked again."""
    trouble = told_of_problems(problems, delays=timing.delays)
    return trouble, trouble.due(asked, since=trouble_since(found.object.status.conditions, trouble.type))


def _send(
    seen: Snapshot,
    found: Present[OpenStackServer],
    cloud: Cloud,
    requests: Sequence[CloudRequest],
    why: str,
    *,
    now: datetime,
    timing: Timing,
) -> Plan:
    since = trouble_since(found.object.status.conditions)
    ready, starved = _with_user_data(seen, found, requests, since, now=now, timing=timing)
    sending = admit(ready, cloud, seen.last, since=since, now=now, delays=timing.delays)
    if sending.now and not sending.later:
        return Plan.of(*calls(found, sending.now, why))
    resources = made_of(made(found).resolved, _inventory(cloud))
    if (first := sending.first or starved) is not None:
        plan = in_the_way(found, first.told, first.until, now=now, held=first, fields=resources)
        return plan.then(RequeueAfter(SOON, "send the rest")) if sending.now else plan
    return Plan.nothing().then(RequeueAfter(SOON, "send the rest"))


def _with_user_data(
    seen: Snapshot,
    found: Present[OpenStackServer],
    requests: Sequence[CloudRequest],
    since: datetime | None,
    *,
    now: datetime,
    timing: Timing,
) -> tuple[list[CloudRequest], Held | None]:
    """The requests that may be made: a server is not created without the user data that it asks for."""
    if found.object.spec.user_data_ref is None or isinstance(seen.user_data, str):
        return list(requests), None
    others = [request for request in requests if not isinstance(request, CreateServer)]
    waits = next((request for request in requests if isinstance(request, CreateServer)), None)
    if waits is None:
        return others, None
    problem = seen.user_data or Problem("Dependency", "userDataRef", "the user data has not been read yet")
    about = told_of_problems([problem], delays=timing.delays)
    return others, Held(waits, about.due(now, since=since), about)


def _await(found: Present[OpenStackServer], cloud: Cloud, what: str, *, now: datetime) -> Plan:
    inventory = _inventory(cloud)
    merge = going_on(found, what, now=now, fields=made_of(made(found).resolved, inventory))
    if not inventory.certain:
        return Plan.of(merge).then(RequeueAfter(inventory.certain_in + SOON, what))
    began = trouble_since(found.object.status.conditions, PROGRESSING, "True") or now
    wait = min(max((now - began).total_seconds() / 4, 1.0), 10.0)
    return Plan.of(merge).then(RequeueAfter(wait, what))


def _stuck(found: Present[OpenStackServer], cloud: Cloud, reason: str, message: str, *, now: datetime) -> Plan:
    told = (
        AUTHENTIC,
        condition(INSTANCE_READY, False, reason, message),
        condition(PROGRESSING, False, Reason.UNRECOVERABLE_ERROR, message),
        NOT_DELETING,
        NOT_PAUSED,
    )
    return Plan.of(write(found, told, now=now, fields=made_of(made(found).resolved, _inventory(cloud))))


def _vanished(found: Present[OpenStackServer], inventory: Inventory, *, now: datetime, timing: Timing) -> Plan:
    """The recorded server is missing. It may be a mistake of the cloud, so it has to be missing twice."""
    began = inventory.missing_since or now
    seen_again = (inventory.as_of or now) - began
    if seen_again < timedelta(seconds=timing.lost):
        wait = timing.lost - max(seen_again.total_seconds(), 0.0)
        return Plan.nothing().then(RequeueAfter(wait, "the server is missing: look again"))
    gone = f"The server was unexpectedly deleted: {recorded(found).server} does not exist any more"
    told = (
        AUTHENTIC,
        condition(INSTANCE_READY, False, Reason.INSTANCE_NOT_FOUND, gone),
        condition(PROGRESSING, False, Reason.UNRECOVERABLE_ERROR, f"{gone}. Delete this object to replace it"),
        NOT_DELETING,
        NOT_PAUSED,
    )
    return Plan.of(write(found, told, now=now, fields={"ready": False, "instanceState": "DELETED"}))


def refuse(found: Present[OpenStackServer], problems: Sequence[Problem], *, now: datetime) -> Plan:
    """The spec is wrong, which needs no cloud to see. It cannot be changed, so nothing is tried again."""
    text = "; ".join(problem.message for problem in problems)
    about = invalid(text)
    stop = condition(PROGRESSING, False, Reason.INVALID_CONFIGURATION, text)
    return Plan.of(write(found, (about.condition, stop, NOT_DELETING, NOT_PAUSED), now=now))


def _inventory(cloud: Cloud) -> Inventory:
    return cloud.inventory or Inventory()
