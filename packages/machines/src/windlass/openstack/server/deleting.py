"""Deletes everything with the mark of an OpenStackServer, and then removes its finalizer.

It needs no Cluster, no image and no status, only the mark and the credentials. Without credentials nobody knows whether
anything is left, so the object stays, and says who has to restore them. What the garbage collector deleted after a
restore goes alone (`windlass.openstack.collected`).
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Final

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddressClaim
from windlass.api.meta import Condition, tree
from windlass.kube.conditions import condition
from windlass.kube.control.plan import Merge, Plan, target
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.openstack.cloud import requests
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.cloud.marks import in_words, root_of
from windlass.openstack.cloud.marks import mark_of as mark_on
from windlass.openstack.collected import is_machine_collected, other_owner, why_left
from windlass.openstack.constants import KEPT_ANNOTATION, MARK_ANNOTATION, PROVIDER_ID
from windlass.openstack.instance.delete import next_deletion
from windlass.openstack.instance.foreign import foreign
from windlass.openstack.instance.next import next_adoption
from windlass.openstack.instance.step import Await, Send, Stuck, Vanished
from windlass.openstack.objects import dropped, event, intend, is_held, owner_name, release
from windlass.openstack.ownership import claim_of
from windlass.openstack.sending import Deferred, at
from windlass.openstack.server.conditions import LOST, out_of_reach, write
from windlass.openstack.server.sending import admit, look_again
from windlass.openstack.server.snapshot import ServerSnapshot, ServerVisit, Timing, adopted, recorded
from windlass.openstack.status import (
    AUTHENTIC,
    AUTHENTICATED,
    DELETING,
    INSTANCE_READY,
    NOT_PAUSED,
    Reason,
    dead_end,
    progressing,
)
from windlass.openstack.taken import left_to_its_owner
from windlass.openstack.trouble import Trouble

_ORDER: Final = (
    (requests.DeleteServer, Reason.DELETING_SERVER),
    (requests.DeletePort | requests.DeleteTrunk | requests.RemoveSubports, Reason.DELETING_PORTS),
    (requests.DeleteVolume, Reason.DELETING_VOLUMES),
)
_SAID: Final = {
    Reason.DELETING_SERVER: "Deleting server {}",
    Reason.DELETING_PORTS: "Deleting what server {} had",
    Reason.DELETING_VOLUMES: "Deleting the volumes of server {}",
}


def may_own(found: Present[OpenStackServer]) -> bool:
    """Whether something in the cloud may be its own: it has a mark, or it has recorded something."""
    had = recorded(found)
    return bool(claim_of(found).mark or found.object.status.instance_id or had.ports or had.volumes or had.trunks)


def at_once(seen: ServerSnapshot, found: Present[OpenStackServer]) -> Plan | None:
    """The plan, if it follows without asking the cloud; else None."""
    if not is_held(found):
        return Plan.nothing("it is being deleted, and nothing of ours holds it")
    if not may_own(found):
        return Plan.of(release(found, "nothing was created for it"))
    if left := _collected(seen, found):
        return Plan.of(event(found, "LeftInCloud", left), release(found, left))
    if seen.facts.rival:
        return dropped(found, seen.fresh_mark, seen.facts.rival)
    if not claim_of(found).mark:  # recorded by the OpenStack provider, which has no marks; only what has one is deleted
        return Plan.of(intend(found, seen.fresh_mark))
    return None


def _collected(seen: ServerSnapshot, found: Present[OpenStackServer]) -> str:
    """Why what it has stays, as a sentence; empty if its deletion was meant."""
    machine = seen.machine
    if isinstance(machine, Absent) and not found.object.status.conditions:
        gone = f"because its OpenStackMachine {owner_name(found.metadata, OpenStackMachine)} does not exist"
        again = "nobody has visited it yet, so what an earlier object had stays; apply both again, the machine first"
        return f"Left in the cloud: the garbage collector deleted this object, {gone}: {again}"
    owner = other_owner(found, OpenStackMachine, machine)
    if owner is None or not isinstance(machine, Present) or not _had(machine, found):
        return ""
    if machine.deleting and not is_machine_collected(machine, seen.above):
        return ""
    server = recorded(found).server or _server_of(machine)
    what = f"server {server}" if server else "what it had"
    return why_left(found, OpenStackMachine, owner, f"{what} stays, and the machine makes its OpenStackServer again")


def _had(machine: Present[OpenStackMachine], found: Present[OpenStackServer]) -> bool:
    """The server is the machine's: their marks have one root, or the machine names it."""
    root = root_of(claim_of(found).stored)
    if root and root == root_of(machine.metadata.annotations.get(MARK_ANNOTATION, "")):
        return True
    server = recorded(found).server
    return bool(server) and server == _server_of(machine)


def _server_of(machine: Present[OpenStackMachine]) -> str:
    form = PROVIDER_ID.fullmatch(machine.object.spec.provider_id or "")
    return form[2] if form is not None else machine.object.status.instance_id or ""


