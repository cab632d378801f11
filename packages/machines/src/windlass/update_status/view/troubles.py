"""How old the update is that is shown, and why it may lack something: pure, a line for people for each reason."""

from collections.abc import Iterable
from typing import Any, Final

from windlass.api.update import UpdateStatusStatus
from windlass.kube.cache.health import FollowStage, Pulse
from windlass.update_status.times import known_moment, rfc3339

INSTALL: Final = "install Update status (docs/install.md), or use `windlass status`"
PASSING: Final = 2.0
"""Seconds for which a watch may fail before people hear of it."""
_AMISS: Final = {"Available": "False", "Degraded": "True", "Truncated": "True", "InformersDegraded": "True"}
"""The status of each condition of the controller that people have to know of."""


def troubles(
    status: UpdateStatusStatus | None, followed: Iterable[tuple[type[Any], Pulse]], *, silence: str
) -> list[str]:
    """`status` None: there is no UpdateStatus. `followed`: kinds with how their watches do. `silence`: see there."""
    found = [text for kind, pulse in followed if (text := _unfollowed(kind, pulse))]
    if status is None:
        return found
    amiss = (one for one in status.conditions if one.status == _AMISS[one.type])
    said = (f"{one.type} of the UpdateStatus is {one.status} ({one.reason}): {one.message}" for one in amiss)
    return [*found, *filter(None, [silence]), *said]


def changed(status: UpdateStatusStatus) -> str:
    """When the controller last saw something else than before, RFC 3339; empty if that is not known."""
    plane = status.control_plane
    texts = [one.last_transition_time for one in status.conditions]
    texts += [one.acquired_at for one in status.causes]
    texts += [one.acquired_at for informer in (plane.informers if plane else ()) for one in informer.insights]
    texts += [
        one.acquired_at for pool in status.worker_pools for informer in pool.informers for one in informer.insights
    ]
    moments = [when for when in map(known_moment, texts) if when is not None]
    return rfc3339(max(moments)) if moments else ""


def _unfollowed(kind: type[Any], pulse: Pulse) -> str:
    if pulse.stage is FollowStage.NOT_SERVED:
        return f"the cluster has no {kind.RESOURCE.kind} API: {INSTALL}"
    if pulse.failing and (pulse.failing_seconds or 0) > PASSING:
        return f"{kind.RESOURCE.plural} cannot be read: {pulse.failing}"
    return ""
