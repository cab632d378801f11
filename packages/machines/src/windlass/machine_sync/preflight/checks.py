"""The checks of a pre-flight. Each yields the answers that are worse than yes, with a text that says what to do."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.control.seen import Absent, NotServedKind, Present, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MIGRATING, PAUSED_ANNOTATION
from windlass.machine_sync.conversion import (
    machine_set_to_cluster_api,
    machine_set_to_machine_api,
    to_cluster_api,
    to_machine_api,
)
from windlass.machine_sync.conversion.field_errors import too_many
from windlass.machine_sync.machine_set import selectors
from windlass.machine_sync.mirroring import taints
from windlass.machine_sync.mirroring.migration import AUTHORITY_CHANGED
from windlass.machine_sync.mirroring.move import PAUSED
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED
from windlass.machine_sync.preflight.report import (
    SIDE,
    Answer,
    Answers,
    Candidate,
    Check,
    Hidden,
    Look,
    Trial,
    Tried,
    hidden,
    there,
)

# Checks whether the object can be converted for the new authority, and mirrored back afterwards.
#
# The current objects are converted in both directions. A field that the new authority would lose is a warning. A field
# that only the mirror would lose is not reported, since nobody writes there.


def convertible(candidate: Candidate, found: Any) -> Answers:
    to_cluster, to_machine = list(_towards_cluster_api(candidate, found)), list(_towards_machine_api(candidate))
    forth, back = (to_cluster, to_machine) if candidate.target == CLUSTER_API else (to_machine, to_cluster)
    yield from forth
    if candidate.target == CLUSTER_API:
        yield from _taints(candidate, found)
    for answer, text in back:
        if answer is Answer.NO:
            yield answer, f"{SIDE[candidate.source]} could not mirror it afterwards: {text}"


def _taints(candidate: Candidate, found: Any) -> Answers:
    """Conversion knows taints, but it does not know whether Cluster API takes them: the mirror shows it."""
    mirror = there(candidate.cluster_api)
    if mirror is None:
        # `infrastructure` says why.
        return
    ours, theirs = (
        one.spec.template.spec.taints if candidate.kind is mapi.MachineSet else one.spec.taints
        for one in (found, mirror)
    )
    if lost := taints.lost(ours, theirs):
        yield Answer.NO, lost
    if added := taints.added(ours, theirs):
        yield Answer.WARNING, added


def _towards_cluster_api(candidate: Candidate, found: Any) -> Answers:
    if why := hidden(candidate.infrastructure):
        yield Answer.UNKNOWN, f"Infrastructure cluster cannot be read: {why}"
        return
    infrastructure = there(candidate.infrastructure)
    cluster = UNSET if hidden(candidate.infra_cluster) else there(candidate.infra_cluster)
    if candidate.kind is mapi.MachineSet:
        in_set = machine_set_to_cluster_api(found, infrastructure, infra_cluster=cluster)
        yield from _answers(in_set.errors, in_set.remarks)
        return
    converted = to_cluster_api(found, infrastructure, infra_cluster=cluster)
    yield from _answers(converted.errors, converted.remarks)


def _towards_machine_api(candidate: Candidate) -> Answers:
    source = there(candidate.cluster_api)
    if source is None:
        # `infrastructure` says why.
        return
    for look, what in ((candidate.infra, "what it refers to"), (candidate.infra_cluster, "the infrastructure cluster")):
        if why := hidden(look):
            yield Answer.UNKNOWN, f"{what} cannot be read: {why}"
            return
    infra, infra_cluster = there(candidate.infra), there(candidate.infra_cluster)
    infrastructure = there(candidate.infrastructure)
    if candidate.kind is mapi.MachineSet:
        in_set = machine_set_to_machine_api(source, infra, infra_cluster, infrastructure=infrastructure)
        yield from _answers(in_set.errors, in_set.remarks)
        return
    converted = to_machine_api(source, infra, infra_cluster, infrastructure=infrastructure)
    yield from _answers(converted.errors, converted.remarks)


def _answers(errors: Iterable[str], warnings: Iterable[str]) -> Answers:
    for text in dict.fromkeys(errors):
        yield Answer.NO, text
    for text in dict.fromkeys(warnings):
        yield Answer.WARNING, text


def _authority(candidate: Candidate, found: Any) -> Answers:
    status, spec, target = found.status.authoritative_api, found.spec.authoritative_api, candidate.target
    if status == target and spec == target:
        yield from _there(found)
    elif status == target:
        yield Answer.NOTE, f"a migration to {SIDE[candidate.source]} was asked for and has not begun: it is withdrawn"
    elif status == MIGRATING:
        yield from _halfway(candidate, found)
    elif not status:
        text = "status.authoritativeAPI is empty, so no controller has processed it yet"
        yield Answer.NO, f"{text}: make sure that the Machine API's controllers or Machine sync run"
    elif spec == target:
        yield Answer.NOTE, f"the migration to {SIDE[target]} was asked for and has not begun"
    if isinstance(found, mapi.MachineSet) and target == MACHINE_API:
        yield from _what_it_makes(found)


def _what_it_makes(found: mapi.MachineSet) -> Answers:
    if found.spec.template.spec.authoritative_api == CLUSTER_API:
        text = "machines that it makes get the authority ClusterAPI even so"
        yield Answer.NOTE, f"{text}: spec.template.spec.authoritativeAPI says it"


def _there(found: Any) -> Answers:
    told = condition(found, SYNCHRONIZED)
    if told is None:
        yield Answer.WARNING, "it is there, but nobody has set the condition Synchronized: is Machine sync running?"
    elif told.status == "False":
        yield Answer.WARNING, f"it is there, but not synchronized: {_said(told)}"


def _halfway(candidate: Candidate, found: Any) -> Answers:
    to, origin = found.spec.authoritative_api, found.status.synchronized_api
    old = origin or (MACHINE_API if to == CLUSTER_API else CLUSTER_API)
    if to == old:
        text = f"it is Migrating, on its way back to {SIDE[old]}"
    else:
        text = f"it is Migrating from {SIDE[old]} to {SIDE[to]}, {_paused_since(candidate, found, old)}"
    if to == candidate.target or origin == to:
        yield Answer.NOTE, text
    elif origin:
        yield Answer.NOTE, f"{text}: it goes back"
    else:
        yield Answer.NO, f"{text}, and status.synchronizedAPI does not say where it came from: let it end first"


def _paused_since(candidate: Candidate, found: Any, side: str) -> str:
    paused = _paused_condition(candidate, found, side)
    if paused is None or paused.status != "True":
        return f"{SIDE[side]} has not said yet that it is paused"
    since = f" since {paused.last_transition_time}" if paused.last_transition_time else ""
    return f"{SIDE[side]} is paused{since}"


def _deletion(candidate: Candidate, found: Any) -> Answers:
    if found.metadata.deletion_timestamp is not None:
        yield Answer.NO, "the Machine API is deleting it"
    other = candidate.cluster_api
    if isinstance(other, Present) and other.deleting:
        yield Answer.NO, "Cluster API is deleting it"


def _phase(candidate: Candidate, found: Any) -> Answers:
    if found.status.phase == "Provisioning":
        yield Answer.NO, "it is Provisioning: wait until it is Provisioned or Running"
    elif found.status.phase == "Failed":
        yield Answer.WARNING, "it is Failed, and stays Failed: the other API does not repair it"


def _owner(candidate: Candidate, found: Any) -> Answers:
    owners = found.metadata.owner_references
    if candidate.kind is mapi.MachineSet:
        if owners:
            yield Answer.NO, "MachineSets with owners cannot be converted: take metadata.ownerReferences off"
        return
    if len(owners) > 1:
        error = too_many("metadata.ownerReferences", len(owners), 1)
        yield Answer.NO, f"{error}: remove those of the Machine API's Machine except its controller's"
        return
    for owner in owners:
        if owner.kind == "ControlPlaneMachineSet":
            text = "conversion of control plane machines owned by control plane machine set is currently not supported"
            yield Answer.NO, text
        elif owner.kind != "MachineSet" or owner.api_version != mapi.MachineSet.RESOURCE.api_version:
            yield Answer.NO, f"its owner {owner.kind}/{owner.name} ({owner.api_version}) has no counterpart"
        elif isinstance(candidate.owner, Absent):
            yield Answer.WARNING, f"its owner machineset/{owner.name} does not exist"
        elif isinstance(candidate.owner, Present):
            theirs = candidate.owner.object.status.authoritative_api
            if theirs and theirs != candidate.target and not candidate.owner_moves:
                text = f"its owner machineset/{owner.name} has the authority {theirs}"
                yield Answer.NOTE, f"{text}: machines that it makes will have it too"


def _synchronized(candidate: Candidate, found: Any) -> Answers:
    told = condition(found, SYNCHRONIZED)
    if told is None:
        yield Answer.NO, "nobody has set the condition Synchronized: is Machine sync running?"
        return
    if told.status != "True":
        yield Answer.NO, f"condition Synchronized is {told.status or 'empty'}: {_said(told)}"
        return
    other = there(candidate.cluster_api)
    if isinstance(found, mapi.MachineSet) and other is not None:
        yield from ((Answer.NO, text) for text in selectors.difference(found, other))
    authority = found if candidate.source == MACHINE_API else there(candidate.cluster_api)
    # Without Cluster API's copy, `infrastructure` says no.
    if authority is not None and found.status.synchronized_generation != authority.metadata.generation:
        # A request is a new generation of its own: after it, Machine sync has to catch up in any case.
        text = f"up to generation {found.status.synchronized_generation} of {authority.metadata.generation}"
        yield Answer.NOTE, f"{text} of {SIDE[candidate.source]}'s: authority moves when Machine sync has caught up"


def _infrastructure(candidate: Candidate, found: Any) -> Answers:
    match candidate.cluster_api:
        case Present(object=other):
            provisioned = candidate.kind is not mapi.Machine or other.status.initialization.infrastructure_provisioned
            if not provisioned:
                text = "Cluster API's Machine does not say status.initialization.infrastructureProvisioned"
                yield Answer.NO, f"{text}: wait until there is an instance and Cluster API knows it"
        case Absent():
            text = f"Cluster API has no {candidate.kind.RESOURCE.kind} of this name"
            yield Answer.NO, f"{text}: Machine sync makes it as soon as it can"
        case Unreadable(why=why):
            yield Answer.NO, f"Cluster API's cannot be read: {why}; fix it with kubectl edit"
        case NotServedKind(why=why):
            yield Answer.NO, why
        case Hidden(why=why):
            yield Answer.UNKNOWN, why


def _paused(candidate: Candidate, found: Any) -> Answers:
    cluster = there(candidate.cluster)
    if cluster is not None and cluster.spec.paused:
        text = f"Cluster {cluster.metadata.name} is paused, so Cluster API acts on none of its machines"
        if candidate.target == CLUSTER_API:
            yield (
                Answer.WARNING,
                f"{text}, also not on this one after the move: set spec.paused of the Cluster to false",
            )
        else:
            yield Answer.NOTE, text
    who = who_is_paused(candidate, found)
    if who == "both":
        text = f"see who paused {SIDE[candidate.source]}"
        yield Answer.WARNING, f"both sides are paused, so nobody acts on it: {text}"
    elif who == "neither" and isinstance(candidate.cluster_api, Present):
        yield Answer.WARNING, "neither side is paused, so both act on it: make sure that Machine sync runs"
    if isinstance(candidate.cluster_api, Present) and _paused_condition(candidate, found, candidate.source) is None:
        text = f"{SIDE[candidate.source]} has no condition Paused on it"
        yield Answer.WARNING, f"{text}: if its controllers never set one, the migration waits for ever"


def _policies(candidate: Candidate, found: Any) -> Answers:
    match candidate.trial:
        case Trial(outcome=Tried.REFUSED, text=text):
            yield Answer.NO, text
        case Trial(outcome=Tried.NOT_ALLOWED, text=text):
            yield Answer.UNKNOWN, f"not asked: {text}"
        case Trial(outcome=Tried.NOT_ASKED) if found.spec.authoritative_api != candidate.target:
            yield Answer.UNKNOWN, f"not asked{': ' if candidate.trial.text else ''}{candidate.trial.text}"


CHECKS: dict[Check, Callable[[Candidate, Any], Answers]] = {
    Check.AUTHORITY: _authority,
    Check.DELETION: _deletion,
    Check.PHASE: _phase,
    Check.OWNER: _owner,
    Check.CONVERTIBLE: convertible,
    Check.SYNCHRONIZED: _synchronized,
    Check.INFRASTRUCTURE: _infrastructure,
    Check.PAUSED: _paused,
    Check.POLICIES: _policies,
}


def condition(found: Any, kind: str) -> Any:
    """The condition of this type, or None."""
    return next((one for one in found.status.conditions if one.type == kind), None)


def _said(told: Any) -> str:
    return ": ".join(text for text in (told.reason, told.message) if text) or "without a reason"


def waits_for_resync(found: Any) -> bool:
    """Authority has moved, and nothing has been synchronized from the new authority yet."""
    told = condition(found, SYNCHRONIZED)
    return told is not None and told.status == "Unknown" and told.reason == AUTHORITY_CHANGED.reason


def _paused_condition(candidate: Candidate, found: Any, side: str) -> Any:
    """The condition Paused as `side` reports it."""
    if side == MACHINE_API:
        return condition(found, PAUSED)
    other = candidate.cluster_api
    return condition(other.object, PAUSED) if isinstance(other, Present) else None


def who_is_paused(candidate: Candidate, found: Any) -> str:
    """The side that must pause: the Machine API by authority, Cluster API by annotation; or `both`, or `neither`."""
    machine_api = found.status.authoritative_api in (CLUSTER_API, MIGRATING)
    other = candidate.cluster_api
    cluster_api = isinstance(other, Present) and PAUSED_ANNOTATION in other.metadata.annotations
    if machine_api and cluster_api:
        return "both"
    return MACHINE_API if machine_api else CLUSTER_API if cluster_api else "neither"


def owning_set(machine: ObjectMeta) -> str:
    """The name of the MachineSet of the Machine API that owns a Machine; empty without one."""
    resource = mapi.MachineSet.RESOURCE
    for owner in machine.owner_references:
        if (owner.kind, owner.api_version) == (resource.kind, resource.api_version):
            return str(owner.name)
    return ""


def cluster_name(cluster_api: Look[Any], infrastructure: Look[Any]) -> str:
    """The name of the infra cluster: from the object, else from the cluster; empty if neither is known."""
    other, whole = there(cluster_api), there(infrastructure)
    return (other.spec.cluster_name if other is not None else "") or (
        whole.status.infrastructure_name if whole is not None else ""
    )


def infra_reference(found: capi.Machine | capi.MachineSet) -> capi.ContractReference:
    """The reference of a Cluster API Machine or MachineSet to its infra machine or template."""
    spec = found.spec.template.spec if isinstance(found, capi.MachineSet) else found.spec
    return spec.infrastructure_ref
