"""Reads the report that a controller keeps in the UpdateStatus, if there is one and the controller lives."""

from typing import Final

from windlass.api.coordination import Lease
from windlass.api.update import UPDATE_STATUS, UpdateStatus, UpdateStatusStatus
from windlass.kube.errors import DecodeError, Forbidden, NotFound, NotServed
from windlass.kube.verbs import Api
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.report import Report
from windlass.update_status.times import SECOND, Moment, known_moment

HOME: Final = "windlass-update-status"
LEASE: Final = "windlass-update-status"
"""Namespace and name of the Lease of the controller."""
PATIENCE: Final = 2
"""So many durations of the Lease may have passed since the controller renewed it."""

_NOT_WHOLE: Final = {("Available", "False"), ("Truncated", "True")}


class NotKept(Exception):
    """There is no UpdateStatus to rely on; the text says why."""


async def read_kept(client: Api, *, namespace: str, now: Moment) -> Report:
    """The whole report of a controller that lives, whose Lease is in `namespace`.

    Raises NotKept, also if the object says that it is out of date or lacks something, and KubeErrors of other kinds.
    """
    status = await _stored(client)
    report = _report(status, now)
    for one in status.conditions:
        if (one.type, one.status) in _NOT_WHOLE:
            raise NotKept(f"condition {one.type} of the UpdateStatus is {one.status} ({one.reason})")
    try:
        spec = (await client.get(Lease, LEASE, namespace=namespace)).decode().spec
        renewed = known_moment(spec.renew_time)
    except NotFound:
        raise NotKept(f"no controller has a Lease {namespace}/{LEASE}") from None
    except (Forbidden, DecodeError, ValueError) as error:
        raise NotKept(f"whether its controller lives is unknown: {error}") from None
    if not spec.holder_identity or renewed is None:
        raise NotKept(f"no controller holds the Lease {namespace}/{LEASE}")
    silent = now - renewed
    if silent > PATIENCE * (spec.lease_duration_seconds or 0) * SECOND:
        raise NotKept(f"its controller has not renewed the Lease {namespace}/{LEASE} for {silent // SECOND} s")
    return report


async def read_object(client: Api, *, now: Moment) -> Report:
    """The report in the UpdateStatus, however old. Raises NotKept, and KubeErrors of other kinds."""
    return _report(await _stored(client), now)


async def _stored(client: Api) -> UpdateStatusStatus:
    try:
        return (await client.get(UpdateStatus, UPDATE_STATUS)).decode().status
    except NotServed:
        raise NotKept("the cluster has no UpdateStatus API") from None
    except NotFound:
        raise NotKept(f"there is no UpdateStatus {UPDATE_STATUS}") from None
    except (Forbidden, DecodeError) as error:
        raise NotKept(str(error)) from None


def _report(status: UpdateStatusStatus, now: Moment) -> Report:
    try:
        return read(status, now=now)
    except NothingWritten as error:
        raise NotKept(str(error)) from None
