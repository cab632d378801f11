"""Why a Pod is not ready: it cannot pull an image, or cannot start otherwise.

| a Pod that has neither ended nor been deleted | cause |
|---|---|
| a container waits for an image, with a reason of `PULLS` | ImagePull |
| a container waits with a reason of `STARTS` | PodStart |
| no node takes it | PodStart |
| it is on a node, and no container has been made for 5 minutes | PodStart |
| otherwise | none: it may become ready by itself |
"""

from typing import Final

from msgspec import Struct

from windlass.api.core import Pod
from windlass.update_status.conditions import find
from windlass.update_status.report import CauseKind
from windlass.update_status.times import MINUTE, Duration, Moment, known_moment

PULLS: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
STARTS: Final = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "CreatePodSandboxError",
        "RunContainerError",
        "StartError",
        "PostStartHookError",
    }
)
"""Reasons of containers that wait, by the kubelet."""

MADE_WITHIN: Final[Duration] = 5 * MINUTE
"""So long the kubelet may take to make the first container: it attaches volumes and sets up the network before."""


class Trouble(Struct, frozen=True, kw_only=True):
    """`verb` goes on from the name of the Pod; `since`: when it stopped being ready, None if nothing tells."""

    kind: CauseKind
    verb: str
    text: str
    since: Moment | None


def why_not_started(pod: Pod, *, now: Moment) -> Trouble | None:
    """What keeps the Pod from being ready; None: nothing that is known."""
    if pod.metadata.deletion_timestamp or pod.status.phase in ("Succeeded", "Failed"):
        return None
    ready, placed = find(pod.status.conditions, "Ready"), find(pod.status.conditions, "PodScheduled")
    since = known_moment(ready.last_transition_time) if ready and ready.status == "False" else None
    waiting = [
        (one.name, one.state.waiting)
        for one in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if one.state.waiting is not None
    ]
    for reasons, kind, verb in (
        (PULLS, CauseKind.IMAGE_PULL, "cannot pull its image"),
        (STARTS, CauseKind.START, "cannot start"),
    ):
        for name, state in waiting:
            if state.reason in reasons:
                text = f"Container {name}: {state.reason}: {state.message}".rstrip(": ")
                return Trouble(kind=kind, verb=verb, text=text, since=since)
    if placed is None:
        return None
    moved = known_moment(placed.last_transition_time)
    if placed.status == "False":
        text = placed.message or "Nothing tells why."
        return Trouble(kind=CauseKind.START, verb="finds no node", text=text, since=moved)
    is_begun = any(one.state.waiting is None for one in pod.status.container_statuses)
    if pod.status.phase == "Pending" and not is_begun and moved is not None and now - moved > MADE_WITHIN:
        text = f"None of its containers has been made on node {pod.spec.node_name}: see the Events of the Pod."
        return Trouble(kind=CauseKind.START, verb="does not start", text=text, since=moved)
    return None
