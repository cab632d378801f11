"""Reads the report that a controller keeps in the UpdateStatus, if there is one and the controller lives.

Whether it lives is told by the UpdateStatusHeartbeat, and all times are those of the API server's clock.
"""

from collections.abc import Callable
from typing import Final

from windlass.api.update import UPDATE_STATUS, UpdateStatus, UpdateStatusStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.kube.errors import DecodeError, Forbidden, NotFound, NotServed
from windlass.kube.verbs import Api
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.heartbeat import MISSED
from windlass.update_status.report import Report
from windlass.update_status.times import SECOND, Moment, known_moment

HOME: Final = "windlass-update-status"
LEASE: Final = "windlass-update-status"
"""Namespace and name of the Lease of the controller."""

_NOT_WHOLE: Final = {("Available", "False"), ("Truncated", "True")}


NOT_SERVED: Final = "the cluster has no UpdateStatus API"


class NotKept(Exception):
    """There is no UpdateStatus to rely on; the text says why."""


async def read_kept(client: Api, *, clock: Callable[[], Moment]) -> Report:
    """The whole report of a controller that lives. `clock` is asked after the API server has answered.

    Raises NotKept, also if the object says that it is out of date or lacks something, and KubeErrors of other kinds.
    """
    status = await _stored(client)
    beat = await _beat(client)
    report = _report(status, clock())
    if why := incomplete(status) or silence(beat, now=clock()):
        raise NotKept(why)
    return report


async def read_object(client: Api, *, clock: Callable[[], Moment]) -> Report:
    """The report in the UpdateStatus, however old. Raises NotKept, and KubeErrors of other kinds."""
    return _report(await _stored(client), clock())


def incomplete(status: UpdateStatusStatus) -> str:
    """Why the object itself says that it is out of date or lacks something; empty if it does not."""
    amiss = (one for one in status.conditions if (one.type, one.status) in _NOT_WHOLE)
    said = (f"condition {one.type} of the UpdateStatus is {one.status} ({one.reason})" for one in amiss)
    return next(said, "")


def silence(beat: UpdateStatusHeartbeat | None, *, now: Moment) -> str:
    """Why the controller seems not to live, by its last `beat` (None: there was none); empty if it does."""
    if beat is None:
        return "nobody is known to keep the UpdateStatus up to date: there is no UpdateStatusHeartbeat"
    try:
        last = known_moment(beat.last_beat)
    except ValueError as error:
        return f"whether the controller lives is unknown: lastBeat of the UpdateStatusHeartbeat: {error}"
    if last is None or now - last > MISSED * beat.period_seconds * SECOND:
        return f"nobody keeps the UpdateStatus up to date: the last heartbeat of its controller was at {beat.last_beat}"
    return ""


async def why_silent(client: Api, *, clock: Callable[[], Moment]) -> str:
    """Why the controller seems not to live, or why that is unknown; empty if it lives. Raises other KubeErrors."""
    try:
        beat = await _beat(client)
    except NotKept as unknown:
        return str(unknown)
    return silence(beat, now=clock())


async def _beat(client: Api) -> UpdateStatusHeartbeat | None:
    try:
        return (await client.get(UpdateStatusHeartbeat, UPDATE_STATUS)).decode()
    except (NotFound, NotServed):
        return None
    except (Forbidden, DecodeError) as error:
        raise NotKept(f"whether the controller lives is unknown: {error}") from None


async def _stored(client: Api) -> UpdateStatusStatus:
    try:
        return (await client.get(UpdateStatus, UPDATE_STATUS)).decode().status
    except NotServed:
        raise NotKept(NOT_SERVED) from None
    except NotFound:
        raise NotKept(f"there is no UpdateStatus {UPDATE_STATUS}") from None
    except (Forbidden, DecodeError) as error:
        raise NotKept(str(error)) from None


def _report(status: UpdateStatusStatus, now: Moment) -> Report:
    try:
        return read(status, now=now)
    except NothingWritten as error:
        raise NotKept(str(error)) from None
