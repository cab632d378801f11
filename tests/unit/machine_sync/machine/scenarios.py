"""Scenarios for the crash harness: a machine, a process that keeps it in sync, and who else acts."""

from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakSet

from windlass.api import mapi
from windlass.kube.errors import AlreadyExists, Conflict
from windlass.kube.verbs import Api, PatchType
from windlass.testing.crash import Actor, Scenario
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.reader import MemoryReader

from .cases import Tree
from .world import OURS, THEIRS, empty, holds_for_nobody, leaked, platform_of, reconciled

MAPI_AT_END = "Machine.machine.openshift.io/v1beta1 openshift-machine-api/w-0"
CAPI_AT_END = "Machine.cluster.x-k8s.io/v1beta2 openshift-cluster-api/w-0"
INFRA_AT_END = "OpenStackMachine.infrastructure.cluster.x-k8s.io/v1beta1 openshift-cluster-api/w-0-infra"


async def settle(api: Api, reader: MemoryReader) -> None:
    """One process, which comes back after conflicts."""
    for _ in range(5):
        rest = await reconciled(api, reader)
        if not isinstance(rest.error, Conflict | AlreadyExists):
            return


def scenario(start: MemoryApi, *actors: Actor, stays_mirrored: bool = True) -> Callable[[], Scenario]:
    """Scenarios that begin as `start` is now."""
    return lambda: Scenario(copy_of(start), settle, actors, leaked=leaked if stays_mirrored else holds_for_nobody)


def copy_of(api: MemoryApi) -> MemoryApi:
    fresh = empty(platform_of(api))
    for kind in api.kinds:
        if kind.RESOURCE not in {served.RESOURCE for served in fresh.kinds}:
            fresh.install(kind)
    fresh.load(*api.dump())
    return fresh


def once(do: Callable[[MemoryApi], Awaitable[object]]) -> Actor:
    """An actor that acts once in each world."""
    done: WeakSet[MemoryApi] = WeakSet()

    async def act(api: MemoryApi) -> None:
        if api not in done:
            done.add(api)
            await do(api)

    return act


def deleting(kind: type[Any], name: str, namespace: str) -> Actor:
    return once(lambda api: api.delete(kind, name, namespace=namespace))


def patching(kind: type[Any], name: str, body: Tree, *, subresource: str = "") -> Actor:
    namespace = OURS if kind.RESOURCE.group == mapi.Machine.RESOURCE.group else THEIRS
    return once(
        lambda api: api.patch(kind, name, body, type=PatchType.MERGE, namespace=namespace, subresource=subresource)
    )
