"""Selects the controllers and keys to plan, and names the objects that keys stand for."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from windlass.api.meta import K, KubernetesObject
from windlass.kube.control.controller import Controller, Index, Watch
from windlass.kube.control.seen import IndexedReader
from windlass.kube.object import Object


class PlanReader(IndexedReader, Protocol):
    """A reader that can also list objects: a `ClusterListing` of a cluster, or the reader of a model."""

    def listing(self, kind: type[K], namespace: str | None = None) -> list[Object[K]]:
        """All objects of a kind, in one namespace or (None) everywhere."""
        ...

    def add_index(self, kind: type[KubernetesObject], name: str, values: Index) -> None:
        """Index objects by the values that `values` gives for them."""
        ...


class Decider(Struct, frozen=True):
    """A controller, the `kind` that its keys stand for, and the keys whose objects exist."""

    controller: Controller[Any, Any]
    kind: str
    existing: Callable[[PlanReader], set[Any]]

    def keys(self, inventory: PlanReader) -> set[Any]:
        """Every key that an existing object concerns: a controller that starts now would reconcile these."""
        return {key for watch in self.controller.watches for key in _keys_of(watch, inventory)}

    def name(self, key: Any) -> str:
        """What people call `key`."""
        return self.controller.key_text(key)


def about_first_watch(controller: Controller[Any, Any]) -> Decider:
    """A controller whose keys stand for the objects that it watches first."""
    watch = controller.watches[0]

    return Decider(controller, watch.kind.RESOURCE.kind, partial(_keys_of, watch))


def _keys_of(watch: Watch[Any], inventory: PlanReader) -> set[Any]:
    return {key for found in inventory.listing(watch.kind, watch.namespace) for key in watch.map(found)}


def add_indexes(deciders: Iterable[Decider], inventory: PlanReader) -> None:
    """Add the indexes of the controllers to `inventory`."""
    for decider in deciders:
        for watch in decider.controller.watches:
            for name, values in watch.indexes.items():
                inventory.add_index(watch.kind, name, values)


class Name(NamedTuple):
    """The name of an object to plan. `kind` empty: any object of that name."""

    name: str
    kind: str = ""

    def selects(self, kind: str, name: str) -> bool:
        return name == self.name and self.kind in ("", kind)


class Selected(NamedTuple):
    """What to plan: `asked` are the keys, `existing` which of them stand for something that exists (kind, name),
    `missing` the names that nothing has."""

    asked: list[tuple[Decider, Any]]
    existing: frozenset[tuple[str, str]]
    missing: list[Name]


def select(deciders: Iterable[Decider], inventory: PlanReader, *, wanted: Sequence[Name] = ()) -> Selected:
    """Every key that a controller would reconcile, or those that are `wanted`.

    A deleted object whose remains exist has a key too, since the remains may need work.
    """
    asked, existing, missing = [], set(), set(wanted)
    for decider in deciders:
        there = decider.existing(inventory)
        for key in sorted(there | decider.keys(inventory), key=decider.name):
            name = decider.name(key)
            chosen = [one for one in wanted if one.selects(decider.kind, name)]
            if chosen or not wanted:
                asked.append((decider, key))
                missing.difference_update(chosen)
                if key in there:
                    existing.add((decider.kind, name))
    return Selected(asked, frozenset(existing), [name for name in wanted if name in missing])
