"""What to do about an OpenStackCluster. The rows, in order:

| situation | what is done |
|---|---|
| it does not exist, cannot be read, or is managed by others | nothing |
| it is paused, or its Cluster is | `Paused` says so |
| the garbage collector deleted it after a restore | the finalizer goes, and all that it has stays |
| it is being deleted, its Cluster refers to another object, and it has no mark of its own | the same |
| it is being deleted, and its Cluster has Machines | wait until they are gone |
| it is being deleted | the bastion goes, then what it has in the cloud, then the finalizer |
| no Cluster owns it | wait |
| its Cluster refers to another object, and it has no mark of its own: it is a copy | wait |
| its mark is a copy of another object's | it gets a new one |
| finalizer or mark is missing | both are added |
| what has its mark's root in the cloud has another holder | `claiming` |
| its bastion cannot stay | its OpenStackServer is deleted |
| the credentials fail | say so |
| parts are in the way of themselves | each condition says so; the others go on |
| parts need something | it is requested, what is known is stored, and each condition says what is awaited |
| all parts are there | the endpoint is stored, then status and `provisioned`, once |
| the bastion needs something | the same, apart from the parts (`bastion`) |
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from windlass.api.capi import Cluster
from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.conditions import condition
from windlass.kube.control.plan import Merge, Plan, RequeueAfter, WaitFor, target
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.balancers import BALANCING
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.requests import Intent
from windlass.openstack.cluster import deleting
from windlass.openstack.cluster.bastion import Step, bastion, is_wanted, own_server, removal, unfit
from windlass.openstack.cluster.claiming import claiming, held
from windlass.openstack.cluster.conditions import (
    PartTrouble,
    conditions_of,
    gate_of,
    obstacle_trouble,
    part_trouble,
    pause,
    troubled,
    write,
)
from windlass.openstack.cluster.looking import with_cloud, with_others
from windlass.openstack.cluster.part import Obstacle, Ours, Part
from windlass.openstack.cluster.parts import parts
from windlass.openstack.cluster.snapshot import (
    ClusterCloudFacts,
    ClusterSnapshot,
    is_external,
    is_provisioned,
    recorded,
)
from windlass.openstack.collected import is_cluster_collected, why_left
from windlass.openstack.objects import dropped, event, intend, is_held, is_paused, mark_of, release, unseen
from windlass.openstack.ownership import Ownership, claim_of
from windlass.openstack.sending import THE_REST, calls
from windlass.openstack.status import (
    AUTHENTICATED,
    BASTION_READY,
    CLUSTER,
    DELETING,
    ENDPOINT_READY,
    NETWORK_READY,
    NOT_DELETING,
    NOT_PAUSED,
    PROGRESSING,
    RESTS,
    Reason,
    progressing,
    unvisited,
)
from windlass.openstack.trouble import trouble_of_no_access

NAMES: Final = 5
"""Machines that a message names."""
REST: Final = 600.0
"""Seconds after which the cloud is asked again when all is well."""


def decide(seen: ClusterSnapshot, *, now: datetime) -> Plan:
    """Pure: the rows of the module."""
    found = seen.infra
    if not isinstance(found, Present):
        return unseen(found, OpenStackCluster)
    if is_external(found):
        return Plan.nothing("it is managed by others")
    seen = with_others(seen, found)
    plan = _before_the_cloud(seen, found, now=now)
    if plan is not None:
        return plan
    seen = with_cloud(seen, found, now=now)
    if isinstance(seen.cloud, ClusterCloudFacts):
        return _with_cloud(seen, found, seen.cloud, now=now)
    no_access = part_trouble(found, trouble_of_no_access(seen.cloud, part=AUTHENTICATED), now)
    if found.deleting:
        return deleting.unreachable(found, no_access, now=now)
    return troubled(found, [no_access], now=now)


def _before_the_cloud(seen: ClusterSnapshot, found: Present[OpenStackCluster], *, now: datetime) -> Plan | None:
    """The rows that come before the cloud is asked. None: none of them fits."""
    if is_paused(found, seen.cluster):
        return Plan.of(write(found, (RESTS,), now=now, awaited="Paused"))
    if found.deleting:
        return _delete(seen, found, now=now)
    if not isinstance(seen.cluster, Present):
        what = "Waiting for Cluster API to set the Cluster as owner of this object"
        if seen.cluster is not None:
            what = f"Waiting for Cluster {found.metadata.namespace}/{seen.cluster_name}"
        return Plan.of(write(found, (NOT_PAUSED, NOT_DELETING), now=now, awaited=what))
    if other := _instead(seen, found):
        what = (
            f"Waiting for Cluster {found.metadata.namespace}/{seen.cluster_name} to refer to this object: correct its "
            f"spec.infrastructureRef, which names {other}, or delete this object"
        )
        return Plan.of(write(found, (NOT_PAUSED, NOT_DELETING), now=now, awaited=what)).then(WaitFor(what))
    first = None
    if unvisited(found, CLUSTER):
        ref = found.object.spec.identity_ref
        what = f"Waiting for the credentials in {ref.type or 'Secret'} {ref.name}" if ref else "Waiting for identityRef"
        first = write(found, (NOT_PAUSED, NOT_DELETING), now=now, awaited=what)
    if first is None and seen.facts.rival:
        return dropped(found, seen.fresh_mark, seen.facts.rival)
    if first is None and claim_of(found).is_replacing:  # what there is in the cloud comes first
        return None
    if first is None and is_held(found) and mark_of(found):
        # A deletion that was refused is told with the rest.
        gone = unfit(found, seen.bastion) if seen.last.failed is None else ()
        return Plan.of(*gone) if gone else None
    if claim_of(found).stored:
        return Plan.of(first) if first is not None else Plan.of(intend(found, ""))
    return Plan.of(first, intend(found, seen.fresh_mark))


def _delete(seen: ClusterSnapshot, found: Present[OpenStackCluster], *, now: datetime) -> Plan | None:
    if not is_held(found):
        return Plan.nothing("it is being deleted, and nothing of ours holds it")
    if isinstance(seen.cluster, Present) and is_cluster_collected(found, seen.cluster):
        again = "what it has stays; apply this object again without ownerReferences, and it has that again"
        note = why_left(found, Cluster, seen.cluster.metadata, again)
        return Plan.of(event(found, "LeftInCloud", note, warning=True), release(found, note))
    if other := _instead(seen, found):
        note = f"Left in the cloud: what Cluster {seen.cluster_name} has belongs to OpenStackCluster {other}"
        return Plan.of(event(found, "LeftInCloud", note, warning=True), release(found, note))
    if seen.machines:
        names = ", ".join(seen.machines[:NAMES]) + (", ..." if len(seen.machines) > NAMES else "")
        text = f"Waiting for {len(seen.machines)} Machines of Cluster {seen.cluster_name} to go: {names}"
        waits = condition(DELETING, True, Reason.WAITING_FOR_MACHINES, text)
        merge = write(found, (waits, progressing(text), NOT_PAUSED), now=now, awaited=text)
        return Plan.of(merge).then(WaitFor(f"the Machines of Cluster {seen.cluster_name} to go"))
    if (step := removal(found, seen.bastion)) is not None:
        plan, text = step
        going = condition(DELETING, True, Reason.DELETING_BASTION, text)
        merge = write(found, (going, progressing(text), NOT_PAUSED), now=now, awaited=text)
        return Plan.of(merge, *plan.actions).then(plan.next)
    if seen.facts.rival:
        return dropped(found, seen.fresh_mark, seen.facts.rival)
    if claim_of(found).mark:
        return None
    if recorded(found.object):  # by an earlier provider, which has no marks; only what has one is deleted
        return Plan.of(intend(found, seen.fresh_mark))
    return Plan.of(release(found, "no Machine of its Cluster is left, and nothing was made for it"))


def _instead(seen: ClusterSnapshot, found: Present[OpenStackCluster]) -> str:
    """The name of the OpenStackCluster that the Cluster refers to, if this object is another one and has no mark. Names
    in the cloud follow from the Cluster, so a copy with the original's label or owner would find its parts."""
    if not isinstance(seen.cluster, Present) or mark_of(found):
        return ""
    name = seen.cluster.object.spec.infrastructure_ref.name
    return name if name != found.metadata.name else ""


