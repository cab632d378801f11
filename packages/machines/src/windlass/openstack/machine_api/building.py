"""From a Machine to its server: resolve, create, store its ID, and tell.

Nothing that is resolved is stored: until a server exists, the provider spec is resolved again. From then on it does not
matter any more, and the server is known by `spec.providerID`.

| the cloud | what is done |
|---|---|
| has no server | what the instance core says; a server group that is missing is created |
| has the server, and somebody removed the finalizer of the Machine | the finalizer is added again |
| has the server | providerID, labels and annotations are stored, then addresses and phase |
| does not have the server that providerID names, twice | phase Failed: no other one is made |
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.mapi import Machine
from windlass.api.meta import tree
from windlass.kube.conditions import condition
from windlass.kube.control.plan import Emit, Merge, Plan, RequeueAfter, target
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.requests import CreateServerGroup
from windlass.openstack.cloud.resources import Server
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION
from windlass.openstack.instance.foreign import foreign, is_replaced, namesake, stopped
from windlass.openstack.instance.next import next_adoption, next_step
from windlass.openstack.instance.resolve import resolve
from windlass.openstack.instance.spec import InstanceSpec, Problem, Resolved
from windlass.openstack.instance.state import addresses, verdict
from windlass.openstack.instance.step import Await, Send, Standing, Step, Stuck, Vanished
from windlass.openstack.machine_api.conditions import EXISTS, MISSING, NOT_CREATED, failure_event, write
from windlass.openstack.machine_api.constants import (
    ID_ANNOTATION,
    INSTANCE_TYPE_LABEL,
    LEGACY_ANNOTATION,
    REGION_LABEL,
    STATE_ANNOTATION,
    ZONE_LABEL,
)
from windlass.openstack.machine_api.floating_ip import next_floating
from windlass.openstack.machine_api.provider_spec import provider_spec
from windlass.openstack.machine_api.snapshot import (
    FAILED,
    PROVISIONED,
    PROVISIONING,
    RUNNING,
    MachineVisit,
    intent_of,
    recorded,
    spec_of,
)
from windlass.openstack.objects import event, intend, is_held
from windlass.openstack.sending import THE_REST, at, calls
from windlass.openstack.server.holding import hold
from windlass.openstack.server.sending import admit, look_again
from windlass.openstack.status import AUTHENTIC, INSTANCE_READY, PROGRESSING, Reason, dead_end, progressing
from windlass.openstack.trouble import Trouble, invalid, trouble_of_problems

LOST: Final = "can't find created instance"
_ADOPTING: Final = "set its spec.providerID to openstack:///ID"
_UNKNOWN: Final = "Unknown"
"""The state of a server of a Machine that has failed."""


def build(visit: MachineVisit) -> Plan:
    """What to do about a Machine that is neither paused nor being deleted, with access to its cloud."""
    found = visit.found
    if is_replaced(visit.inventory, visit.ownership, recorded=recorded(found)) and not visit.cloud.awaited:
        return hold(visit)
    match step_of(visit):
        case Send(requests, why):
            missing = visit.seen.user_data
            sending = admit(requests, visit, without=missing if isinstance(missing, Problem) else None)
            return sending.plan(found, why, deferred=lambda wait: _in_the_way(visit, wait.trouble, wait.until))
        case Await(what):
            waiting = condition(INSTANCE_READY, None, Reason.INSTANCE_NOT_READY, what)
            told = (AUTHENTIC, NOT_CREATED, waiting, progressing(what))
            return Plan.of(write(found, told, phase=PROVISIONING, now=visit.now)).then(look_again(visit, what))
        case Standing() if not is_held(found):  # a deletion would leave the server where it is
            return Plan.of(intend(found, visit.mark))
        case Standing(server):
            return _with_floating_ip(visit, server, _standing(visit, server))
        case Stuck(reason, message):
            stop = dead_end(reason, message)
            news = failure_event(found, "Create", stop[0])
            return Plan.of(write(found, (AUTHENTIC, NOT_CREATED, *stop), now=visit.now), news)
        case Vanished():
            return _vanished(visit)
        case problems:
            return _unresolved(visit, problems)


def step_of(visit: MachineVisit) -> Step | tuple[Problem | CloudFailure, ...]:
    """What comes next, or why the provider spec cannot be resolved."""
    found, cloud, known = visit.found, visit.cloud, recorded(visit.found)
    if cloud.awaited:
        return Await(cloud.awaited)
    if (theirs := foreign(visit.inventory, visit.ownership, recorded=known)) is not None:
        named_by = "spec.providerID" if known.server else f"the annotation {MACHINE_MARK_ANNOTATION}"
        return stopped(theirs, visit.ownership, giving_up=f"remove {named_by}")
    if cloud.namesakes:
        return namesake(found.metadata.name, cloud.namesakes, adopting=_ADOPTING)
    formers = cloud.formers
    there = next_adoption(visit.inventory, recorded=known, project=cloud.project, mark=visit.mark, formers=formers)
    if known.server:
        return there or Vanished()
    spec, intent = spec_of(visit.seen, found), intent_of(found)
    if intent is None:  # what a restored Machine had gets its mark before its annotation does
        return there if isinstance(there, Send) else Await("the finalizer and the mark")
    resolved = resolve(spec, cloud.answers) if isinstance(spec, InstanceSpec) else spec
    if isinstance(spec, InstanceSpec) and isinstance(resolved, Resolved):
        return next_step(
            spec,
            resolved,
            visit.inventory,
            project=cloud.project,
            intent=intent,
            extensions=cloud.extensions,
            user_data=visit.seen.user_data if isinstance(visit.seen.user_data, str) else "",
            formers=formers,
        )
    if there is not None:  # it is made already: whether its image still exists does not matter
        return there
    group = missing_group(spec, visit) if isinstance(spec, InstanceSpec) else None
    if group is not None:
        return Send((group,), "a server group of that name is wanted")
    assert not isinstance(resolved, Resolved)
    return resolved


def missing_group(spec: InstanceSpec, visit: MachineVisit) -> CreateServerGroup | None:
    """The request for the server group, if all that is in the way is that none has its name."""
    group = spec.server_group
    if group is None or group.id or visit.cloud.answers.get(group) != ():
        return None
    others = resolve(replace(spec, server_group=None), visit.cloud.answers)
    if not isinstance(others, Resolved):
        return None
    return CreateServerGroup(project=visit.cloud.project, mark=visit.mark, subject=dict(group.filters)["name"])


def fail(found: Present[Machine], problems: Sequence[Problem], *, now: datetime) -> Plan:
    """The object is wrong, which needs no cloud to see: phase Failed, for ever."""
    text = "; ".join(problem.message for problem in problems)
    ready = invalid(text).condition
    stop = condition(PROGRESSING, False, Reason.INVALID_CONFIGURATION, text)
    fields = {"errorReason": "InvalidConfiguration", "errorMessage": text}
    merge = write(found, (NOT_CREATED, ready, stop), phase=FAILED, now=now, fields=fields)
    return Plan.of(_annotated(found, _UNKNOWN), merge, event(found, "FailedCreate", text, warning=True))


def _unresolved(visit: MachineVisit, problems: Sequence[Problem | CloudFailure]) -> Plan:
    about = trouble_of_problems(problems, delays=visit.timing.delays)
    asked = visit.cloud.answered or visit.now
    return _in_the_way(visit, about, about.due(asked, since=visit.since))


def _in_the_way(visit: MachineVisit, trouble: Trouble, until: datetime) -> Plan:
    """A trouble as conditions, and as an Event when it is new; the next look is at `until`. The phase stays."""
    there = EXISTS if recorded(visit.found).server else NOT_CREATED
    told = (trouble.condition, trouble.progress(until), there)
    merge = write(visit.found, told, now=visit.now)
    news = failure_event(visit.found, "Update" if there is EXISTS else "Create", trouble.condition)
    return Plan.of(merge, news).then(at(until, trouble.message, now=visit.now))


def _standing(visit: MachineVisit, server: Server) -> Plan:
    """The server exists: its ID, then its state and its addresses."""
    found, says = visit.found, verdict(server)
    status = found.object.status
    message = (
        "Instance is building" if says.building else says.message
    )  # without its tasks, which would be a write each
    ready = condition(INSTANCE_READY, says.ready, says.reason, message)
    if says.building:
        progress = progressing(message)
    elif says.ready:
        progress = condition(PROGRESSING, False, Reason.SUCCESS)
    else:
        progress = condition(PROGRESSING, False, says.reason, message)
    fields: dict[str, Any] = {"errorReason": None, "errorMessage": None}
    if server.addresses:
        fields["addresses"] = _addresses(server, found.metadata.name)
    merge = write(
        found,
        (AUTHENTIC, EXISTS, ready, progress),
        phase=PROVISIONED if status.node_ref is None else RUNNING,
        now=visit.now,
        fields=fields,
    )
    plan = Plan.of(
        _stored(visit, server), merge, *_news(visit, server), None if says.building else _broken(visit, ready)
    )
    if says.building:
        return plan.then(RequeueAfter(10.0, "the server is building"))
    return plan if says.ready else plan.then(RequeueAfter(60.0, says.message))


def _with_floating_ip(visit: MachineVisit, server: Server, plan: Plan) -> Plan:
    """The plan, and what comes next for the floating IP that the Machine asks for. Without it the server is ready."""
    step = next_floating(visit, server)
    if step is None or any(action.needed for action in plan.actions if not isinstance(action, Emit)):
        return plan
    if isinstance(step, AssociateFloatingIp):
        sending = admit((step,), visit)
        if sending.now and not sending.later:
            return Plan.of(*calls(visit.found, sending.now, "the Machine asks for the address"))
        about = sending.first.trouble if sending.first is not None else None
    else:
        about = trouble_of_problems([step], delays=visit.timing.delays)
    if about is None:
        return plan.then(THE_REST)
    news = event(visit.found, "FailedUpdate", about.message, warning=True)
    return Plan.of(news).then(RequeueAfter(about.limits.first, about.message))


def _stored(visit: MachineVisit, server: Server) -> Merge:
    """The ID of the server, and what the Machine API shows of it in labels and annotations."""
    found = visit.found
    meta, spec = found.metadata, found.tree.get("spec") or {}
    observed = {
        "metadata": {"labels": dict(meta.labels), "annotations": dict(meta.annotations)},
        "spec": {"providerID": spec.get("providerID")} if spec.get("providerID") else {},
    }
    annotations = {name: value for name, value in meta.annotations.items() if name != LEGACY_ANNOTATION}
    shown = {ID_ANNOTATION: server.id, STATE_ANNOTATION: server.status or "BUILD"}
    return Merge(
        target=target(found),
        observed=observed,
        desired={
            "metadata": {"labels": _labels(visit, server), "annotations": {**annotations, **shown}},
            "spec": {"providerID": spec.get("providerID") or f"openstack:///{server.id}"},
        },
        why="the server exists",
    )


def _labels(visit: MachineVisit, server: Server) -> dict[str, str]:
    """Region, zone and flavor, once the zone is known. They stay once all three are set."""
    there = dict(visit.found.metadata.labels)
    given = provider_spec(visit.found.object)
    if not server.zone or isinstance(given, Problem):
        return there
    if all(there.get(label) for label in (REGION_LABEL, ZONE_LABEL, INSTANCE_TYPE_LABEL)):
        return there
    return {**there, REGION_LABEL: visit.cloud.region, ZONE_LABEL: server.zone, INSTANCE_TYPE_LABEL: given.flavor}


def _addresses(server: Server, name: str) -> list[Any]:
    *of_networks, _ = [tree(each) for each in addresses(server)]
    return [*of_networks, {"type": "Hostname", "address": name}, {"type": "InternalDNS", "address": name}]


def _news(visit: MachineVisit, server: Server) -> list[Emit]:
    found = visit.found
    if not recorded(found).server:
        return [event(found, "Created", f"Created OpenStack instance {server.id}")]
    state = server.status or "BUILD"
    if found.metadata.annotations.get(STATE_ANNOTATION) in (state, None):
        return []
    return [event(found, "Updated", f"Updated Machine {found.metadata.name}", occasion=state)]


def _broken(visit: MachineVisit, ready: Any) -> Emit | None:
    """An Event of a server that is in ERROR, or was deleted, when that is new."""
    return failure_event(visit.found, "Update", ready) if ready.status == "False" else None


def _vanished(visit: MachineVisit) -> Plan:
    """The server is missing. It may be a mistake of the cloud, so it has to be missing twice."""
    found = visit.found
    left = visit.timing.lost - visit.inventory.missing_for.total_seconds()
    if left > 0:
        return Plan.nothing().then(RequeueAfter(left, "the server is missing: look again"))
    gone = f"The server was unexpectedly deleted: {recorded(found).server} does not exist any more"
    ready, progress = dead_end(Reason.INSTANCE_NOT_FOUND, gone, remedy="Delete the Machine to replace it")
    told = (AUTHENTIC, MISSING, ready, progress)
    merge = write(found, told, phase=FAILED, now=visit.now, fields={"errorReason": None, "errorMessage": LOST})
    return Plan.of(_annotated(found, _UNKNOWN), merge, failure_event(found, "Update", ready))


def _annotated(found: Present[Machine], state: str) -> Merge:
    annotations = dict(found.metadata.annotations)
    return Merge(
        target=target(found),
        observed={"metadata": {"annotations": annotations}},
        desired={"metadata": {"annotations": {**annotations, STATE_ANNOTATION: state}}},
        why="nobody knows the state of its server any more",
    )
