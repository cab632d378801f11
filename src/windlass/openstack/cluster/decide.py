"""What to do about an OpenStackCluster. The rows, in order:

| situation | what is done |
|---|---|
| it does not exist, cannot be read, or is managed by others | nothing |
| it is paused, or its Cluster is | `Paused` says so |
| it is being deleted | wait until the Cluster has no Machines, then the finalizer goes |
| no Cluster owns it | wait |
| its finalizer is missing | it is added |
| the credentials fail | say so |
| fields ask for what is not supported, or the cloud lacks what they name | each condition says so |
| all is there | the endpoint is stored, then status and `provisioned`, once |

A part that was ready stays so while the cloud does not answer, for five minutes: restarting a service does not make
clusters unready.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.meta import Condition
from windlass.kube.conditions import condition, is_true
from windlass.kube.control.plan import (
    AddFinalizer,
    Merge,
    Plan,
    RequeueAfter,
    WaitFor,
    target,
)
from windlass.kube.control.seen import Present
from windlass.openstack import status
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cluster.network import (
    Found,
    endpoint,
    failure_domains,
    look_up,
    told_network,
    told_router,
)
from windlass.openstack.cluster.part import Obstacle
from windlass.openstack.cluster.snapshot import (
    Cloud,
    Snapshot,
    is_external,
)
from windlass.openstack.cluster.unsupported import left_in_cloud, unsupported
from windlass.openstack.constants import CLUSTER_FINALIZER
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.objects import event, is_held, is_paused, release, unseen
from windlass.openstack.status import (
    AUTHENTICATED,
    CLUSTER,
    CLUSTER_PARTS,
    DELETING,
    NOT_DELETING,
    NOT_PAUSED,
    PROGRESSING,
    RESTS,
    Reason,
    first_visit,
    unvisited,
)
from windlass.openstack.trouble import Told, invalid, lasting_since, told, told_of_identity, unmet

_NAMES = 5
"""Machines that a message names."""
_REST = 600.0
"""Seconds after which the cloud is asked again when all is well."""
_OVERDUE = 300.0
"""Seconds without an answer of the cloud after which a part that was there counts as missing."""


def decide(seen: Snapshot, *, now: datetime) -> Plan:
    """Pure: the rows of the module."""
    found = seen.infra
    if not isinstance(found, Present):
        return unseen(found, OpenStackCluster)
    plan = without_cloud(seen, found, now=now)
    if plan is not None:
        return plan
    match seen.cloud:
        case Cloud() as cloud:
            return _with_cloud(found, cloud, now=now)
        case IdentityTrouble() as trouble:
            return _troubled(found, [told_of_identity(trouble)], now, now=now)
        case CloudFailure() as failure:
            about = told(failure, doing="ask the cloud", part=AUTHENTICATED)
            return _troubled(found, [about], now, now=now)
    return Plan.nothing("the cloud has not been asked")


def without_cloud(seen: Snapshot, found: Present[OpenStackCluster], *, now: datetime) -> Plan | None:
    """The plan, if it follows without asking the cloud; else None."""
    if is_external(found):
        return Plan.nothing("it is managed by others")
    if is_paused(found, seen.cluster):
        return Plan.of(_write(found, (RESTS,), now=now, awaited="Paused"))
    if found.deleting:
        return _delete(seen, found, now=now)
    if not isinstance(seen.cluster, Present):
        what = "Waiting for Cluster API to set the Cluster as owner of this object"
        if seen.cluster is not None:
            what = f"Waiting for Cluster {found.metadata.namespace}/{seen.cluster_name}"
        return Plan.of(_write(found, (NOT_PAUSED, NOT_DELETING), now=now, awaited=what))
    finalizers = tuple(found.metadata.finalizers)
    first = None
    if unvisited(found, CLUSTER):
        ref = found.object.spec.identity_ref
        what = f"Waiting for the credentials in {ref.type or 'Secret'} {ref.name}" if ref else "Waiting for identityRef"
        first = _write(found, (NOT_PAUSED, NOT_DELETING), now=now, awaited=what)
    if first is None and is_held(found):
        return None
    why = "it stays until its Machines are gone"
    return Plan.of(first, AddFinalizer(target=target(found), observed=finalizers, finalizer=CLUSTER_FINALIZER, why=why))


def _delete(seen: Snapshot, found: Present[OpenStackCluster], *, now: datetime) -> Plan:
    if not is_held(found):
        return Plan.nothing("it is being deleted, and nothing of ours holds it")
    if seen.machines:
        names = ", ".join(seen.machines[:_NAMES]) + (", ..." if len(seen.machines) > _NAMES else "")
        text = f"Waiting for {len(seen.machines)} Machines of Cluster {seen.cluster_name} to go: {names}"
        waits = condition(DELETING, True, Reason.WAITING_FOR_MACHINES, text)
        goes_on = condition(PROGRESSING, True, Reason.PROGRESSING, text)
        return Plan.of(_write(found, (waits, goes_on, NOT_PAUSED), now=now, awaited=text)).then(
            WaitFor(f"the Machines of Cluster {seen.cluster_name} to go")
        )
    news = None
    if left := left_in_cloud(found.object):
        note = f"Made by an earlier provider and not deleted: {left}. Delete it by hand, if nothing else uses it"
        news = event(found, "LeftInCloud", note, warning=True)
    return Plan.of(news, release(found, "no Machine of its Cluster is left, and nothing was made for it"))


def _with_cloud(found: Present[OpenStackCluster], cloud: Cloud, *, now: datetime) -> Plan:
    spec = found.object.spec
    seen = look_up(spec, cloud.answers)
    wrong = unsupported(found.object)
    where = endpoint(spec, seen)
    obstacles = [Obstacle(part, Reason.INVALID_CONFIGURATION, text) for part, text in wrong.items()]
    obstacles += [*seen.obstacles, *([where] if isinstance(where, Obstacle) else ())]
    troubles = [_told(each) for each in obstacles]
    if locked_out := [each for each in troubles if each.type == AUTHENTICATED]:
        troubles = locked_out[:1]
    fields = _fields(found, seen)
    if not troubles and not isinstance(where, Obstacle):
        return _ready(found, where, fields, now=now)
    return _troubled(found, troubles, cloud.asked, now=now, fields=fields)


def _ready(found: Present[OpenStackCluster], where: tuple[str, int], fields: dict[str, Any], *, now: datetime) -> Plan:
    spec: dict[str, Any] = dict(found.tree.get("spec") or {})
    given = {"host": where[0], "port": where[1]}
    stored = Merge(
        target=target(found),
        observed={"spec": {"controlPlaneEndpoint": spec.get("controlPlaneEndpoint")}},
        desired={"spec": {"controlPlaneEndpoint": given}},
        why="Cluster API copies it when the cluster is provisioned",
    )
    if stored.needed:  # the status says which generation it is about
        return Plan.of(stored)
    rests = condition(PROGRESSING, False, Reason.SUCCESS)
    fields = {**fields, "initialization": {"provisioned": True}}
    merge = _write(found, (*_good(()), rests), now=now, fields=fields)
    return Plan.of(merge).then(RequeueAfter(_REST, "look whether the cloud has changed"))


def _troubled(
    found: Present[OpenStackCluster],
    troubles: list[Told],
    asked: datetime,
    *,
    now: datetime,
    fields: dict[str, Any] | None = None,
) -> Plan:
    """Each trouble in its condition; the first that is tried again tells when."""
    conditions = found.object.status.conditions
    due = {place: each.due(asked, since=lasting_since(conditions, each.type)) for place, each in enumerate(troubles)}
    first = min(due, key=lambda place: due[place])
    worst = next((each for each in troubles if not each.by_itself), troubles[first])
    firsts: dict[str, Told] = {}
    for each in troubles:
        firsts.setdefault(each.type, each)
    bad = [each.condition for each in firsts.values() if not _stays(found, each, now=now)]
    merge = _write(found, (*_good(troubles), *bad, worst.progress(due[first])), now=now, fields=fields)
    return Plan.of(merge).then(RequeueAfter(max((due[first] - now).total_seconds(), 0.05), worst.message))


def _stays(found: Present[OpenStackCluster], trouble: Told, *, now: datetime) -> bool:
    """The part was ready, and only the cloud's answer is missing, for not too long."""
    if trouble.reason != Reason.OPENSTACK_ERROR or not trouble.by_itself:
        return False
    conditions = found.object.status.conditions
    if not is_true(conditions, trouble.type):
        return False
    since = lasting_since(conditions, trouble.type)
    return since is None or (now - since).total_seconds() < _OVERDUE


