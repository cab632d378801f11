"""From choices to a standing server: resolve, persist the intent, create, and report.

| situation | what is done |
|---|---|
| the Image that it names is being made | wait |
| neither choices nor a server | resolve, then store finalizer, mark and choices together |
| choices, but no finalizer or mark (an object of the OpenStack provider) | store both |
| finalizer, mark and choices are stored | what the instance core says: send, wait, report |
| a server is known, and no choices (a moved object, an adopted server) | mark what belongs to it, and report |
| the Machine of the Machine API that had the server is still giving it up | wait |
| what it names, or what has its mark, belongs to another object | say whose it is, and stop (`instance.foreign`) |
| it was moved, restored or served by an earlier version | what it has gets its mark; then the object does |
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import condition, is_true
from windlass.kube.control.plan import Plan, RequeueAfter, WaitFor
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.instance.foreign import foreign, is_replaced, namesake, stopped
from windlass.openstack.instance.next import next_adoption, next_step
from windlass.openstack.instance.resolve import resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.step import Await, Send, Standing, Step, Stuck
from windlass.openstack.objects import intend, is_held, machine_of, mark_of
from windlass.openstack.owners import in_words as named
from windlass.openstack.ownership import claim_of
from windlass.openstack.sending import Deferred
from windlass.openstack.server.conditions import (
    LOST,
    WAITING,
    alarm,
    going_on,
    in_the_way,
    made_of,
    standing,
    write,
    write_answer,
)
from windlass.openstack.server.holding import hold
from windlass.openstack.server.image import name_of, waits_for, with_image
from windlass.openstack.server.resolved import to_status
from windlass.openstack.server.sending import admit, look_again
from windlass.openstack.server.snapshot import (
    ServerCloudFacts,
    ServerSnapshot,
    ServerVisit,
    Timing,
    adopted,
    adopts,
    current,
    intent_of,
    made,
    ownership,
    recorded,
)
from windlass.openstack.status import INSTANCE_READY, NOT_DELETING, NOT_PAUSED, PROGRESSING, Reason, dead_end
from windlass.openstack.trouble import Trouble, invalid, trouble_of_problems, trouble_since


def is_intended(found: Present[OpenStackServer]) -> bool:
    return bool(mark_of(found)) and is_held(found)


def has_choices(found: Present[OpenStackServer]) -> bool:
    """A server is recorded, or all choices are: nothing has to be resolved, whatever the spec says."""
    return bool(recorded(found).server) or made(found).resolved is not None


def build(visit: ServerVisit) -> Plan:
    """What to do about an object that is neither paused nor being deleted, with access to its cloud."""
    found, now = visit.found, visit.now
    if is_replaced(visit.inventory, visit.ownership, recorded=recorded(found)) and not visit.cloud.awaited:
        return hold(visit)
    if visit.cloud.awaited and is_true(found.object.status.conditions, INSTANCE_READY):
        return Plan().then(WaitFor(visit.cloud.awaited))  # it runs, and is told about again when it is ours
    match step_of(visit.seen, found, visit.cloud):
        case None:
            return _resolve(visit)
        case Send(requests, why):
            sending = admit(requests, visit, without=_without(visit))
            return sending.plan(found, why, deferred=partial(_in_the_way, visit))
        case Await(what):
            going = going_on(found, what, now=now, fields=_resources(visit))
            return Plan.of(going).then(look_again(visit, what))
        case Standing(server):
            return standing(found, current(found), visit.inventory, server, now=now)
        case Stuck(reason, message):
            ready, progress = dead_end(reason, message)
            return Plan.of(write_answer(found, ready, progress, now=now, fields=_resources(visit)), alarm(found, ready))
    return _vanished(visit)


def step_of(seen: ServerSnapshot, found: Present[OpenStackServer], cloud: ServerCloudFacts) -> Step | None:
    """What comes next; None: something has to be resolved first."""
    inventory = cloud.inventory
    if inventory is None:
        return None
    if cloud.awaited:
        return Await(cloud.awaited)
    if (stop := stranger(found, cloud, inventory)) is not None:
        return stop
    whole = made(found)
    intent = intent_of(found, whole.resolved)
    made_here = intent is not None and not adopts(found)  # what is adopted may have other parts than those of the spec
    if not made_here or intent is None or not isinstance(whole.spec, InstanceSpec) or whole.resolved is None:
        return next_adoption(
            inventory,
            recorded=recorded(found),
            project=cloud.project,
            mark=claim_of(found).mark,
            formers=cloud.formers,
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
        formers=cloud.formers,
        pairs=True,
    )


def stranger(found: Present[OpenStackServer], cloud: ServerCloudFacts, inventory: ServerInventory) -> Stuck | None:
    """The dead end where something belongs to another object; None if nothing does."""
    may = ownership(found, cloud)
    theirs = foreign(inventory, may, recorded=recorded(found))
    machine = machine_of(found)
    subject = {"subject": named(found)} if machine else {}
    if theirs is not None:
        return stopped(theirs, may, giving_up=_giving_up(found, machine), **subject)
    return namesake(found.metadata.name, cloud.namesakes, **subject) if cloud.namesakes else None


def _giving_up(found: Present[OpenStackServer], machine: str) -> str:
    """What a person does with an object that has the mark of another's server, or names it."""
    if machine and recorded(found).server:  # spec.providerID of a machine cannot be changed
        return f"delete OpenStackMachine {machine}, and create it without spec.providerID,"
    if found.object.status.instance_id:
        return "delete this object, which leaves the cloud as it is, and create it without its status"
    return f"remove the annotation {ADOPT_ANNOTATION if adopted(found) else MARK_ANNOTATION}"


