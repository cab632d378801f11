"""Finds out what became of a request to update, by `spec.desiredUpdate` and the conditions of ClusterVersion.

| spec.desiredUpdate | conditions | the request |
|---|---|---|
| any, or none | Invalid is True | refused: the operator goes on with what it had |
| none, or it is `status.desired` | | none: the cluster is there, or on its way |
| another release | ReleaseAccepted is False, and does not speak of a third one | refused |
| another release | otherwise | pending |

`status.observedGeneration` is no sign of an answer: the operator reports it before it has loaded the payload.

Source: `github.com/openshift/cluster-version-operator`, `pkg/cvo/sync_worker.go` and `status.go`.
"""

import re
from collections.abc import Iterator
from typing import Final

from windlass.api.config import ClusterVersion, DesiredUpdate, Release
from windlass.api.meta import PlainCondition
from windlass.update_status.conditions import find
from windlass.update_status.report import Impact, Insight, Level, Reference, Request, RequestState
from windlass.update_status.times import known_moment

_RELEASE: Final = re.compile(r'\bversion="([^"]*)" image="([^"]*)"')
"""How the operator names a payload that it loads, or has failed to load."""

_NO_MESSAGE: Final = "The Cluster Version Operator gives no reason."
_PENDING: Final = "Nothing has begun: the Cluster Version Operator loads and verifies the release first."
_CLEAR: Final = "take the request back with `oc adm upgrade --clear`"
_REMEDIES: Final = {
    "PreconditionChecks": f"Correct the precondition that the message names, or {_CLEAR}.",
    "RetrievePayload": f"See whether the nodes reach the image and its signature; then ask again, or {_CLEAR}.",
}
_REMEDY: Final = f"Correct what the message names, then ask again, or {_CLEAR}."
_WAIT: Final = f"Wait; if it lasts, see the log of the Cluster Version Operator, or {_CLEAR}."
_INVALID: Final = f"Correct spec of ClusterVersion version as the message says, or {_CLEAR}."


def request_of(version: ClusterVersion) -> Request | None:
    """The update that was asked for and has not begun; None: there is none."""
    asked, status = version.spec.desired_update, version.status
    invalid = find(status.conditions, "Invalid")
    if invalid is not None and invalid.status == "True":
        return _refused(_target(asked) if asked else "", invalid)
    if asked is None or not _target(asked) or _is(asked, status.desired):
        return None
    accepted = find(status.conditions, "ReleaseAccepted")
    if accepted is None or accepted.status != "False" or _is_of_another(accepted.message, asked):
        return Request(target=_target(asked), state=RequestState.PENDING)
    return _refused(_target(asked), accepted)


def insights_of_request(request: Request | None, name: str) -> Iterator[Insight]:
    """What to know of a request that has not begun. `name`: of the ClusterVersion."""
    if request is None:
        return
    what = f"The update to {request.target}" if request.target else "The request of ClusterVersion"
    resources = (Reference("config.openshift.io", "clusterversions", name),)
    if request.state is RequestState.PENDING:
        yield Insight(
            level=Level.INFO,
            impact=Impact.NONE,
            summary=f"{what} was asked for, and is not accepted yet",
            description=_PENDING,
            remedy=_WAIT,
            reference="",
            started=None,
            resources=resources,
        )
        return
    yield Insight(
        level=Level.ERROR,
        impact=Impact.UPDATE_STALLED,
        summary=f"{what} was refused" + (f" ({request.reason})" if request.reason else ""),
        description=request.message or _NO_MESSAGE,
        remedy=_INVALID if request.reason == "InvalidClusterVersion" else _REMEDIES.get(request.reason, _REMEDY),
        reference="",
        started=request.since,
        resources=resources,
    )


def _target(asked: DesiredUpdate) -> str:
    several = f"for architecture {asked.architecture}" if asked.architecture else ""
    return " ".join(filter(None, (asked.version or asked.image, several)))


def _is(asked: DesiredUpdate, desired: Release) -> bool:
    """Whether the release is the one that was asked for. A version is enough: the image of it may be a mirror's."""
    if asked.architecture and asked.architecture != desired.architecture:
        return False
    if asked.version:
        return asked.version == desired.version
    return not asked.image or asked.image == desired.image


def _is_of_another(message: str, asked: DesiredUpdate) -> bool:
    """Whether the condition still speaks of a request before this one."""
    found = _RELEASE.search(message)
    if found is None:
        return False
    version, image = found.groups()
    return asked.version != version if asked.version and version else bool(asked.image and asked.image != image)


def _refused(target: str, why: PlainCondition) -> Request:
    return Request(
        target=target,
        state=RequestState.REFUSED,
        reason=why.reason,
        message=why.message,
        since=known_moment(why.last_transition_time),
    )
