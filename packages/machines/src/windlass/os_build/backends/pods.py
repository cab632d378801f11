"""Reads from the Pods of a builder what keeps the build from its start, and what took it away. Pure.

The first row that fits a Pod whose container has not started:

| the Pod | is kept by |
|---|---|
| condition PodScheduled is False | `Obstacle.UNSCHEDULABLE`, with the scheduler's message |
| its container waits, for a reason about its image | `Obstacle.IMAGE` |
| its container waits for another reason | `Obstacle.START`, such as CreateContainerConfigError |
| else | nothing that it tells: its Events may |

The kubelet says DisruptionTarget of a Pod that it evicts, and leaves the Pod. Whoever drains a Node deletes the Pod.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from windlass.api.core import ContainerStateTerminated, ContainerStatus, Pod
from windlass.kube.conditions import FALSE, find, is_true
from windlass.kube.control.plan import Target
from windlass.os_build import log
from windlass.os_build.backends.owned import moment
from windlass.os_build.builder import Obstacle, Waits

CONTAINER: Final = "build"
BASES_CONTAINER: Final = "bases"
"""The one that runs before, if builds share base images. It has no failure of its own to tell, unless it is killed."""
_STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons of containers that wait for nothing in particular."""
_IMAGE: Final = frozenset(
    {
        *("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "InvalidImageName"),
        *("RegistryUnavailable", "SignatureValidationFailed"),
    }
)


def waits_of(pods: Iterable[Pod]) -> Waits | None:
    """What keeps the newest Pod that has not started; None if none waits."""
    waiting = [pod for pod in pods if pod.status.phase in ("", "Pending")]
    newest = max(waiting, key=lambda pod: pod.metadata.creation_timestamp or "", default=None)
    return _waits(newest) if newest is not None else None


def started(pods: Iterable[Pod]) -> datetime | None:
    """When the container that runs has started; None while none runs."""
    running = (status.state.running for pod in pods for status in _of_build(pod) if status.name == CONTAINER)
    return max((begun for each in running if each is not None and (begun := moment(each.started_at))), default=None)


def terminated(pods: Iterable[Pod]) -> list[ContainerStateTerminated]:
    """The ends of containers."""
    ends = ((status.name, status.state.terminated) for pod in pods for status in _of_build(pod))
    return [end for name, end in ends if end is not None and (name == CONTAINER or end.exit_code != 0)]


def evicted(pods: Iterable[Pod]) -> list[Pod]:
    """The Pods that were taken away and are still there, the last one last."""
    gone = [pod for pod in pods if pod.status.phase == "Failed" and is_true(pod.status.conditions, "DisruptionTarget")]
    return sorted(gone, key=lambda pod: pod.metadata.creation_timestamp or "")


def _of_build(pod: Pod) -> list[ContainerStatus]:
    every = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return [status for status in every if status.name in (BASES_CONTAINER, CONTAINER)]


def _waits(pod: Pod) -> Waits:
    obstacle, text = _obstacle(pod)
    about = Target(Pod, pod.metadata.name, pod.metadata.namespace)
    return Waits(about=about, since=moment(pod.metadata.creation_timestamp), obstacle=obstacle, text=text)


def _obstacle(pod: Pod) -> tuple[Obstacle | None, str]:
    unscheduled = find(pod.status.conditions, "PodScheduled")
    if unscheduled is not None and unscheduled.status == FALSE:
        return Obstacle.UNSCHEDULABLE, f"Pod {pod.metadata.name} is not scheduled: {log.tail(unscheduled.message)}"
    for status in _of_build(pod):
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in _STARTING:
            obstacle = Obstacle.IMAGE if waiting.reason in _IMAGE else Obstacle.START
            return obstacle, log.tail(f"Pod {pod.metadata.name}: {waiting.reason}: {waiting.message}")
    return None, ""