def _resolve(visit: ServerVisit) -> Plan:
    found, now = visit.found, visit.now
    spec, image = made(found).spec, visit.seen.image
    if (name := name_of(found.object)) and image is None:
        waits = waits_for(f"{found.metadata.namespace}/{name}")
        return Plan.of(going_on(found, waits, now=now)).then(WaitFor(waits))
    resolved = resolve(with_image(spec, image), visit.cloud.answers) if isinstance(spec, InstanceSpec) else spec
    if isinstance(image, Problem):
        resolved = (image, *(() if isinstance(resolved, Resolved) else resolved))
    if isinstance(resolved, Resolved):
        intent = None if is_intended(found) else intend(found, mark_of(found) or visit.seen.fresh_mark)
        return Plan.of(intent, going_on(found, WAITING, now=now, fields={"resolved": to_status(resolved)}))
    trouble, until = unresolved(found, resolved, visit.cloud.answered or now, timing=visit.timing)
    return in_the_way(found, trouble, until, now=now)


def unresolved(
    found: Present[OpenStackServer], problems: Sequence[Problem | CloudFailure], asked: datetime, *, timing: Timing
) -> tuple[Trouble, datetime]:
    """The trouble of a spec that cannot be resolved, and when the cloud is asked again."""
    trouble = trouble_of_problems(problems, delays=timing.delays)
    return trouble, trouble.due(asked, since=trouble_since(found.object.status.conditions, trouble.type))


def _in_the_way(visit: ServerVisit, deferred: Deferred) -> Plan:
    return in_the_way(
        visit.found, deferred.trouble, deferred.until, now=visit.now, deferred=deferred, fields=_resources(visit)
    )


def _without(visit: ServerVisit) -> Problem | None:
    """Why the user data is missing; None if it is there, or none is wanted."""
    user_data = visit.seen.user_data
    if visit.found.object.spec.user_data_ref is None or isinstance(user_data, str):
        return None
    return user_data or Problem("Dependency", "userDataRef", "the user data has not been read yet")


def _vanished(visit: ServerVisit) -> Plan:
    """The recorded server is missing. It may be a mistake of the cloud, so it has to be missing twice."""
    found, server = visit.found, recorded(visit.found).server
    left = visit.timing.lost - visit.inventory.missing_for.total_seconds()
    by_hand = adopts(found) and not machine_of(found)
    if left > 0:
        looking = f"Looking for server {server}, which the annotation {ADOPT_ANNOTATION} names"
        told = going_on(found, looking, now=visit.now, fields=_resources(visit)) if by_hand else None
        return Plan.of(told).then(RequeueAfter(left, "the server is missing: look again"))
    gone = f"The server was unexpectedly deleted: {server} does not exist any more"
    remedy = "Delete this object to replace it"
    if by_hand:
        gone = f"The annotation {ADOPT_ANNOTATION} names server {server}, which the project does not have"
        remedy = "Correct the ID, as `openstack server list` prints it, or remove the annotation"
    ready, progress = dead_end(Reason.INSTANCE_NOT_FOUND, gone, remedy=remedy)
    fields = {"ready": False, "instanceState": LOST}
    return Plan.of(write_answer(found, ready, progress, now=visit.now, fields=fields), alarm(found, ready))


def refuse(found: Present[OpenStackServer], problems: Sequence[Problem], *, now: datetime) -> Plan:
    """The spec is wrong, which needs no cloud to see. It cannot be changed, so nothing is tried again."""
    text = "; ".join(problem.message for problem in problems)
    about = invalid(text)
    stop = condition(PROGRESSING, False, Reason.INVALID_CONFIGURATION, text)
    return Plan.of(write(found, (about.condition, stop, NOT_DELETING, NOT_PAUSED), now=now))


def _resources(visit: ServerVisit) -> dict[str, Any]:
    return made_of(made(visit.found).resolved, visit.inventory)
