"""Selects Machines and MachineSets: by names as kubectl writes them, or all.

| argument | selects |
|---|---|
| `machine/x`, `machines/x`, `machine.machine.openshift.io/x` | the Machine x |
| `machineset/x`, `machinesets/x`, `machineset.machine.openshift.io/x` | the MachineSet x |
| the same with `cluster.x-k8s.io` | the same: both sides of an object have one name, and migrate together |
| `x` | the Machine x; the MachineSet x if there is no such Machine; an error if there are both |

MachineSets come first, so that machines which they create meanwhile have the new authority already.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from windlass.api import mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.client import Client
from windlass.kube.control.seen import Present, Unreadable
from windlass.kube.errors import NotServed
from windlass.kube.together import together
from windlass.machine_sync.cli.selection import kind_named
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.preflight import Look
from windlass.machine_sync.preflight.checks import owning_set
from windlass.machine_sync.preflight.report import Kind

KINDS: tuple[Kind, ...] = (mapi.MachineSet, mapi.Machine)


class ObjectKey(NamedTuple):
    """One object of the Machine API."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.RESOURCE.kind.lower()}/{self.name}"


class Word(NamedTuple):
    """A name of the command line; `kind` is None for a bare name."""

    kind: Kind | None
    name: str


def parse(text: str) -> Word:
    """Raises UsageError for an invalid name."""
    resource, slash, name = text.rpartition("/")
    named = kind_named(resource) if slash else None
    if not name or (slash and named is None):
        raise click.UsageError(f"{text!r} is not a name: write NAME, machine/NAME or machineset/NAME")
    kind = next((kind for kind in KINDS if named is not None and kind.RESOURCE.kind == named.name), None)
    return Word(kind, name)


def resolve(words: Sequence[Word], found: dict[ObjectKey, Look[Any]]) -> list[ObjectKey]:
    """The objects that `words` select, MachineSets first, each once. `found`: the objects with the bare names, by kind.

    Raises UsageError for a bare name that is ambiguous.
    """
    meant = [_meant(word, found) for word in words]
    return sorted(dict.fromkeys(meant), key=lambda key: KINDS.index(key.kind))


def _meant(word: Word, found: dict[ObjectKey, Look[Any]]) -> ObjectKey:
    if word.kind is not None:
        return ObjectKey(word.kind, word.name)
    machine, machine_set = ObjectKey(mapi.Machine, word.name), ObjectKey(mapi.MachineSet, word.name)
    if not isinstance(found.get(machine_set), Present | Unreadable):
        return machine
    if isinstance(found.get(machine), Present | Unreadable):
        raise click.UsageError(
            f"{word.name!r} is both a Machine and a MachineSet: write machine/{word.name} or machineset/{word.name}"
        )
    return machine_set


def bare(words: Sequence[Word]) -> list[ObjectKey]:
    """The bare names, which have to be looked up before `resolve`."""
    return [ObjectKey(kind, word.name) for word in words if word.kind is None for kind in KINDS]


async def every(client: Client, places: Namespaces, *, labels: str = "") -> list[ObjectKey]:
    """All Machines and MachineSets of the Machine API with these labels, MachineSets first, by name.

    Raises KubeErrors of listing.
    """
    listed = await together(_listed(client, kind, places.machine_api, labels=labels) for kind in KINDS)
    return [
        ObjectKey(kind, name)
        for kind, found in zip(KINDS, listed, strict=True)
        for name in sorted(meta.name for meta in found)
    ]


async def with_machines(client: Client, places: Namespaces, chosen: Sequence[ObjectKey]) -> list[ObjectKey]:
    """`chosen`, and the Machines that the MachineSets among them own. Raises KubeErrors of listing."""
    sets = {key.name for key in chosen if key.kind is mapi.MachineSet}
    if not sets:
        return list(chosen)
    machines = await _listed(client, mapi.Machine, places.machine_api)
    owned = [ObjectKey(mapi.Machine, meta.name) for meta in machines if owning_set(meta) in sets]
    return list(dict.fromkeys([*chosen, *sorted(owned, key=lambda key: key.name)]))


async def _listed(client: Client, kind: Kind, namespace: str, *, labels: str = "") -> list[ObjectMeta]:
    try:
        listed = await client.metadata.list(kind, namespace=namespace, label_selector=labels)
    except NotServed:
        return []
    return [item.metadata for item in listed.items]
