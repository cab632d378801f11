"""The controllers of Machine sync that make plans, and the objects that they read."""

from functools import partial
from typing import Any, Final

from windlass.api import capi, config, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Event, Namespace
from windlass.api.meta import KubernetesObject
from windlass.capability.planning import Decider, PlanReader, Scope
from windlass.capability.planning.decider import add_indexes
from windlass.machine_sync.constants import MACHINE_API, Namespaces
from windlass.machine_sync.controllers import controllers
from windlass.machine_sync.machine.controller import NAME as MACHINES_OF
from windlass.machine_sync.machine_set.controller import NAME as MACHINE_SETS_OF
from windlass.machine_sync.overview import KINDS, MACHINE_SETS, MACHINES, AnyKind
from windlass.machine_sync.platforms import PLATFORMS, Platform

MIRRORED: Final = tuple(kind for of in KINDS for kind in (of.machine_api, of.cluster_api))
"""Machines and MachineSets of both APIs."""

DEFAULTS: Final[dict[type[KubernetesObject], Any]] = {
    mapi.Machine: ((("spec",), "authoritativeAPI", MACHINE_API),),
    mapi.MachineSet: (
        (("spec",), "authoritativeAPI", MACHINE_API),
        (("spec",), "replicas", 1),
        (("spec", "template", "spec"), "authoritativeAPI", MACHINE_API),
    ),
}
"""The CRDs' defaults of the fields about authority; CRDs without the feature gate do not have these fields."""

_OF: Final[dict[str, AnyKind]] = {MACHINE_SETS_OF: MACHINE_SETS, MACHINES_OF: MACHINES}
"""The kind whose names are the keys of each controller, by the controller's name."""


def deciders(inventory: PlanReader, *, platform: Platform, namespaces: Namespaces) -> list[Decider]:
    """All controllers of Machine sync for a platform. The controllers read `inventory`; their indexes are added to the
    reader."""
    found = [
        decider(controller, _OF[controller.name], namespaces)
        for controller in controllers(inventory, platform=platform, namespaces=namespaces)
    ]
    add_indexes(found, inventory)
    return found


def decider(controller: Any, of: AnyKind, namespaces: Namespaces) -> Decider:
    """A controller whose keys are names of objects of the mirrored kind `of`."""
    return Decider(controller, of.name, partial(_on_either_side, of, namespaces))


def _on_either_side(of: AnyKind, namespaces: Namespaces, inventory: PlanReader) -> set[str]:
    return {
        found.name
        for kind, namespace in zip((of.machine_api, of.cluster_api), namespaces, strict=True)
        for found in inventory.listing(kind, namespace)
    }


def scope(namespaces: Namespaces) -> Scope:
    """Machines and MachineSets, and the objects that they refer to on any platform."""
    return Scope(
        kinds=kinds(),
        subjects=MIRRORED,
        filled=(mapi.Machine, mapi.MachineSet),
        namespaces=namespaces,
        home=lambda kind: namespaces.machine_api if kind.RESOURCE.group == _MACHINE_API else namespaces.cluster_api,
        defaults=DEFAULTS,
        elsewhere=(
            f"machines are looked for in {namespaces.machine_api} and {namespaces.cluster_api}; "
            "--machine-api-namespace and --cluster-api-namespace say otherwise"
        ),
    )


_MACHINE_API: Final = mapi.Machine.RESOURCE.group


def kinds() -> tuple[type[KubernetesObject], ...]:
    """All kinds that a controller of any platform may read or write."""
    of_platforms = [
        kind
        for platform in PLATFORMS.values()
        for kind in (platform.infra_machine, platform.infra_template, platform.infra_cluster)
    ]
    singletons = (config.Infrastructure, config.FeatureGate, config.ClusterVersion)
    return (*MIRRORED, capi.Cluster, *of_platforms, *singletons, CustomResourceDefinition, Namespace, Event)
