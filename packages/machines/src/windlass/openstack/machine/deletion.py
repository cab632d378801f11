"""Deletes the OpenStackServer of an OpenStackMachine, with all it has in the cloud, and then removes the finalizer.

| its OpenStackServer | what is done |
|---|---|
| exists, and the API endpoint leads to the machine | wait until the controller of its cluster has changed that |
| exists | `Deleting` says so, then it is deleted; its own conditions say how far it is |
| belongs to something else | it is left alone; a server that is recorded here must not be left behind |
| is gone after it was deleted here, or there never was a server | the finalizer is removed |
| is missing, and a server is recorded | it is made again for that server, which must not be left behind |
| any, and the garbage collector deleted the machine or its Machine after a restore | it stays, without an owner |

No Machine, Cluster, OpenStackCluster or Secret is needed, except for the last row: that needs to know the credentials.
The first row waits only for an OpenStackCluster that is there and stays.
"""

from datetime import datetime

from windlass.api.capi import Machine, MachineSet
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import Condition, tree
from windlass.kube.conditions import FALSE, TRUE, condition, find
from windlass.kube.control.plan import Delete, Merge, Plan, WaitFor, target
from windlass.kube.control.seen import NotServedKind, Present, Unreadable
from windlass.openstack.collected import is_machine_collected, is_of_set_collected, other_owner, why_left
from windlass.openstack.constants import INGRESS_ANNOTATION, MACHINE_FINALIZER
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine.conditions import said_by, write
from windlass.openstack.machine.existing import existing_server, own_server
from windlass.openstack.machine.server_of import foreign, make
from windlass.openstack.machine.snapshot import OpenStackMachineSnapshot
from windlass.openstack.objects import event, is_held, leads_to_machines, mark_of, release
from windlass.openstack.status import (
    AUTHENTICATED,
    DELETING,
    INSTANCE_READY,
    NOT_PAUSED,
    PROGRESSING,
    Reason,
    progressing,
)


def delete(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], *, now: datetime) -> Plan:
    if not is_held(found):
        return Plan.nothing("it is being deleted, and nothing of ours holds it")
    server = own_server(seen, found)
    if note := _collected(seen, found):
        return _leave(seen, found, server, note)
    if server is not None:
        return _delete_server(seen, found, server, now=now)
    match seen.server:
        case Unreadable(why=why) | NotServedKind(why=why):
            message = f"Its OpenStackServer cannot be read: {why}"
            return Plan.of(_stuck(seen, found, message, now=now)).then(WaitFor(message))
    if _began(found):
        return Plan.of(release(found, "its OpenStackServer is gone"))
    return _without_server(seen, found, now=now)


def _collected(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> str:
    """Why what it has stays, as a sentence; empty if its deletion was meant."""
    owner = seen.owner
    if not isinstance(owner, Present):
        return ""
    if is_machine_collected(found, owner):
        again = "apply this object again without ownerReferences, and it has that again"
        return why_left(found, Machine, owner.metadata, f"{_what_stays(seen, found)} stays; {again}")
    above = other_owner(owner, MachineSet, seen.machine_set)
    if above is None or not is_of_set_collected(owner, MachineSet, seen.machine_set):
        return ""
    again = "apply the Machine and this object again without ownerReferences, and they have that again"
    stays = f"{_what_stays(seen, found)} stays; {again}"
    return why_left(found, MachineSet, above, stays, deleted="the Machine of this object")


def _what_stays(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> str:
    if isinstance(seen.server, Present):
        return f"OpenStackServer {seen.server.metadata.name}"
    known = existing_server(seen, found)
    return f"server {known}" if isinstance(known, str) and known else "what it had"


def _leave(
    seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], server: Present[OpenStackServer] | None, note: str
) -> Plan:
    """Its OpenStackServer stays with the server. An OpenStackServer that the garbage collector deletes too goes first,
    since its controller looks for the machine."""
    if isinstance(seen.server, Unreadable | NotServedKind):
        return Plan.nothing().then(WaitFor(f"its OpenStackServer to be readable: {seen.server.why}"))
    if server is not None and server.deleting:
        return Plan.nothing().then(WaitFor(f"OpenStackServer {server.metadata.name} to go"))
    if server is not None and server.metadata.owner_references:
        return Plan.of(_orphaned(server))
    return Plan.of(event(found, "LeftInCloud", note, warning=True), release(found, note))


def _orphaned(server: Present[OpenStackServer]) -> Merge:
    return Merge(
        target=target(server),
        observed={"metadata": {"ownerReferences": tree(server.metadata.owner_references)}},
        desired={"metadata": {}},
        why="its OpenStackMachine was deleted by the garbage collector, and the server stays",
    )


def _delete_server(
    seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], server: Present[OpenStackServer], *, now: datetime
) -> Plan:
    if (text := _leads(seen, found)) and not server.deleting:
        goes_on = progressing(text)
        return Plan.of(_write(seen, found, Reason.LEAVING_ENDPOINT, text, goes_on, now=now)).then(WaitFor(text))
    name = server.metadata.name
    said = find(server.object.status.conditions, DELETING) if server.deleting else None
    message = said.message if said is not None and said.status == "True" and said.message else ""
    merge = _report(seen, found, message or f"Deleting OpenStackServer {name}", server, now=now)
    deletion = Delete(target=target(server), deleting=server.deleting, why="its OpenStackMachine is being deleted")
    return Plan.of(merge, deletion).then(WaitFor(f"OpenStackServer {name} to go"))


