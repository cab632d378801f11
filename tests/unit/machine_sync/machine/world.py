"""The machine controller on the in-memory API server."""

from datetime import datetime
from typing import Any

from windlass.api import capi, config, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Event, Namespace
from windlass.kube.control.rounds import MAX_ROUNDS, Ending
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.crd_rules import machine_api as machine_api_rules
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.platforms import OPENSTACK, PLATFORMS, Platform
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..process import rested, to_rest

# Tests have these from here, like the rest.
from ..trees import OURS as OURS
from ..trees import THEIRS as THEIRS
from ..trees import holds_for_nobody as holds_for_nobody
from ..trees import leaked as leaked
from ..trees import synchronized as synchronized
from ..trees import tree_of as tree_of
from ..trees import typed as typed
from .cases import MACHINE_API_FINALIZER, NOW, SYNC, Tree, objects

NAME = "w-0"
NAMESPACES = Namespaces(OURS, THEIRS)


MIRROR: Tree = {
    "metadata": {
        "name": NAME,
        "namespace": OURS,
        "uid": "mapi-uid",
        "resourceVersion": "30",
        "generation": 1,
        "finalizers": [MACHINE_API_FINALIZER, SYNC],
        "ownerReferences": [
            {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "ms", "uid": "mapi-ms-uid"}
        ],
    },
    "spec": {"authoritativeAPI": "ClusterAPI", "providerSpec": {"value": {"flavor": "m1.small"}}},
    "status": {"authoritativeAPI": "ClusterAPI"},
}
"""A Machine that mirrors one of Cluster API, before it was ever in sync."""


def empty(platform: Platform = OPENSTACK) -> MemoryApi:
    """An API server without objects."""
    return MemoryApi(
        machine_api_rules(mapi.Machine),
        machine_api_rules(mapi.MachineSet),
        capi.Machine,
        capi.MachineSet,
        capi.Cluster,
        platform.infra_machine,
        platform.infra_cluster,
        config.Infrastructure,
        CustomResourceDefinition,
        Namespace,
        Event,
        clock=lambda: NOW,
    )


def world(*, platform: Platform = OPENSTACK, **trees: Tree | None) -> MemoryApi:
    """An API server with these `objects`."""
    api = empty(platform)
    found = objects(platform=platform, **trees).values()
    api.load(*(typed(kind, tree) for kind, tree in found if tree is not None))
    return api


def platform_of(api: MemoryApi) -> Platform:
    """The platform of a world, by the kind of its infra machines."""
    served = {kind.RESOURCE for kind in api.kinds}
    return next(platform for platform in PLATFORMS.values() if platform.infra_machine.RESOURCE in served)


async def reconciled(
    api: Api,
    reader: MemoryReader,
    *,
    now: datetime = NOW,
    max_rounds: int = MAX_ROUNDS,
) -> Ending:
    """What one process that has just started does about the machine. Only what it declares can be written."""
    controller = machine_controller(reader, platform=platform_of(reader.api), namespaces=NAMESPACES)
    return await to_rest(controller, NAME, api=api, reader=reader, now=now, max_rounds=max_rounds)


async def at_rest(**trees: Any) -> MemoryApi:
    """A world in which the controller has done what there was to do."""
    return await rested(world(**trees), reconciled)


def mapi_of(api: MemoryApi) -> Tree | None:
    return tree_of(api, mapi.Machine, NAME, OURS)
