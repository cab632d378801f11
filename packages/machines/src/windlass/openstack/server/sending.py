"""Which requests for a server may be sent now, how their failures are told, and when the cloud is looked at again."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec.structs import replace

from windlass.kube.conditions import TRUE
from windlass.kube.control.plan import RequeueAfter
from windlass.kube.errors import Failure
from windlass.openstack.cloud import requests
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.instance.spec import Problem
from windlass.openstack.sending import SOON, Deferred, RequestGate, Sending
from windlass.openstack.server.snapshot import Timing, Visit
from windlass.openstack.status import PAUSED, PROGRESSING, Reason
from windlass.openstack.trouble import Trouble, trouble_of, trouble_of_problems, trouble_since


def admit(wanted: Iterable[CloudRequest], visit: Visit[Any, Any], *, without: Problem | None = None) -> Sending:
    """Those that may be sent now, and what the others wait for. `without`: why the user data is missing that the server
    asks for, so that it is not created."""
    gate = RequestGate(
        blockers=visit.cloud.blockers,
        last=visit.seen.last,
        now=visit.now,
        since=lambda _: visit.since,
        explain=partial(_trouble, visit),
    )
    wanted = tuple(wanted)
    starved = next((each for each in wanted if isinstance(each, requests.CreateServer)), None)
    if without is None or starved is None:
        return gate.admit(wanted)
    about = trouble_of_problems([without], delays=visit.timing.delays)
    sending = gate.admit(each for each in wanted if each is not starved)
    return replace(sending, first=sending.first or Deferred(starved, about.due(visit.now, since=visit.since), about))


def look_again(visit: Visit[Any, Any], what: str, *, part: str = PROGRESSING) -> RequeueAfter:
    """When the cloud is asked what became of it: the longer condition `part` has been True, the later."""
    if not visit.inventory.certain:
        return RequeueAfter(visit.inventory.certain_in + SOON, what)
    began = trouble_since(visit.found.object.status.conditions, part, TRUE) or visit.now
    return RequeueAfter(min(max((visit.now - began).total_seconds() / 4, 1.0), 10.0), what)


def under_way(
    conditions: Iterable[Any], inventory: ServerInventory | None, *, now: datetime, timing: Timing
) -> RequeueAfter | None:
    """The next look while a request of an object that is paused may be under way; None: none can be. `inventory` None:
    the cloud cannot say."""
    since = trouble_since(conditions, PAUSED, "Unknown") or now
    if now - since >= timedelta(seconds=timing.pausing) or (inventory is not None and inventory.certain):
        return None
    wait = inventory.certain_in if inventory is not None else timing.pausing
    return RequeueAfter(max(wait, 1.0), "A request may be under way")


def _trouble(visit: Visit[Any, Any], request: CloudRequest, failure: Failure) -> Trouble:
    return trouble_of(
        failure,
        doing=f"{request.verb} {request.subject}".strip(),
        reason=_reason_of(request),
        where=visit.cloud.where,
        quotas=visit.cloud.quotas,
        delays=visit.timing.delays,
    )


def _reason_of(request: CloudRequest) -> Reason:
    """The reason of a condition when the request fails."""
    match request:
        case requests.CreatePort() | requests.CreateTrunk():
            return Reason.PORT_CREATE_FAILED
        case requests.Creation():
            return Reason.INSTANCE_CREATE_FAILED
        case requests.Deletion() | requests.RemoveSubports():
            return Reason.INSTANCE_DELETE_FAILED
    return Reason.OPENSTACK_ERROR
