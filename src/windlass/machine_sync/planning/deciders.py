"""The controllers that are asked what they would do, and what their keys are the names of."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from windlass.api import capi, config
from windlass.api.core import Event
from windlass.api.meta import K, KubernetesObject
from windlass.kube.control.controller import Controller
from windlass.kube.control.seen import Reader
from windlass.kube.object import Object
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.controllers import controllers
from windlass.machine_sync.machine.controller import NAME as MACHINES_OF
from windlass.machine_sync.machine_set.controller import NAME as MACHINE_SETS_OF
from windlass.machine_sync.overview import KINDS, MACHINE_SETS, MACHINES, AnyKind
from windlass.machine_sync.platforms import PLATFORMS, Platform

MIRRORED: Final = tuple(kind for of in KINDS for kind in (of.machine_api, of.cluster_api))
"""Machines and MachineSets of both APIs."""

Index = Callable[[Object[Any]], Iterable[str]]


class Inventory(Reader, Protocol):
    """A reader that can also say what there is: a `Survey` of a cluster, or the reader of a model."""

    def listing(self, kind: type[K], namespace: str | None = None) -> list[Object[K]]:
        """All objects of a kind, in one namespace or (None) everywhere."""
        ...

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The objects for which `index` gives `value`."""
        ...

    def known(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The same, also while the kind is not served."""
        ...

    def add_index(self, kind: type[KubernetesObject], name: str, values: Index) -> None:
        """Make objects findable by what `values` gives for them."""
        ...


class Decider(Struct, frozen=True):
    """A controller whose keys are names of objects of the mirrored kind `of`."""

    controller: Controller[str, Any]
    of: AnyKind

    @property
    def kind(self) -> str:
        """Machine or MachineSet."""
        return self.of.name

    def names(self, inventory: Inventory, namespaces: Namespaces) -> set[str]:
        """The names of what exists on either side."""
        return {
            found.name
            for kind, namespace in zip((self.of.machine_api, self.of.cluster_api), namespaces, strict=True)
            for found in inventory.listing(kind, namespace)
        }

    def keys(self, inventory: Inventory) -> set[str]:
        """Every key that what is there concerns: what a controller that starts now would look at."""
        return {
            key
            for watch in self.controller.watches
            for found in inventory.listing(watch.kind, watch.namespace)
            for key in watch.map(found)
        }


_OF: Final[dict[str, AnyKind]] = {MACHINE_SETS_OF: MACHINE_SETS, MACHINES_OF: MACHINES}
"""By the name of a controller, what its keys are the names of."""


def deciders(inventory: Inventory, *, platform: Platform, namespaces: Namespaces) -> list[Decider]:
    """All controllers of Machine sync for a platform, reading `inventory`, which gets the indexes that they ask for."""
    found = [
        Decider(controller, _OF[controller.name])
        for controller in controllers(inventory, platform=platform, namespaces=namespaces)
    ]
    for decider in found:
        for watch in decider.controller.watches:
            for name, values in watch.indexes.items():
                inventory.add_index(watch.kind, name, values)
    return found


def kinds() -> tuple[type[KubernetesObject], ...]:
    """Everything that a controller of any platform may look at or write."""
    of_platforms = [
        kind
        for platform in PLATFORMS.values()
        for kind in (platform.infra_machine, platform.infra_template, platform.infra_cluster)
    ]
    singletons = (config.Infrastructure, config.FeatureGate, config.ClusterVersion)
    return (*MIRRORED, capi.Cluster, *of_platforms, *singletons, Event)


class Name(NamedTuple):
    """What somebody wants to see the plan of. `kind` (Machine, MachineSet) empty: whatever has that name."""

    name: str
    kind: str = ""

    def selects(self, kind: str, name: str) -> bool:
        return name == self.name and self.kind in ("", kind)


class Selection(NamedTuple):
    """What to plan: `asked` are the keys, `existing` which of them are machines (kind, name), `missing` the names that
    nothing has."""

    asked: list[tuple[Decider, str]]
    existing: frozenset[tuple[str, str]]
    missing: list[Name]


def select(
    deciders: Iterable[Decider], inventory: Inventory, *, namespaces: Namespaces, wanted: Sequence[Name] = ()
) -> Selection:
    """Every key that a controller would look at, or those that are `wanted`.

    An infrastructure machine without a Machine is a key too, since something may be left to do about it.
    """
    asked, existing, missing = [], set(), set(wanted)
    for decider in deciders:
        names = decider.names(inventory, namespaces)
        for key in sorted(names | decider.keys(inventory)):
            chosen = [name for name in wanted if name.selects(decider.kind, key)]
            if chosen or not wanted:
                asked.append((decider, key))
                missing.difference_update(chosen)
                if key in names:
                    existing.add((decider.kind, key))
    return Selection(asked, frozenset(existing), [name for name in wanted if name in missing])