def _with_cloud(
    seen: ClusterSnapshot, found: Present[OpenStackCluster], cloud: ClusterCloudFacts, *, now: datetime
) -> Plan:
    inventory = cloud.inventory
    if isinstance(inventory, CloudFailure):
        part = ENDPOINT_READY if inventory.service == BALANCING else NETWORK_READY
        why = Obstacle(part, Reason.OPENSTACK_ERROR, inventory, "list what the cluster has")
        troubles = [obstacle_trouble(found, why, now)]
        if found.deleting:
            return deleting.unreachable(found, troubles[0], now=now)
        good = conditions_of(found, (), without={each.trouble.type for each in troubles})
        known = is_provisioned(found.object)
        return troubled(found, troubles, now=now, good=good if known else (NOT_PAUSED, NOT_DELETING))
    ours = Ours(
        project=cloud.project,
        intent=Intent(claim_of(found).mark),
        cluster=f"{found.metadata.namespace}-{seen.cluster_name}",
        tags=tuple(found.object.spec.tags),
        extensions=cloud.extensions,
    )
    ownership = Ownership(claim_of(found), cloud.facts, cloud.formers)
    if found.deleting:
        return deleting.delete(found, cloud, inventory, ours, ownership, last=seen.last, now=now)
    if not (first := claiming(inventory, ours, ownership)).is_there:
        return _go_on(seen, found, cloud, [first], None, {}, now=now)
    if (plan := held(found, inventory, ownership, fresh_mark=seen.fresh_mark)) is not None:
        return plan
    exists = found.object.status.bastion is not None or own_server(found, seen.bastion) is not None
    has_bastion = is_wanted(found.object) or exists
    made, reached = parts(found.object, cloud, inventory, ours, machines=seen.control_plane, bastion=has_bastion)
    guest = bastion(found, seen.bastion, ours, inventory, cluster=seen.cluster_name, last=seen.last)
    fields = _fields([*made, guest.part])
    if reached.where is not None and all(part.is_there for part in made):
        plan, fields = _with_endpoint(found, reached.where), {**fields, "initialization": {"provisioned": True}}
        if plan is None and guest.is_there:
            plan = _rest(found, guest, fields, now=now)
    if plan is None:
        plan = _go_on(seen, found, cloud, made, guest, fields, now=now)
    news = (
        event(found, each.reason, each.note, warning=each.warning) for part in (*made, guest.part) for each in part.news
    )
    return Plan((*reached.annotations, *plan.actions, *news), plan.next)


