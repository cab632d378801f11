"""The conditions of an OpenStackMachine, from those of its OpenStackServer.

| state of the server | InstanceReady |
|---|---|
| none yet | as the OpenStackServer says if that is False; else False, `InstanceNotReady` |
| ACTIVE | True; False while its addresses, or its floating IP, are missing; else as the OpenStackServer says |
| ERROR | False, `InstanceStateError` |
| DELETED, SOFT_DELETED | False, `InstanceDeleted` |
| BUILD | False, `InstanceNotReady` |
| any other | Unknown, `InstanceNotReady` |

The OpenStackServer has the better message, so its condition is taken over wherever it does not contradict the state.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import Condition
from windlass.kube.conditions import FALSE, TRUE, UNKNOWN, condition, find, status_of
from windlass.kube.control.plan import Merge
from windlass.kube.control.seen import Present
from windlass.openstack import status
from windlass.openstack.constants import INGRESS_ANNOTATION
from windlass.openstack.instance.state import ACTIVE, DELETED
from windlass.openstack.machine.snapshot import INGRESS_READY, OpenStackMachineSnapshot, parts_of
from windlass.openstack.objects import leads_to_machines
from windlass.openstack.status import (
    AUTHENTIC,
    AUTHENTICATED,
    ENDPOINT_READY,
    FLOATING_READY,
    INSTANCE,
    INSTANCE_READY,
    NOT_DELETING,
    NOT_PAUSED,
    PROGRESSING,
    Reason,
    first_visit,
    progressing,
    unvisited,
)

WAITING: Final = "Waiting for instance to be created"

WAITS_FOR_SERVER: Final = (
    condition(INSTANCE_READY, False, Reason.INSTANCE_NOT_READY, WAITING),
    progressing(WAITING),
    NOT_DELETING,
    NOT_PAUSED,
)
_GIVEN: Final = condition(INGRESS_READY, True, Reason.READY, "The API endpoint of the cluster is given")
_LEADS: Final = condition(INGRESS_READY, True, Reason.READY, "The API endpoint of the cluster leads to the machine")


def write(
    seen: OpenStackMachineSnapshot,
    found: Present[OpenStackMachine],
    conditions: Iterable[Condition],
    *,
    now: datetime,
    fields: dict[str, Any] | None = None,
    awaited: str = WAITING,
) -> Merge:
    """The one status write. All conditions that are missing are added, Unknown; `awaited` is what comes first."""
    parts = parts_of(seen, found)
    types = (*INSTANCE, INGRESS_READY) if INGRESS_READY in parts else INSTANCE
    first = first_visit(unvisited(found, types), awaited=awaited)
    return status.write(found, (*first, *conditions), parts=parts, now=now, fields=fields)


def in_the_way(
    seen: OpenStackMachineSnapshot,
    found: Present[OpenStackMachine],
    reason: Reason,
    message: str,
    *,
    now: datetime,
    by_itself: bool = True,
) -> Merge:
    """There is no server, and why. `by_itself`: it goes on when something else changes; else a person must act."""
    progress = (
        progressing(message) if by_itself else condition(PROGRESSING, False, Reason.INVALID_CONFIGURATION, message)
    )
    conditions = (condition(INSTANCE_READY, False, reason, message), progress, NOT_DELETING, NOT_PAUSED)
    return write(seen, found, conditions, now=now, awaited=message)


def mirrored(server: Present[OpenStackServer], *, addresses: bool) -> tuple[Condition, ...]:
    """What the OpenStackServer says, as conditions of its machine. `addresses`: they are known.

    Until there is a server in the cloud or a trouble, nothing is taken over: each step would be a write.
    """
    conditions = server.object.status.conditions
    state = (server.object.status.instance_state or "").upper()
    ready = _instance_ready(server, state, addresses=addresses)
    if not state and FALSE not in (status_of(conditions, AUTHENTICATED), status_of(conditions, INSTANCE_READY)):
        return WAITS_FOR_SERVER
    conditions = [ready]
    if (authenticated := said_by(server, AUTHENTICATED)) is not None:
        conditions.append(authenticated)
    elif ready.status == TRUE:  # an earlier provider's: without access to the cloud it would not know
        conditions.append(AUTHENTIC)
    progress = said_by(server, PROGRESSING)
    conditions.append(_progress(ready) if progress is None or progress.reason == Reason.PROGRESSING else progress)
    return (*conditions, NOT_DELETING, NOT_PAUSED)


def said_by(server: Present[OpenStackServer], type: str) -> Condition | None:  # noqa: A002 - the word of the field
    """A condition of the OpenStackServer, without time and generation; None while it says nothing."""
    found = find(server.object.status.conditions, type)
    if found is None or found.reason in ("", Reason.NOT_YET_OBSERVED):
        return None
    return condition(type, found.status, found.reason, found.message)  # type: ignore[arg-type]


def ingress(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> Condition | None:
    """Whether the API endpoint of the cluster leads to a machine of the control plane; None for other machines.

    The controller of the cluster says so. The condition then stays: the cluster's controller restores a lost endpoint.
    """
    if INGRESS_READY not in parts_of(seen, found):
        return None
    infra = seen.infra if isinstance(seen.infra, Present) else None
    if infra is not None and not leads_to_machines(infra):
        return _GIVEN
    if INGRESS_ANNOTATION in found.metadata.annotations:
        return _LEADS
    had = find(found.object.status.conditions, INGRESS_READY)
    if had is not None and had.status == TRUE:
        return condition(INGRESS_READY, True, had.reason, had.message)
    endpoint = find(infra.object.status.conditions, ENDPOINT_READY) if infra is not None else None
    if endpoint is not None and endpoint.status == FALSE:
        return condition(INGRESS_READY, False, endpoint.reason, endpoint.message)
    whose = f"OpenStackCluster {infra.metadata.name}" if infra is not None else "the OpenStackCluster"
    text = f"Waiting for {whose} to lead its API endpoint to the machine"
    return condition(INGRESS_READY, False, Reason.WAITING_FOR_CLUSTER, text)


_OF_STATE: Final = {
    "": WAITS_FOR_SERVER[0],
    "ERROR": condition(INSTANCE_READY, False, Reason.INSTANCE_STATE_ERROR, "Instance is in ERROR state"),
    "BUILD": condition(INSTANCE_READY, False, Reason.INSTANCE_NOT_READY, "Instance is building"),
    **dict.fromkeys(DELETED, condition(INSTANCE_READY, False, Reason.INSTANCE_DELETED, "Instance has been deleted")),
}


def _instance_ready(server: Present[OpenStackServer], state: str, *, addresses: bool) -> Condition:
    said, known = said_by(server, INSTANCE_READY), _OF_STATE.get(state)
    if said is not None and said.status == FALSE:
        return said if said.message or known is None else replace(said, message=known.message)
    if state == ACTIVE:
        if said is not None and said.status == UNKNOWN:
            return said
        if not addresses:
            return condition(
                INSTANCE_READY, False, Reason.INSTANCE_NOT_READY, "Waiting for the addresses of the server"
            )
        return _addressed(server)
    text = f"Instance state is not handled: {state}"
    return known or condition(INSTANCE_READY, None, Reason.INSTANCE_NOT_READY, text)


def _addressed(server: Present[OpenStackServer]) -> Condition:
    """It runs, and is ready when it has the floating IP that it asks for."""
    floating = find(server.object.status.conditions, FLOATING_READY)
    if server.object.spec.floating_ip_pool_ref is None or (floating is not None and floating.status == TRUE):
        return condition(INSTANCE_READY, True, Reason.READY)
    if floating is None or floating.status == UNKNOWN:
        return condition(INSTANCE_READY, False, Reason.INSTANCE_NOT_READY, "Waiting for the floating IP of the server")
    return condition(INSTANCE_READY, False, floating.reason, floating.message)


def _progress(ready: Condition) -> Condition:
    if ready.status == TRUE:
        return condition(PROGRESSING, False, Reason.SUCCESS)
    if ready.reason == Reason.INSTANCE_NOT_READY and ready.status == FALSE:
        return progressing(ready.message)
    return condition(PROGRESSING, False, ready.reason, ready.message)