def _leads(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> str:
    """Why the server must stay for now; empty if the API endpoint of the cluster does not lead to it."""
    infra = seen.infra
    if INGRESS_ANNOTATION not in found.metadata.annotations or not isinstance(infra, Present) or infra.deleting:
        return ""
    if not leads_to_machines(infra):
        return ""
    return f"Waiting for OpenStackCluster {infra.metadata.name} to lead its API endpoint to other machines"


def _without_server(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], *, now: datetime) -> Plan:
    """There is no OpenStackServer, and none was deleted here."""
    known = existing_server(seen, found)
    recorded = found.object.status.instance_id or ("" if isinstance(known, Problem) else known)
    if not recorded:
        return Plan.of(release(found, "nothing was created for it"))
    if isinstance(seen.server, Present):
        return _beside(seen, found, seen.server, recorded, now=now)
    plan = make(seen, found, existing=recorded)
    if not isinstance(plan, Problem):
        return plan
    if mark_of(found):
        return Plan.of(release(found, "its OpenStackServer is gone"))
    message = (
        f"Server {recorded} may be left in the cloud, and nothing says which credentials are for it: "
        f"{plan.message}, or delete the server and remove the finalizer {MACHINE_FINALIZER}"
    )
    return Plan.of(_stuck(seen, found, message, now=now)).then(WaitFor("its OpenStackCluster"))


def _beside(
    seen: OpenStackMachineSnapshot,
    found: Present[OpenStackMachine],
    other: Present[OpenStackServer],
    recorded: str,
    *,
    now: datetime,
) -> Plan:
    """The OpenStackServer of its name belongs to something else, so none can be made for the recorded server."""
    if other.object.status.instance_id == recorded:
        return Plan.of(release(found, "its server belongs to something else"))
    name = other.metadata.name
    message = (
        f"Server {recorded} may be left in the cloud, and OpenStackServer {name}, which belongs to {foreign(other)}, "
        f"is in the way of deleting it: delete one of them, or remove the finalizer {MACHINE_FINALIZER}"
    )
    return Plan.of(_stuck(seen, found, message, now=now)).then(WaitFor(f"OpenStackServer {name} to go"))


def _report(
    seen: OpenStackMachineSnapshot,
    found: Present[OpenStackMachine],
    message: str,
    server: Present[OpenStackServer],
    *,
    now: datetime,
) -> Merge:
    progress = progressing(message)
    more = _of_server(server) if server.deleting else []
    return _write(seen, found, Reason.DELETING_SERVER, message, progress, *more, now=now)


def _stuck(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], message: str, *, now: datetime) -> Merge:
    progress = condition(PROGRESSING, False, Reason.INVALID_CONFIGURATION, message)
    return _write(seen, found, Reason.DEPENDENCY_FAILED, message, progress, now=now)


def _write(
    seen: OpenStackMachineSnapshot,
    found: Present[OpenStackMachine],
    reason: Reason,
    message: str,
    *more: Condition,
    now: datetime,
) -> Merge:
    going, ready = condition(DELETING, True, reason, message), condition(INSTANCE_READY, False, reason, message)
    return write(seen, found, (going, ready, NOT_PAUSED, *more), now=now, awaited=message)


def _of_server(server: Present[OpenStackServer]) -> list[Condition]:
    """What is in the way of the deletion, as the OpenStackServer says."""
    said = (said_by(server, each) for each in (AUTHENTICATED, PROGRESSING, INSTANCE_READY))
    return [each for each in said if each is not None and (each.type != INSTANCE_READY or each.status == FALSE)]


def _began(found: Present[OpenStackMachine]) -> bool:
    """`Deleting` was told while the OpenStackServer was there, so all that it had is gone with it."""
    said = find(found.object.status.conditions, DELETING)
    return said is not None and (said.status, said.reason) == (TRUE, Reason.DELETING_SERVER)
