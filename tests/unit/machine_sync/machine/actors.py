"""Who else is in the world of a machine: the controllers of either API, each doing what concerns the sync and no more.

All say in a `Paused` condition whether they leave an object alone, but for OpenStack's provider, which never does.

| actor | in charge when | what it does then |
|---|---|---|
| `machine_api_controllers` | status.authoritativeAPI is MachineAPI | a Machine that is deleted loses their finalizer |
| `cluster_api_core` | the Machine is not paused | owns its infra machine; takes it along when it is deleted |
| `provider` | the infra machine is not paused and has an owner | holds it; lets it go when it is deleted |
"""

from collections.abc import Mapping
from typing import Any

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER, MACHINE_API_FINALIZER, PAUSED_ANNOTATION
from windlass.model import MemoryApi

from .cases import EARLIER, Tree
from .world import THEIRS, platform_of


async def machine_api_controllers(api: MemoryApi) -> None:
    for machine in api.listing(mapi.Machine):
        authority = (machine.tree().get("status") or {}).get("authoritativeAPI")
        if not authority:
            continue
        if await say_paused(api, machine, paused=authority != "MachineAPI"):
            continue
        if machine.deleting and authority == "MachineAPI" and MACHINE_API_FINALIZER in machine.metadata.finalizers:
            await take_off(api, mapi.Machine, machine.metadata, MACHINE_API_FINALIZER)


async def cluster_api_core(api: MemoryApi) -> None:
    kind = platform_of(api).infra_machine
    for machine in api.listing(capi.Machine):
        if await say_paused(api, machine, paused=is_paused(machine)) or is_paused(machine):
            continue
        name = ((machine.tree().get("spec") or {}).get("infrastructureRef") or {}).get("name", "")
        infra = api.peek(kind, name, namespace=THEIRS)
        if machine.deleting and CLUSTER_API_FINALIZER in machine.metadata.finalizers:
            if infra is None:
                await take_off(api, capi.Machine, machine.metadata, CLUSTER_API_FINALIZER)
            elif not infra.deleting:
                await api.delete(kind, name, namespace=THEIRS)
        elif not machine.deleting and infra is not None and not infra.metadata.owner_references:
            owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": machine.name}
            owners = [{**owner, "uid": machine.uid, "controller": True, "blockOwnerDeletion": True}]
            await merge(api, infra, {"metadata": {"ownerReferences": owners}})


async def provider(api: MemoryApi) -> None:
    platform = platform_of(api)
    finalizer = f"{platform.infra_machine.RESOURCE.kind.lower()}.infrastructure.cluster.x-k8s.io"
    for infra in api.listing(platform.infra_machine):
        if platform.infra_machine_reports_pause and await say_paused(api, infra, paused=is_paused(infra)):
            continue
        if is_paused(infra):
            continue
        held = finalizer in infra.metadata.finalizers
        if infra.deleting and held:
            await take_off(api, platform.infra_machine, infra.metadata, finalizer)
        elif not infra.deleting and not held and infra.metadata.owner_references:
            await merge(api, infra, {"metadata": {"finalizers": [*infra.metadata.finalizers, finalizer]}})


def is_paused(found: Object[Any]) -> bool:
    return PAUSED_ANNOTATION in found.metadata.annotations


async def say_paused(api: MemoryApi, found: Object[Any], *, paused: bool) -> bool:
    """Make the condition say so. False if it did already."""
    status = found.tree().get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    listed = [one for one in conditions or [] if isinstance(one, Mapping)] if isinstance(conditions, list) else []
    said = {"type": "Paused", "status": str(paused), "reason": "Told", "lastTransitionTime": EARLIER}
    if said in listed:
        return False
    others = [one for one in listed if one.get("type") != "Paused"]
    await merge(api, found, {"status": {"conditions": [*others, said]}}, subresource="status")
    return True


async def take_off(api: MemoryApi, kind: type[KubernetesObject], meta: ObjectMeta, finalizer: str) -> None:
    kept = [one for one in meta.finalizers if one != finalizer]
    body = {"metadata": {"finalizers": kept, "resourceVersion": meta.resource_version}}
    await api.patch(kind, meta.name, body, type=PatchType.MERGE, namespace=meta.namespace)


async def merge(api: MemoryApi, found: Object[Any], body: Tree, *, subresource: str = "") -> None:
    await api.patch(
        found.kind, found.name, body, type=PatchType.MERGE, namespace=found.namespace, subresource=subresource
    )