def _told(obstacle: Obstacle) -> Told:
    if isinstance(obstacle.why, CloudFailure):
        return told(obstacle.why, doing=obstacle.doing, part=obstacle.part, reason=obstacle.reason)
    if obstacle.reason == Reason.INVALID_CONFIGURATION:
        return invalid(obstacle.why, part=obstacle.part)
    return unmet(obstacle.why, part=obstacle.part, reason=obstacle.reason)


def _good(troubles: Iterable[Told]) -> list[Condition]:
    """The parts without trouble."""
    bad = {each.type for each in troubles}
    if AUTHENTICATED in bad:
        return [NOT_PAUSED, NOT_DELETING]
    good = [condition(part, True, Reason.READY) for part in CLUSTER_PARTS if part not in bad]
    return [*good, NOT_PAUSED, NOT_DELETING]


def _fields(found: Present[OpenStackCluster], seen: Found) -> dict[str, Any]:
    """What was found, for the status; what was not found now stays as it was."""
    spec, fields = found.object.spec, dict[str, Any]()
    if seen.network is not None and not spec.managed_subnets:
        fields["network"] = told_network(seen.network, seen.subnets)
    if seen.external is not None or spec.disable_external_network:
        fields["externalNetwork"] = told_network(seen.external) if seen.external is not None else None
    if seen.router is not None:
        fields["router"] = told_router(seen.router)
    if seen.zones is not None:
        fields["failureDomains"] = failure_domains(spec, seen.zones) or None
    return fields


def _write(
    found: Present[OpenStackCluster],
    told: Iterable[Condition],
    *,
    now: datetime,
    fields: dict[str, Any] | None = None,
    awaited: str = "Waiting for the cloud",
) -> Merge:
    first = first_visit(unvisited(found, CLUSTER), awaited=awaited)
    return status.write(found, (*first, *told), parts=CLUSTER_PARTS, now=now, fields=fields)
