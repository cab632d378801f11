"""Which requests for a server may be sent now, and how their failures are told."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from windlass.kube.errors import Failure
from windlass.openstack.cloud.requests import CloudRequest, CreatePort, CreateTrunk, Creation, Deletion, RemoveSubports
from windlass.openstack.sending import Post, Sending
from windlass.openstack.server.snapshot import Visit
from windlass.openstack.status import Reason
from windlass.openstack.trouble import Told, told


def admit(requests: Iterable[CloudRequest], visit: Visit[Any, Any]) -> Sending:
    """Those that may be sent now, and what the others wait for."""
    post = Post(
        weather=visit.cloud.weather,
        last=visit.seen.last,
        now=visit.now,
        since=lambda _: visit.since,
        tell=partial(_told, visit),
    )
    return post.admit(requests)


def _told(visit: Visit[Any, Any], request: CloudRequest, failure: Failure) -> Told:
    return told(
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
        case CreatePort() | CreateTrunk():
            return Reason.PORT_CREATE_FAILED
        case Creation():
            return Reason.INSTANCE_CREATE_FAILED
        case Deletion() | RemoveSubports():
            return Reason.INSTANCE_DELETE_FAILED
    return Reason.OPENSTACK_ERROR
