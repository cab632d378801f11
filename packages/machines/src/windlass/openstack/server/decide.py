"""What to do about an OpenStackServer. The rows, in order:

| situation | what is done | module |
|---|---|---|
| it does not exist, or cannot be read | nothing | |
| it is paused, or its Cluster is | nothing, and `Paused` says so | |
| the same, and it is being deleted, and its server has another owner now | the finalizer goes | `deleting` |
| the garbage collector deleted it after a restore | the finalizer goes, and its server stays | `deleting` |
| it is being deleted | what it has in the cloud goes, then the finalizer; no Cluster is needed | `deleting` |
| nobody has looked at it | all its conditions, Unknown | |
| its label names a Cluster that does not exist | wait for the Cluster | |
| its annotation has the mark of another object that exists here | it is dropped | |
| its machine has a server that it does not know | wait for the machine to name it | |
| its spec is wrong, and there is no server yet | say so | `building` |
| finalizer and mark are missing where something is recorded | both are stored | `building` |
| the credentials or the cloud fail | say so, and when it is tried again | `conditions` |
| else | resolve, create, report | `building`, `sending`, `conditions` |
"""

from datetime import datetime

from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import condition, find, is_true
from windlass.kube.control.plan import Plan, RequeueAfter, WaitFor
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.objects import dropped, intend, is_held, is_paused, unseen
from windlass.openstack.ownership import claim_of
from windlass.openstack.sending import SOON
from windlass.openstack.server import building, deleting
from windlass.openstack.server.conditions import made_of, out_of_reach, write
from windlass.openstack.server.looking import with_cloud, with_cluster, with_others
from windlass.openstack.server.sending import under_way
from windlass.openstack.server.snapshot import (
    TIMING,
    ServerCloudFacts,
    ServerSnapshot,
    ServerVisit,
    Timing,
    cluster_of,
    made,
    recorded,
)
from windlass.openstack.status import (
    INSTANCE,
    INSTANCE_READY,
    NOT_PAUSED,
    PAUSED,
    RESTS,
    Reason,
    first_visit,
    progressing,
    unvisited,
)
from windlass.openstack.trouble import trouble_of_no_access


def decide(seen: ServerSnapshot, *, now: datetime, timing: Timing = TIMING) -> Plan:
    """Pure: the rows of the module."""
    found = seen.server
    if not isinstance(found, Present):
        return unseen(found, OpenStackServer)
    seen = with_others(with_cluster(seen, found), found)
    plan = before_the_cloud(seen, found, now=now, timing=timing)
    if plan is not None:
        return plan
    return in_the_cloud(with_cloud(seen, found, now=now, timing=timing), found, now=now, timing=timing)


def in_the_cloud(seen: ServerSnapshot, found: Present[OpenStackServer], *, now: datetime, timing: Timing) -> Plan:
    """The rows that need the cloud."""
    cloud = seen.cloud
    paused = is_paused(found, seen.cluster)
    if not isinstance(cloud, ServerCloudFacts):
        if paused:
            return _pause(seen, found, now=now, timing=timing)
        trouble = trouble_of_no_access(cloud, delays=timing.delays)
        if found.deleting:
            return deleting.unreachable(found, trouble, now=now, timing=timing)
        return out_of_reach(found, trouble, now=now, timing=timing)
    visit = ServerVisit(seen=seen, found=found, cloud=cloud, now=now, timing=timing)
    if paused:
        if not found.deleting:
            return _pause(seen, found, now=now, timing=timing)
        if (let_go := deleting.given_up(visit)) is not None:
            return let_go
        rests = _pause(seen, found, now=now, timing=timing)
        if visit.inventory.certain:
            return rests
        wait = visit.inventory.certain_in + SOON
        return rests.then(RequeueAfter(wait, "a request of an earlier process may still arrive"))
    return deleting.delete(visit) if found.deleting else building.build(visit)


