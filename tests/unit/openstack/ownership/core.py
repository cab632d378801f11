"""Cluster API's core in a management cluster, as far as infrastructure meets it."""

from typing import Any, Final

from windlass.api import capi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER
from windlass.model import MemoryApi
from windlass.openstack.constants import PAUSED_ANNOTATION

from .manifests import Tree, owned_by


async def core(api: MemoryApi) -> None:
    """Cluster API's core owns the infrastructure of each Machine and Cluster, copies the providerID, and deletes the
    infrastructure with them."""
    pairs: tuple[tuple[type[Any], type[Any]], ...]
    pairs = ((capi.Machine, OpenStackMachine), (capi.Cluster, OpenStackCluster))
    for above, kind in pairs:
        for owner in api.listing(above):
            infra = api.peek(kind, owner.name, namespace=owner.namespace)
            if kind is OpenStackMachine and await _is_paused(api, owner):
                continue
            if owner.deleting and CLUSTER_API_FINALIZER in owner.metadata.finalizers:
                if infra is None:
                    left = [each for each in owner.metadata.finalizers if each != CLUSTER_API_FINALIZER]
                    await _merge(api, owner, {"metadata": {"finalizers": left or None}})
                elif not infra.deleting:
                    await api.delete(kind, infra.name, namespace=infra.namespace)
            elif not owner.deleting and infra is not None:
                told, owners = infra.tree(), owned_by(owner)
                if told["metadata"].get("ownerReferences") != owners:
                    await _merge(api, infra, {"metadata": {"ownerReferences": owners}})
                which = told["spec"].get("providerID")
                if which and which != owner.tree()["spec"].get("providerID"):
                    await _merge(api, owner, {"spec": {"providerID": which}})
                status = told.get("status") or {}
                if kind is OpenStackMachine and (status.get("initialization") or {}).get("provisioned"):
                    body = {"phase": "Provisioned", "addresses": status.get("addresses"), "initialization": PROVISIONED}
                    await _merge(api, owner, {"status": body}, subresource="status")


PROVISIONED: Final = {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True}


async def _is_paused(api: MemoryApi, machine: Any) -> bool:
    """Core says so too; it does nothing before."""
    paused = PAUSED_ANNOTATION in machine.metadata.annotations
    said = {"type": "Paused", "status": str(paused), "reason": "Told", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = (machine.tree().get("status") or {}).get("conditions") or []
    if said not in conditions:
        others = [each for each in conditions if each["type"] != "Paused"]
        await _merge(api, machine, {"status": {"conditions": [*others, said]}}, subresource="status")
        return True
    return paused


async def _merge(api: MemoryApi, found: Any, body: Tree, *, subresource: str = "") -> None:
    how: Any = {"type": PatchType.MERGE, "namespace": found.namespace, "subresource": subresource}
    await api.patch(found.kind, found.name, body, **how)
