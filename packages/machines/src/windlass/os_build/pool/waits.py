"""Tells from Events what keeps a builder from its start, where its object does not tell. Pure."""

from datetime import datetime, timedelta
from typing import Final

from windlass.api.core import Event, Pod
from windlass.kube.control.question import Asking, Listed
from windlass.kube.control.refused import LONGEST
from windlass.kube.control.seen import Present
from windlass.kube.shorten import shortened
from windlass.os_build import log
from windlass.os_build.builder import Obstacle, Waits

_LATE: Final = timedelta(minutes=5)
"""An Event that has not come again for so long tells what is over: the kubelet tries a mount every two minutes."""


def by_events(waits: Waits, *, seen: Asking, now: datetime) -> tuple[Obstacle | None, str]:
    """What the late Events of the object say; a Pod without one may be pulling a large image.

    What a scheduler said once is over: the Pod itself tells whether it is scheduled now.
    """
    about, kind = waits.about, waits.about.kind.RESOURCE.kind
    chosen = f"involvedObject.kind={kind},involvedObject.name={about.name},type=Warning"
    found = seen.need(Listed(Event, field_selector=chosen, namespace=about.namespace))
    since = now - _LATE
    warnings = [
        each.object
        for each in found
        if isinstance(each, Present)
        and each.object.reason != "FailedScheduling"
        and each.object.last_seen
        and datetime.fromisoformat(each.object.last_seen) >= since
    ]
    last = max(warnings, key=lambda event: event.last_seen, default=None)
    if last is not None:
        text = shortened(" ".join(log.clean(f"{last.reason}: {last.message}").split()), LONGEST)
        return (Obstacle.REFUSED if last.reason == "FailedCreate" else Obstacle.START), text
    if about.kind is Pod:
        return None, ""
    return Obstacle.START, f"{kind} {about.name} has no Pod and no Event, so its controller may not work"
