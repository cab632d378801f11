"""Drains a Node as the machine-config-controller does: through the Eviction API, so PodDisruptionBudgets hold it up."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource
from windlass.kube.clock import Clock
from windlass.kube.errors import Conflict, NotFound, Unevictable
from windlass.kube.object import Object
from windlass.kube.verbs import Api


class Pod(Struct):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Pod", "pods")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


async def drain(
    api: Api, node: str, *, clock: Clock, every: float, within: float, late: Callable[[], Awaitable[object]]
) -> None:
    """Evict the Pods of the Node until there is none; those of DaemonSets stay.

    What a budget forbids is tried again every `every` seconds, for ever. `late` is awaited once if it lasts longer than
    `within` seconds. No kubelet ends the containers here, so Pods are given no grace period.
    """
    began, told = clock.monotonic(), False
    while True:
        # Not by a field selector: the in-memory API server has none for Pods.
        pods = [pod for pod in (await api.list(Pod)).items if _is_to_leave(pod, node)]
        for pod in pods:
            await _evict(api, pod)
        if not pods:
            return
        if not told and clock.monotonic() - began > within:
            told = True
            await late()
        await clock.sleep(every)


async def _evict(api: Api, pod: Object[Any]) -> None:
    assert pod.namespace is not None
    with suppress(Unevictable, NotFound, Conflict):  # the next list tells whether it is still there
        await api.evict(Pod, pod.name, namespace=pod.namespace, uid=pod.uid, grace_seconds=0)


def _is_to_leave(pod: Object[Any], node: str) -> bool:
    owners = (owner.kind for owner in pod.metadata.owner_references)
    return pod.tree().get("spec", {}).get("nodeName") == node and "DaemonSet" not in owners
