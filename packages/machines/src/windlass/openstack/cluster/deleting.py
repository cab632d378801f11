"""Deletes an OpenStackCluster that has no Machine any more: what it has in the cloud goes, then its finalizer.

It needs the credentials and the mark, neither spec nor status. Without credentials nobody knows whether anything is
left, so the object stays, and says who has to restore them.
"""

from collections.abc import Iterable
from datetime import datetime

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.meta import Condition
from windlass.kube.conditions import condition
from windlass.kube.control.plan import Merge, Outcome, Plan
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cluster import balancer
from windlass.openstack.cluster.claiming import claiming, stranger
from windlass.openstack.cluster.conditions import PartTrouble, gate_of, obstacle_trouble, pause, write
from windlass.openstack.cluster.part import Ours
from windlass.openstack.cluster.removal import removal, staying
from windlass.openstack.cluster.snapshot import ClusterCloudFacts
from windlass.openstack.objects import event, release
from windlass.openstack.ownership import Ownership
from windlass.openstack.sending import THE_REST, at, calls
from windlass.openstack.status import AUTHENTIC, AUTHENTICATED, DELETING, NOT_PAUSED, Reason, progressing
from windlass.openstack.taken import left_to_its_owner


def delete(
    found: Present[OpenStackCluster],
    cloud: ClusterCloudFacts,
    inventory: NetworkInventory,
    ours: Ours,
    ownership: Ownership,
    *,
    last: Outcome,
    now: datetime,
) -> Plan:
    if (other := stranger(inventory, ownership)) is not None:
        note = left_to_its_owner(other)
        return Plan.of(event(found, "LeftInCloud", note, warning=True), release(found, note))
    names = (found.metadata.name, f"{found.metadata.namespace}-{found.metadata.name}")
    step = claiming(inventory, ours, ownership)
    if step.is_there or step.obstacles:  # a load balancer in ERROR is deleted with the mark that it has
        step = removal(ours, inventory, names=names, balancer=balancer.removal(ours, inventory, ownership.formers))
    if step.is_there:
        news = None
        if left := staying(ours, inventory):
            note = f"Not made for this cluster, and not deleted: {', '.join(left)}"
            news = event(found, "LeftInCloud", note, warning=True)
        return Plan.of(news, release(found, "nothing is left of it in the cloud"))
    sending = gate_of(found, cloud, [step], last=last, now=now).admit(step.requests)
    troubles = [obstacle_trouble(found, each, cloud.asked) for each in step.obstacles]
    if sending.first is not None:
        troubles.append(PartTrouble(sending.first.trouble, sending.first.until))
    doing = ", ".join(f"{each.verb} {each.subject}" for each in step.requests)
    said = [each.trouble.message for each in troubles] or [f"Waiting: {step.waits or doing}"]
    progress = troubles[0].trouble.progress(troubles[0].until) if troubles else progressing(said[0])
    merge = _report(found, step.reason, "; ".join(said), (progress,), now=now)
    if sending.now and not sending.later:
        return Plan.of(merge, *calls(found, sending.now, step.why))
    if sending.now:
        return Plan.of(merge).then(THE_REST)
    if troubles:
        return Plan.of(merge).then(at(troubles[0].until, said[0], now=now))
    again = pause(found, [step], now=now)
    return Plan.of(merge).then(again) if again is not None else Plan.of(merge)


def unreachable(found: Present[OpenStackCluster], trouble: PartTrouble, *, now: datetime) -> Plan:
    """Whether anything is left cannot be known, so the finalizer stays."""
    about = trouble.trouble
    what = f"Waiting for access to the cloud: {about.message}"
    more = [about.progress(trouble.until)]
    if about.type == AUTHENTICATED:
        what = f"{what}. Without the credentials nobody can delete what it has: restore them"
        more.append(about.condition)
    merge = _report(found, Reason.DELETING_NETWORK, what, more, now=now)
    return Plan.of(merge).then(at(trouble.until, what, now=now))


def _report(
    found: Present[OpenStackCluster], reason: Reason, what: str, more: Iterable[Condition], *, now: datetime
) -> Merge:
    told = {each.type: each for each in (AUTHENTIC, *more)}
    return write(found, (*told.values(), condition(DELETING, True, reason, what), NOT_PAUSED), now=now, awaited=what)
