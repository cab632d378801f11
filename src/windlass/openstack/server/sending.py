"""Which requests may be sent now, and what the others wait for: closed gates, and refusals that are not due again."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.plan import Call, Outcome, target
from windlass.kube.control.seen import Present
from windlass.kube.errors import Failure
from windlass.openstack.cloud.gates import IDENTITY
from windlass.openstack.cloud.requests import CloudRequest, CreatePort, CreateTrunk, Creation, Deletion, RemoveSubports
from windlass.openstack.server.snapshot import Visit
from windlass.openstack.status import Reason
from windlass.openstack.trouble import Told, told


class Held(Struct, frozen=True):
    """A request that is not sent before `until`, and why."""

    request: CloudRequest
    until: datetime
    told: Told


class Sending(Struct, frozen=True):
    """`now` may be sent at once. Of those that wait, `first` is told: what a person must correct, else what is tried
    again first.

    `later`: nothing more is sent in this attempt, because a request of it failed.
    """

    now: tuple[CloudRequest, ...]
    first: Held | None
    later: bool


def admit(requests: Iterable[CloudRequest], visit: Visit) -> Sending:
    free: list[CloudRequest] = []
    held: list[Held] = []
    for request in requests:
        waits = [*_refused(request, visit), *_gated(request, visit)]
        longest = max((each for each in waits if each.until > visit.now), key=lambda each: each.until, default=None)
        if longest is None:
            free.append(request)
        else:
            held.append(longest)
    first = min(held, key=lambda each: (each.told.by_itself, each.until), default=None)
    return Sending(tuple(free), first, later=_has_failed(visit.seen.last))


def _has_failed(last: Outcome) -> bool:
    """Another system failed in this attempt, so no further request is sent in it."""
    if last.unread is not None:
        return True
    return any(
        isinstance(each.action, Call) and (each.error.transient or each.error.unknown_outcome)
        for each in last.failures
        if each.error is not None
    )


def calls(found: Present[OpenStackServer], requests: Sequence[CloudRequest], why: str) -> list[Call]:
    return [Call(target=target(found), request=request, why=why) for request in requests]


def _refused(request: CloudRequest, visit: Visit) -> Iterable[Held]:
    remembered = [
        (each.failure, each.at)
        for each in visit.cloud.weather.refusals
        if (each.what, each.subject) == (request.verb, request.subject)
    ]
    if remembered:
        yield _held(request, *max(remembered, key=lambda pair: pair[1]), visit)
        return
    for each in visit.seen.last.failures:
        if isinstance(each.action, Call) and each.action.request == request and each.error is not None:
            yield _held(request, each.error, visit.now, visit)


def _gated(request: CloudRequest, visit: Visit) -> Iterable[Held]:
    quota = f"quota:{request.SERVICE}" if isinstance(request, Creation) else ""
    for name, closed in visit.cloud.weather.gates.items():
        if name in (request.SERVICE, IDENTITY, quota):
            yield Held(request, closed.until, _told(request, closed.why, visit))


def _held(request: CloudRequest, failure: Failure, at: datetime, visit: Visit) -> Held:
    about = _told(request, failure, visit)
    return Held(request, about.due(at, since=visit.since), about)


def _told(request: CloudRequest, failure: Failure, visit: Visit) -> Told:
    return told(
        failure,
        doing=f"{request.verb} {request.subject}".strip(),
        reason=_reason_of(request),
        where=visit.cloud.where,
        quotas=visit.cloud.quotas,
        delays=visit.timing.delays,
    )


def _reason_of(request: CloudRequest) -> Reason:
    match request:
        case CreatePort() | CreateTrunk():
            return Reason.PORT_CREATE_FAILED
        case Creation():
            return Reason.INSTANCE_CREATE_FAILED
        case Deletion() | RemoveSubports():
            return Reason.INSTANCE_DELETE_FAILED
    return Reason.OPENSTACK_ERROR
