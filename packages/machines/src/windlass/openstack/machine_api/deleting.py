"""Deletes a Machine: drains its Node, deletes what it has in the cloud, then the Node, then lets it go.

| condition | until it is True |
|---|---|
| `Drained` | the Node is cordoned, and its Pods are evicted (`drain`) |
| `Terminable` | a preTerminate hook holds the server |

What the garbage collector deleted after a restore goes alone, with no drain (`windlass.openstack.collected`). Nothing
depends on the provider spec but the credentials: what it has in the cloud has its mark.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from windlass.api.mapi import Machine, MachineSet
from windlass.kube.conditions import condition, find, is_true
from windlass.kube.control.plan import Action, Delete, Plan, RequeueAfter, target
from windlass.kube.control.seen import Present, metadata_of
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.cloud.marks import root_of
from windlass.openstack.collected import is_of_set_collected, why_left
from windlass.openstack.instance.delete import next_deletion
from windlass.openstack.instance.foreign import foreign
from windlass.openstack.instance.next import next_adoption
from windlass.openstack.instance.step import Await, Send, Stuck, Vanished
from windlass.openstack.machine_api import drain
from windlass.openstack.machine_api.conditions import DRAINED, drained, failure_event, not_drained, write
from windlass.openstack.machine_api.snapshot import DELETING, MachineApiMachineSnapshot, MachineVisit, may_own, recorded
from windlass.openstack.objects import dropped, event, is_held, release
from windlass.openstack.sending import Deferred, at
from windlass.openstack.server.sending import admit, look_again
from windlass.openstack.status import AUTHENTIC, INSTANCE_READY, Reason, dead_end, progressing
from windlass.openstack.taken import left_to_its_owner
from windlass.openstack.trouble import trouble_since


def before_the_cloud(seen: MachineApiMachineSnapshot, found: Present[Machine], *, now: datetime) -> Plan | None:
    """The rows that come before the cloud is asked. None: none of them fits."""
    machine = found.object
    owner = metadata_of(seen.owner) if seen.owner is not None else None
    if is_held(found) and may_own(found) and owner is not None and is_of_set_collected(found, MachineSet, seen.owner):
        named = recorded(found).server
        stays = f"server {named}" if named else "what it had"
        again = f"{stays} stays; apply this object again without ownerReferences, and it has that again"
        note = why_left(found, MachineSet, owner, again)
        return Plan.of(event(found, "LeftInCloud", note, warning=True), release(found, note))
    if machine.status.phase != DELETING:
        return Plan.of(write(found, (), phase=DELETING, now=now))
    if not is_held(found):
        return Plan.nothing("it is being deleted, and nothing of ours holds it")
    if not is_true(machine.status.conditions, DRAINED):
        return _drain(seen, found, now=now)
    merge = write(found, (), phase=DELETING, now=now)
    if machine.spec.lifecycle_hooks.pre_terminate:
        return Plan.of(merge)
    if merge.needed:  # a hook has gone
        return Plan.of(merge)
    if not may_own(found):
        return _let_go(seen, found, "nothing was created for it")
    if seen.facts.rival:
        return dropped(found, seen.fresh_mark, seen.facts.rival)
    return None


def delete(visit: MachineVisit) -> Plan:
    """The Node is drained, and no hook holds the server."""
    found, inventory, now = visit.found, visit.inventory, visit.now
    had, project, mark, formers = recorded(found), visit.cloud.project, visit.mark, visit.ownership.formers
    theirs = None if visit.cloud.awaited else foreign(inventory, visit.ownership, recorded=had)
    left = None
    if theirs is not None:
        note = left_to_its_owner(theirs)
        left = event(found, "LeftInCloud", note)
        if root_of(mark_on(theirs)) == root_of(mark):  # what has its own mark still is theirs too
            return Plan((left, *_let_go(visit.seen, found, note).actions))
    # The ports and volumes that another provider gave the server have no mark yet.
    adoption = None
    if had.server:
        adoption = next_adoption(inventory, recorded=had, project=project, mark=mark, formers=formers)
    if visit.cloud.awaited:  # it is this object's to delete in a moment
        adoption = Await(visit.cloud.awaited)
    step = (
        adoption
        if isinstance(adoption, Send | Await)
        else next_deletion(inventory, recorded=had, project=project, mark=mark, formers=formers)
    )
    match step:
        case Send(requests, why):
            told = _report(visit, Reason.DELETING_SERVER, why)
            return admit(requests, visit).plan(found, why, write=told, deferred=partial(_failed, visit))
        case Await(what):
            plan = Plan.of(_report(visit, Reason.DELETING_SERVER, what))
            return plan.then(look_again(visit, what))
        case Stuck(reason=reason, message=message):
            ready, stop = dead_end(reason, message)
            return Plan.of(write(found, (AUTHENTIC, ready, stop), now=now), failure_event(found, "Delete", ready))
        case Vanished():
            gone = event(found, "Deleted", f"Deleted machine {found.metadata.name}")
            return Plan((left or gone, *_let_go(visit.seen, found, "nothing is left of it in the cloud").actions))
    return Plan.nothing(f"a step that ends no server: {step}")


def _drain(seen: MachineApiMachineSnapshot, found: Present[Machine], *, now: datetime) -> Plan:
    match drain.next_drain(found.object, seen.node, now=now):
        case drain.Skipped():
            text = "Node drain skipped"
            merge = write(found, (drained(text),), phase=DELETING, now=now)
            return Plan.of(merge, event(found, "DrainSkipped", text))
        case drain.Blocked(hooks):
            news = event(found, "DrainBlocked", "Drain blocked by pre-drain hook", occasion=" ".join(hooks))
            return Plan.of(write(found, (), phase=DELETING, now=now), news)
        case drain.Drained(node):
            merge = write(found, (drained("Drain finished successfully"),), phase=DELETING, now=now)
            said = event(found, "Deleted", f'Node "{node}" drained') if node else None
            return Plan.of(merge, said, event(found, "DrainSucceeded", "Node drain succeeded"))
        case drain.Draining(actions, waits):
            return _drain_on(seen, found, actions, waits, now=now)
    raise AssertionError("a drain is skipped, blocked, done, or goes on")


def _drain_on(
    seen: MachineApiMachineSnapshot, found: Present[Machine], actions: Sequence[Action], waits: str, *, now: datetime
) -> Plan:
    if actions:
        # Nobody watches Pods: they are looked at again.
        plan = Plan.of(event(found, "DrainProceeds", "Node drain proceeds"), *actions)
        return plan.then(RequeueAfter(1.0, "the Pods are evicted"))
    told = not_drained(waits)
    before = find(found.object.status.conditions, DRAINED)
    news = None
    if before is None or before.message != told.message:
        news = event(found, "DrainRequeued", f"Node drain requeued: {waits}")
    began = trouble_since(found.object.status.conditions, DRAINED) or now
    wait = min(max((now - began).total_seconds() / 4, 1.0), 20.0)
    return Plan.of(write(found, (told,), phase=DELETING, now=now), news).then(RequeueAfter(wait, waits))


def _failed(visit: MachineVisit, deferred: Deferred) -> Plan:
    failed = f"Deleting instance failed: {deferred.trouble.message}"
    told = condition(INSTANCE_READY, False, Reason.INSTANCE_DELETE_FAILED, failed)
    merge = write(visit.found, (AUTHENTIC, told, deferred.trouble.progress(deferred.until)), now=visit.now)
    news = failure_event(visit.found, "Delete", told)
    return Plan.of(merge, news).then(at(deferred.until, failed, now=visit.now))


def _report(visit: MachineVisit, reason: Reason, what: str) -> Action:
    told = condition(INSTANCE_READY, False, reason, f"Deleting the server: {what}")
    return write(visit.found, (AUTHENTIC, told, progressing(what)), now=visit.now)


def _let_go(seen: MachineApiMachineSnapshot, found: Present[Machine], why: str) -> Plan:
    """Delete the Node, whose server is gone, then remove the finalizer."""
    node = seen.node.node if seen.node is not None else None
    deletion = None
    if isinstance(node, Present):
        deletion = Delete(target=target(node), deleting=node.deleting, why="its server is gone")
    return Plan.of(deletion, release(found, why))