def _go_on(
    seen: ClusterSnapshot,
    found: Present[OpenStackCluster],
    cloud: ClusterCloudFacts,
    made: Sequence[Part],
    guest: Step | None,
    fields: dict[str, Any],
    *,
    now: datetime,
) -> Plan:
    """Send what may be sent, store what is known, say what is awaited and what is in the way."""
    whole = [*made, *([guest.part] if guest is not None else [])]
    gate = gate_of(found, cloud, whole, last=seen.last, now=now)
    sending = gate.admit(request for part in whole for request in part.requests)
    troubles = [obstacle_trouble(found, each, cloud.asked) for part in whole for each in part.obstacles]
    if sending.first is not None:
        troubles.append(PartTrouble(sending.first.trouble, sending.first.until))
    bad = {each.trouble.type for each in troubles}
    good = [NOT_PAUSED, NOT_DELETING]
    if guest is not None:
        good = [*conditions_of(found, made, without=bad), *([guest.ready] if BASTION_READY not in bad else [])]
    again = pause(found, whole, now=now)
    if troubles:
        plan = troubled(found, troubles, now=now, good=good, fields=fields)
    else:
        awaited = guest.awaits if guest is not None else "what it had gets its mark"
        what = again.why if again is not None else awaited or "what is missing is being created"
        goes_on = progressing(what)
        if guest is not None and guest.progress is not None and all(part.is_there for part in made):
            goes_on = guest.progress
        plan = Plan.of(write(found, (*good, goes_on), now=now, fields=fields))
        plan = plan.then(again if again is not None else WaitFor(what))
    plan = Plan.of(*plan.actions, *(guest.actions if guest is not None else ())).then(plan.next)
    if not sending.now:
        return plan
    if sending.later:
        return plan.then(THE_REST)
    return Plan.of(*plan.actions, *calls(found, sending.now, "; ".join(part.why for part in whole if part.requests)))


def _with_endpoint(found: Present[OpenStackCluster], where: tuple[str, int]) -> Plan | None:
    """Stores it, before anything says that the cluster is provisioned; None if it is stored."""
    spec: dict[str, Any] = dict(found.tree.get("spec") or {})
    given = {"host": where[0], "port": where[1]}
    stored = Merge(
        target=target(found),
        observed={"spec": {"controlPlaneEndpoint": spec.get("controlPlaneEndpoint")}},
        desired={"spec": {"controlPlaneEndpoint": given}},
        why="Cluster API copies it when the cluster is provisioned",
    )
    return Plan.of(stored) if stored.needed else None  # the status says which generation it is about


def _rest(found: Present[OpenStackCluster], guest: Step, fields: dict[str, Any], *, now: datetime) -> Plan:
    rests = condition(PROGRESSING, False, Reason.SUCCESS)
    merge = write(found, (*conditions_of(found, ()), guest.ready, rests), now=now, fields=fields)
    return Plan.of(merge, *guest.actions).then(RequeueAfter(REST, "look whether the cloud has changed"))


def _fields(made: Sequence[Part]) -> dict[str, Any]:
    return {name: value for part in made for name, value in part.fields.items()}
