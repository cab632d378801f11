"""The MachineSet controller on the in-memory API server, and the actors around it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from windlass.api import capi, config, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Event, Namespace
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.rounds import MAX_ROUNDS, Ending
from windlass.kube.object import Object
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.crd_rules import machine_api as machine_api_rules
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.platforms import OPENSTACK, Platform
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..process import rested, to_rest

# Tests have these from here, like the rest.
from ..trees import holds_for_nobody as holds_for_nobody
from ..trees import leaked as leaked
from ..trees import synchronized as synchronized
from ..trees import tree_of as tree_of
from ..trees import typed as typed
from .cases import (
    CLUSTER,
    CLUSTER_API_FINALIZER,
    INFRA_CLUSTER,
    INFRASTRUCTURE,
    MAPI_SET,
    NAME,
    NOW,
    OURS,
    PAUSED,
    TEMPLATE,
    THEIRS,
    Tree,
)

NAMESPACES = Namespaces(OURS, THEIRS)
MAPI = "MachineSet.machine.openshift.io/v1beta1 openshift-machine-api/ms"
CAPI = "MachineSet.cluster.x-k8s.io/v1beta2 openshift-cluster-api/ms"
"""The two sets, as the crash harness names them."""


def empty(platform: Platform = OPENSTACK) -> MemoryApi:
    """An API server without objects."""
    return MemoryApi(
        machine_api_rules(mapi.MachineSet),
        mapi.Machine,
        capi.MachineSet,
        capi.Machine,
        capi.Cluster,
        platform.infra_template,
        platform.infra_cluster,
        config.Infrastructure,
        CustomResourceDefinition,
        Namespace,
        Event,
        clock=lambda: NOW,
    )


def world(
    *,
    machine_api: Tree | None = MAPI_SET,
    cluster_api: Tree | None = None,
    templates: Iterable[Tree] = (TEMPLATE,),
    infra_cluster: Tree | None = INFRA_CLUSTER,
    cluster: Tree | None = CLUSTER,
    infrastructure: Tree | None = INFRASTRUCTURE,
    platform: Platform = OPENSTACK,
) -> MemoryApi:
    """An API server with these objects, None left out."""
    api = empty(platform)
    trees: list[tuple[type[Any], Tree | None]] = [
        (mapi.MachineSet, machine_api),
        (capi.MachineSet, cluster_api),
        *((platform.infra_template, template) for template in templates),
        (platform.infra_cluster, infra_cluster),
        (capi.Cluster, cluster),
        (config.Infrastructure, infrastructure),
    ]
    api.load(*(typed(kind, tree) for kind, tree in trees if tree is not None))
    return api


async def reconciled(
    api: Api,
    reader: MemoryReader,
    *,
    now: datetime = NOW,
    max_rounds: int = MAX_ROUNDS,
    platform: Platform = OPENSTACK,
) -> Ending:
    """What one process that has just started does about the set. Only what it declares can be written."""
    controller = machine_set_controller(reader, platform=platform, namespaces=NAMESPACES)
    return await to_rest(controller, NAME, api=api, reader=reader, now=now, max_rounds=max_rounds)


async def at_rest(**trees: Any) -> MemoryApi:
    """A world in which the controller has done what there was to do."""
    return await rested(world(**trees), reconciled)


def mapi_of(api: MemoryApi) -> Tree | None:
    return tree_of(api, mapi.MachineSet, NAME, OURS)


def capi_of(api: MemoryApi) -> Tree | None:
    return tree_of(api, capi.MachineSet, NAME, THEIRS)


def templates_of(api: MemoryApi, platform: Platform = OPENSTACK) -> dict[str, Tree]:
    """The infra templates by name."""
    return {found.name: found.tree() for found in api.listing(platform.infra_template)}


# Actors


async def machine_api_core(api: MemoryApi) -> None:
    """The Machine API's own controller: fills an empty authority, and says whether it is paused."""
    for found in api.listing(mapi.MachineSet):
        tree = found.tree()
        status = tree.get("status") or {}
        authority = status.get("authoritativeAPI")
        if not authority:
            body = {"authoritativeAPI": tree["spec"]["authoritativeAPI"]}
        else:
            body = _saying_paused(status, paused=authority != "MachineAPI")
        if any(status.get(key) != value for key, value in body.items()):
            await _merge(api, mapi.MachineSet, found.metadata, {"status": body}, subresource="status")


async def cluster_api_core(api: MemoryApi) -> None:
    """Cluster API core: finalizer, Paused condition and, unless paused, status and deletion, the machines first."""
    for found in api.listing(capi.MachineSet):
        meta, tree = found.metadata, found.tree()
        paused = PAUSED in meta.annotations
        status = tree.get("status") or {}
        body = _saying_paused(status, paused=paused)
        if not paused:
            body |= {"replicas": tree["spec"].get("replicas", 1), "observedGeneration": meta.generation}
        if any(status.get(key) != value for key, value in body.items()):
            await _merge(api, capi.MachineSet, meta, {"status": body}, subresource="status")
        elif found.deleting and not paused and (machines := _machines_of(api, meta)):
            for machine in machines:
                await api.delete(capi.Machine, machine.name, namespace=machine.namespace)
        elif found.deleting and not paused and CLUSTER_API_FINALIZER in meta.finalizers:
            kept = [one for one in meta.finalizers if one != CLUSTER_API_FINALIZER]
            await _merge(api, capi.MachineSet, meta, {"metadata": {"finalizers": kept}})
        elif not found.deleting and not paused and CLUSTER_API_FINALIZER not in meta.finalizers:
            finalizers = [*meta.finalizers, CLUSTER_API_FINALIZER]
            await _merge(api, capi.MachineSet, meta, {"metadata": {"finalizers": finalizers}})


def _machines_of(api: MemoryApi, machine_set: ObjectMeta) -> list[Object[capi.Machine]]:
    machines = api.listing(capi.Machine)
    return [one for one in machines if any(owner.uid == machine_set.uid for owner in one.metadata.owner_references)]


def _saying_paused(status: Tree, *, paused: bool) -> Tree:
    said = {"type": "Paused", "status": str(paused), "reason": "Said"}
    others = [one for one in status.get("conditions") or [] if one["type"] != "Paused"]
    before = [one["status"] for one in status.get("conditions") or [] if one["type"] == "Paused"]
    if before == [said["status"]]:
        return {}
    conditions = [*others, {**said, "lastTransitionTime": "2026-05-01T12:00:00Z"}]
    return {"conditions": sorted(conditions, key=lambda one: one["type"] == "Deleting")}  # as Cluster API orders them


async def _merge(
    api: MemoryApi, kind: type[KubernetesObject], meta: ObjectMeta, body: Tree, *, subresource: str = ""
) -> None:
    metadata = {**body.get("metadata", {}), "resourceVersion": meta.resource_version}
    await api.patch(
        kind,
        meta.name,
        {**body, "metadata": metadata},
        type=PatchType.MERGE,
        namespace=meta.namespace,
        subresource=subresource,
    )
