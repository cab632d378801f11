"""The status of an OpenStackServer: what was made for it, what its state means, what is in the way."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import Condition, tree
from windlass.kube.conditions import FALSE, condition, find
from windlass.kube.control.plan import Emit, Merge, Plan, RequeueAfter
from windlass.kube.control.seen import Present
from windlass.openstack import status
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.cloud.resources import Port, Server, Trunk, Volume
from windlass.openstack.instance.spec import Resolved
from windlass.openstack.instance.state import ACTIVE, addresses, verdict
from windlass.openstack.objects import event
from windlass.openstack.sending import Deferred, at
from windlass.openstack.server.resolved import to_status
from windlass.openstack.server.snapshot import TIMING, Timing, adopted, made, parts_of
from windlass.openstack.status import (
    AUTHENTIC,
    AUTHENTICATED,
    INSTANCE_READY,
    NOT_DELETING,
    NOT_PAUSED,
    PROGRESSING,
    Reason,
    progressing,
)
from windlass.openstack.trouble import Trouble, lasting_since

R = TypeVar("R", Port, Volume, Trunk)

WAITING = "Waiting for instance to be created"
LOST = "DELETED"
"""The state of a server that somebody else has deleted."""


def write(
    found: Present[OpenStackServer],
    told: Iterable[Condition],
    *,
    now: datetime,
    fields: dict[str, Any] | None = None,
    why: str = "",
) -> Merge:
    """The one status write. `ready` is required by the schema of the kind."""
    fields = {"ready": found.object.status.ready, **(fields or {})}
    return status.write(found, told, parts=parts_of(found.object), now=now, fields=fields, why=why)


def write_answer(
    found: Present[OpenStackServer],
    ready: Condition,
    progress: Condition,
    *,
    now: datetime,
    fields: dict[str, Any] | None = None,
) -> Merge:
    """The cloud has answered: how the server is, and whether that changes by itself."""
    return write(found, (AUTHENTIC, ready, progress, NOT_DELETING, NOT_PAUSED), now=now, fields=fields)


def going_on(
    found: Present[OpenStackServer], what: str, *, now: datetime, fields: dict[str, Any] | None = None
) -> Merge:
    """The server is being made: nothing is in the way."""
    ready = condition(INSTANCE_READY, None, Reason.INSTANCE_NOT_READY, what)
    return write_answer(found, ready, progressing(what), now=now, fields=fields)


def in_the_way(
    found: Present[OpenStackServer],
    trouble: Trouble,
    until: datetime,
    *,
    now: datetime,
    deferred: Deferred | None = None,
    fields: dict[str, Any] | None = None,
) -> Plan:
    """A trouble as conditions, and as an Event when its reason is new; the next look is at `until`."""
    progress = trouble.progress(until)
    rest = (NOT_DELETING, NOT_PAUSED) if trouble.type == AUTHENTICATED else (AUTHENTIC, NOT_DELETING, NOT_PAUSED)
    merge = write(found, (trouble.condition, progress, *rest), now=now, fields=fields)
    news = None
    if deferred is not None:
        news = news_of(found, f"Failed{deferred.request.verb.replace(' ', '')}", trouble.condition)
    return Plan.of(merge, news).then(at(until, trouble.message, now=now))


def out_of_reach(
    found: Present[OpenStackServer],
    trouble: Trouble,
    *,
    now: datetime,
    timing: Timing = TIMING,
    rest: Sequence[Condition] = (NOT_DELETING, NOT_PAUSED),
) -> Plan:
    """The cloud cannot be asked. What was known about a server stays, until nothing has been heard for too long.

    Otherwise each restart of a service would make all servers unready, although they run.
    """
    conditions = found.object.status.conditions
    since = lasting_since(conditions, trouble.type)
    until = trouble.due(now, since=since)
    told = [trouble.progress(until), *rest]
    if trouble.type == AUTHENTICATED or not found.object.status.instance_id:
        told.append(trouble.condition)
    elif not trouble.by_itself or (since is not None and (now - since).total_seconds() >= timing.overdue):
        told.append(condition(INSTANCE_READY, None, trouble.reason, trouble.message))
    merge = write(found, told, now=now)
    return Plan.of(merge).then(at(until, trouble.message, now=now))


def standing(
    found: Present[OpenStackServer],
    resolved: Resolved | None,
    inventory: ServerInventory,
    server: Server,
    *,
    now: datetime,
) -> Plan:
    """The server exists: report its state, its addresses and its resources."""
    says = verdict(server)
    if says.building:
        message = "Instance is building"  # without its tasks, which would be a write each
        told = condition(INSTANCE_READY, False, Reason.INSTANCE_NOT_READY, message)
        progress = progressing(message)
    else:
        told = condition(INSTANCE_READY, says.ready, says.reason, says.message)
        progress = _at_rest(says.ready, says.reason, says.message)
    fields = {
        "instanceID": server.id,
        "instanceState": server.status or "BUILD",
        "ready": server.status == ACTIVE,
        "addresses": [tree(each) for each in addresses(server)] if server.addresses else [],
        **made_of(resolved, inventory),
        **({"resolved": to_status(resolved)} if resolved is not None and resolved != made(found).resolved else {}),
    }
    fields = {name: value for name, value in fields.items() if value != []}
    merge = write_answer(found, told, progress, now=now, fields=fields)
    news = None
    if not found.object.status.instance_id and not adopted(found):
        note = f"Created server {server.name} with id {server.id}"
        news = event(found, "Successfulcreateserver", note)
    plan = Plan.of(merge, news or alarm(found, told))
    if says.building:
        return plan.then(RequeueAfter(10.0, "the server is building"))
    return plan if says.ready else plan.then(RequeueAfter(60.0, says.message))


def alarm(found: Present[OpenStackServer], told: Condition) -> Emit | None:
    """An Event of a server that is lost or broken, when that is new."""
    if told.status != FALSE or told.reason == Reason.INSTANCE_NOT_READY:
        return None
    return news_of(found, told.reason, told)


def news_of(found: Present[Any], reason: str, told: Condition) -> Emit | None:
    """An Event of a trouble, as its condition tells it, when that is new."""
    before = find(found.object.status.conditions, told.type)
    if before is not None and (before.status, before.reason) == (told.status, told.reason):
        return None
    occasion = (before and before.last_transition_time) or ""
    return event(found, reason, told.message, warning=True, occasion=occasion)


def made_of(resolved: Resolved | None, inventory: ServerInventory) -> dict[str, Any]:
    """`resources` of the status, in the order of the spec; nothing if there is nothing yet."""
    ports = _in_order([port.name for port in resolved.ports] if resolved else None, inventory.ports)
    volumes = _in_order([volume.name for volume in resolved.volumes] if resolved else None, inventory.volumes)
    trunks = _in_order(None, inventory.trunks)
    if not (ports or volumes or trunks):
        return {}
    resources: dict[str, Any] = {
        "ports": [{"id": each.id} for each in ports],
        "volumes": [{"name": each.name, "id": each.id} for each in volumes],
        "trunks": [{"portID": each.port_id, "id": each.id} for each in trunks],
    }
    return {"resources": {name: each for name, each in resources.items() if each}}


def _in_order(names: list[str] | None, found: Sequence[R]) -> list[R]:
    """The oldest of each name, as the spec has them; all, if the spec does not say."""
    if names is None:
        return list(found)
    first: dict[str, R] = {}
    for each in found:
        first.setdefault(each.name, each)
    return [first[name] for name in names if name in first]


def _at_rest(ready: bool | None, reason: str, message: str) -> Condition:
    if ready:
        return condition(PROGRESSING, False, Reason.SUCCESS)
    if ready is None:
        return condition(PROGRESSING, False, reason, message)
    text = f"{message}\nIt is left as it is: a new object is needed for another server"
    return condition(PROGRESSING, False, Reason.UNRECOVERABLE_ERROR, text)