def before_the_cloud(
    seen: ServerSnapshot, found: Present[OpenStackServer], *, now: datetime, timing: Timing
) -> Plan | None:
    """The rows that come before the cloud is asked. None: none of them fits."""
    if is_paused(found, seen.cluster):
        asks = _is_in_between(found) or (found.deleting and is_held(found) and bool(claim_of(found).mark))
        return None if asks else _pause(seen, found, now=now, timing=timing)
    if found.deleting:
        return deleting.at_once(seen, found)
    if unvisited(found, INSTANCE):
        return Plan.of(write(found, first_visit(INSTANCE, awaited=_awaited(seen, found)), now=now))
    paused = find(found.object.status.conditions, PAUSED)
    if paused is not None and paused.reason in (Reason.PAUSED, Reason.PAUSING):
        return Plan.of(write(found, (NOT_PAUSED,), now=now, why="it is not paused any more"))
    if seen.cluster is not None and not isinstance(seen.cluster, Present):
        return _without_cluster(found, now=now)
    if seen.unnamed:
        return _unnamed(seen, found, now=now)
    if seen.facts.rival:
        return dropped(found, seen.fresh_mark, seen.facts.rival)
    if claim_of(found).is_replacing:  # what there is in the cloud comes first
        return None
    if not building.has_choices(found):
        spec = made(found).spec
        if isinstance(spec, tuple) and not building.is_intended(found):
            return building.refuse(found, spec, now=now)
    elif not building.is_intended(found):
        return Plan.of(intend(found, seen.fresh_mark))
    return None


def _pause(seen: ServerSnapshot, found: Present[OpenStackServer], *, now: datetime, timing: Timing) -> Plan:
    """Nothing is sent, and `Paused` is True once nothing can be under way any more."""
    first = first_visit(INSTANCE, awaited="Paused") if unvisited(found, INSTANCE) else ()
    if not _is_in_between(found):
        return Plan.of(write(found, (*first, RESTS), now=now))
    inventory = seen.cloud.inventory if isinstance(seen.cloud, ServerCloudFacts) else None
    if (again := under_way(found.object.status.conditions, inventory, now=now, timing=timing)) is not None:
        return Plan.of(write(found, (*first, condition(PAUSED, None, Reason.PAUSING, again.why)), now=now)).then(again)
    fields = made_of(made(found).resolved, inventory or ServerInventory())
    return Plan.of(write(found, (*first, RESTS), now=now, fields=fields))


def _is_in_between(found: Present[OpenStackServer]) -> bool:
    """Something may have been created whose result is not stored."""
    if is_true(found.object.status.conditions, PAUSED):
        return False
    return building.is_intended(found) and not recorded(found).server


def _without_cluster(found: Present[OpenStackServer], *, now: datetime) -> Plan:
    """Whether it is paused is not known, so nothing is done. A server that runs is not told about."""
    told = find(found.object.status.conditions, INSTANCE_READY)
    text = f"Waiting for Cluster {found.metadata.namespace}/{cluster_of(found)}"
    if told is not None and told.status == "True":
        return Plan.nothing(text)
    waits = condition(INSTANCE_READY, False, Reason.WAITING_FOR_CLUSTER, text)
    return Plan.of(write(found, (waits,), now=now))


def _unnamed(seen: ServerSnapshot, found: Present[OpenStackServer], *, now: datetime) -> Plan:
    """It was restored without its status, and has a server: another one is not made."""
    text = f"Waiting for OpenStackMachine {seen.unnamed} to name its server here"
    waits = condition(INSTANCE_READY, None, Reason.INSTANCE_NOT_READY, text)
    return Plan.of(write(found, (waits, progressing(text)), now=now)).then(WaitFor(text))


def _awaited(seen: ServerSnapshot, found: Present[OpenStackServer]) -> str:
    if seen.cluster is not None and not isinstance(seen.cluster, Present):
        return f"Waiting for Cluster {found.metadata.namespace}/{cluster_of(found)}"
    ref = found.object.spec.identity_ref
    return f"Waiting for the credentials of cloud {ref.cloud_name} in {ref.type or 'Secret'} {ref.name}"
