"""Plays the kubelet for Pods of Jobs, since a plane has no Nodes: nothing runs unless this says so.

pods = PlayedPods(client, namespace="builds")
[pod] = await pods.of(job_name)
await pods.run(pod)
await pods.end(pod, Ended(message="sha256:..."))

async def work(pod): return Ended(exit_code=65, message="Error: ...")
await pods.play(work)                                  # all Pods, until cancelled
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from msgspec import Struct

from windlass.api.core import Pod
from windlass.kube.clock import Clock, SystemClock, rfc3339
from windlass.kube.object import Object
from windlass.kube.verbs import Api, PatchType
from windlass.testing.builds.playing import Part, play

JOB_NAME: Final = "batch.kubernetes.io/job-name"
KILLED: Final = 143
"""The exit code of a container that ended by SIGTERM."""


class Ended(Struct, frozen=True, kw_only=True):
    """How the container of a Pod ended.

    message    what it wrote to its termination log
    reason     the kubelet's word; empty: Completed or Error, by the exit code
    disrupted  the infrastructure took the Pod away: it gets the condition DisruptionTarget
    """

    exit_code: int = 0
    message: str = ""
    reason: str = ""
    disrupted: bool = False


class PlayedPods:
    """The Pods of Jobs in `namespace`, each with one container."""

    def __init__(self, api: Api, *, namespace: str, clock: Clock | None = None) -> None:
        self._api = api
        self._namespace = namespace
        self._clock = clock or SystemClock()

    async def of(self, job: str = "") -> list[Object[Pod]]:
        """The Pods of the Job (without a name: of all Jobs), oldest first."""
        selector = f"{JOB_NAME}={job}" if job else JOB_NAME
        found = await self._api.list(Pod, namespace=self._namespace, label_selector=selector)
        return sorted(found.items, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))

    async def run(self, pod: Object[Pod]) -> None:
        """Its container runs."""
        now = rfc3339(self._clock.now())
        await self._report(pod, "Running", {"running": {"startedAt": now}}, ready=True)

    async def wait(self, pod: Object[Pod], *, reason: str, message: str = "") -> None:
        """The container of the Pod waits, for its image for example."""
        await self._report(pod, "Pending", {"waiting": {"reason": reason, "message": message}})

    async def end(self, pod: Object[Pod], ended: Ended) -> None:
        """Its container has ended."""
        now = rfc3339(self._clock.now())
        state = {
            "exitCode": ended.exit_code,
            "reason": ended.reason or ("Error" if ended.exit_code else "Completed"),
            "message": ended.message,
            "startedAt": now,
            "finishedAt": now,
        }
        conditions = []
        if ended.disrupted:
            taken = {"reason": "DeletionByTaintManager", "message": "played: its Node was lost"}
            conditions = [{"type": "DisruptionTarget", "status": "True", "lastTransitionTime": now, **taken}]
        phase = "Failed" if ended.exit_code else "Succeeded"
        await self._report(pod, phase, {"terminated": state}, conditions=conditions)

    async def play(self, work: Callable[[Object[Pod]], Awaitable[Ended]]) -> None:
        """Run each Pod until `work` has its end; one that is deleted is killed. Until cancelled."""
        part: Part[Ended] = Part(
            look=self.of,
            is_new=lambda pod: _phase(pod) == "Pending",
            is_unwanted=lambda pod: pod.deleting and _phase(pod) in ("Pending", "Running"),
            begin=self.run,
            finish=self.end,
            stop=partial(self.end, ended=Ended(exit_code=KILLED)),
        )
        await play(part, work)

    async def _report(
        self,
        pod: Object[Pod],
        phase: str,
        state: dict[str, Any],
        *,
        ready: bool = False,
        conditions: list[dict[str, Any]] | None = None,
    ) -> None:
        [container] = pod.tree()["spec"]["containers"]
        status = {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": ready,
            "restartCount": 0,
            "state": state,
        }
        body = {"status": {"phase": phase, "conditions": conditions or [], "containerStatuses": [status]}}
        await self._api.patch(
            Pod, pod.name, body, type=PatchType.MERGE, namespace=self._namespace, subresource="status"
        )


def _phase(pod: Object[Pod]) -> str:
    return pod.decode().status.phase