def delete(visit: ServerVisit) -> Plan:
    found, inventory, now = visit.found, visit.inventory, visit.now
    had, project, mark, formers = recorded(found), visit.cloud.project, visit.mark, visit.ownership.formers
    theirs = None if visit.cloud.awaited else foreign(inventory, visit.ownership, recorded=had)
    left = None
    if theirs is not None:
        note = left_to_its_owner(theirs)
        left = event(found, "LeftInCloud", note)
        if root_of(mark_on(theirs)) == root_of(mark):  # what has its own mark still is theirs too
            return Plan.of(left, release(found, note))
    step = None
    if adopted(found) or formers:
        step = next_adoption(inventory, recorded=had, project=project, mark=mark, formers=formers)
    if visit.cloud.awaited:  # it is this object's to delete in a moment
        step = Await(visit.cloud.awaited)
    elif not isinstance(step, Send):  # else the ports of a server that is not adopted yet would stay
        step = next_deletion(inventory, recorded=had, project=project, mark=mark, formers=formers)
    match step:
        case Send(requests, why):
            reason = _reason_of(inventory, requests)
            told = _report(found, reason, _SAID[reason].format(found.metadata.name), now=now)
            return admit(requests, visit).plan(found, why, write=told, deferred=partial(_failed, visit, reason))
        case Await(what):
            reason = _reason_of(inventory, ())
            goes = reason == Reason.DELETING_SERVER and not visit.cloud.awaited
            said = _SAID[reason].format(found.metadata.name) if goes else what
            return Plan.of(_report(found, reason, said, now=now)).then(look_again(visit, what, part=DELETING))
        case Stuck(reason=reason, message=message):
            return Plan.of(_report(found, _reason_of(inventory, ()), message, now=now, more=dead_end(reason, message)))
        case Vanished():
            gone = found.object.status.instance_id
            deleted = f"Deleted server {found.metadata.name} with id {gone}"
            ours = gone and found.object.status.instance_state != LOST
            news = event(found, "Successfuldeleteserver", deleted) if ours else None
            return Plan.of(left or news, release(found, "nothing is left of it in the cloud"))
    return Plan.nothing(f"a step that ends no server: {step}")


def given_up(visit: ServerVisit) -> Plan | None:
    """The plan for a paused object whose server belongs to another owner now, or is gone; None if something is its own.

    The other owner is the object of the other API that the machine has moved to, and deletes the server with itself.
    """
    found, inventory = visit.found, visit.inventory
    own = {"", visit.mark, *visit.ownership.formers}
    if not inventory.certain or any(mark_on(each) in own for each in (*inventory.all, *inventory.elsewhere)):
        return None
    owners = ", ".join(f"server {each.id} belongs to {in_words(mark_on(each))} now" for each in inventory.servers)
    keeping = _keeping(visit.seen.claim, found, mark_on(inventory.servers[0])) if inventory.servers else None
    return Plan.of(keeping, release(found, owners or "nothing is left of it in the cloud"))


def _keeping(claim: Seen[IPAddressClaim] | None, found: Present[OpenStackServer], mark: str) -> Merge | None:
    """The floating IP of a server that stays is kept for its new owner: the claim is not collected with this object."""
    if not isinstance(claim, Present) or claim.deleting:
        return None
    meta = claim.metadata
    others = [each for each in meta.owner_references if each.uid != found.metadata.uid]
    if len(others) == len(meta.owner_references):
        return None
    return Merge(
        target=target(claim),
        observed={"metadata": {"annotations": dict(meta.annotations), "ownerReferences": tree(meta.owner_references)}},
        desired={
            "metadata": {
                "annotations": {**meta.annotations, KEPT_ANNOTATION: mark},
                **({"ownerReferences": tree(others)} if others else {}),
            }
        },
        why="the server stays, and so does its address",
    )


def unreachable(found: Present[OpenStackServer], trouble: Trouble, *, now: datetime, timing: Timing) -> Plan:
    """Whether anything is left cannot be known, so the finalizer stays."""
    remedy = " Without the credentials nobody can delete what it has: restore them"
    what = f"Waiting for access to the cloud: {trouble.message}"
    message = f"{what}.{remedy}" if trouble.type == AUTHENTICATED else what
    told = condition(DELETING, True, Reason.DELETING_SERVER, message)
    return out_of_reach(found, trouble, now=now, timing=timing, rest=(told, NOT_PAUSED))


def _failed(visit: ServerVisit, reason: Reason, deferred: Deferred) -> Plan:
    found, now = visit.found, visit.now
    failed = f"Deleting instance failed: {deferred.trouble.message}"
    told = (
        condition(INSTANCE_READY, False, Reason.INSTANCE_DELETE_FAILED, failed),
        deferred.trouble.progress(deferred.until),
    )
    return Plan.of(_report(found, reason, failed, now=now, more=told)).then(at(deferred.until, failed, now=now))


def _report(
    found: Present[OpenStackServer], reason: Reason, what: str, *, now: datetime, more: Sequence[Condition] = ()
) -> Merge:
    told = more or (condition(INSTANCE_READY, False, reason, what), progressing(what))
    going = condition(DELETING, True, reason, what)
    return write(found, (AUTHENTIC, *told, going, NOT_PAUSED), now=now, fields={"ready": False})


def _reason_of(inventory: ServerInventory, requests: Sequence[requests.CloudRequest]) -> Reason:
    """The step of the deletion: the server goes first."""
    for kinds, reason in _ORDER:
        if any(isinstance(request, kinds) for request in requests):
            return reason
    if inventory.servers:
        return Reason.DELETING_SERVER
    return Reason.DELETING_VOLUMES if inventory.volumes else Reason.DELETING_PORTS
