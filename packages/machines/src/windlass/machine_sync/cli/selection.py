"""Parses the names of machines and MachineSets: `worker-0`, `machine/worker-0`, `machineset/workers`.

It also accepts the output of `-o name` and kubectl: `machineset.machine.openshift.io/workers` and
`machineset.cluster.x-k8s.io/workers` are the same row.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import click

from windlass.machine_sync.overview import KINDS, AnyKind, AnyRow


class Named(Protocol):
    """A row that can be selected: `kind` is Machine or MachineSet."""

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...


class Wanted(NamedTuple):
    """One name. `kind` None: any object that has that name."""

    name: str
    kind: AnyKind | None = None

    def means(self, found: Named) -> bool:
        return self.name == found.name and (self.kind is None or self.kind.name == found.kind)


class Selection(NamedTuple):
    """Of these `kinds`, the rows that are `wanted` (none: all), and of those, with `unsynced`, the ones not known to be
    in sync."""

    kinds: Sequence[AnyKind] = KINDS
    wanted: Sequence[Wanted] = ()
    unsynced: bool = False

    def names(self, found: Named) -> bool:
        """Whether it is selected by name, or no name was given."""
        return not self.wanted or any(wanted.means(found) for wanted in self.wanted)

    def shows(self, row: AnyRow) -> bool:
        return self.names(row) and (row.unsynced or not self.unsynced)

    def missing(self, found: Iterable[Named]) -> list[str]:
        """The wanted names that are not among `found`, in words."""
        there = list(found)
        return sorted(
            {
                f"{either([wanted.kind] if wanted.kind else self.kinds)} {wanted.name!r}"
                for wanted in self.wanted
                if not any(wanted.means(one) for one in there)
            }
        )


def parse(words: Iterable[str], *, kinds: Sequence[AnyKind] = KINDS, unsynced: bool = False) -> Selection:
    """The selection that the `words` of a command line for `kinds` make. Raises UsageError."""
    wanted = tuple(_parse(word) for word in words)
    for one in wanted:
        if one.kind is not None and one.kind not in kinds:
            word = f"{one.kind.name.lower()}/{one.name}"
            raise click.UsageError(f"{word} is no {either(kinds)}, and --kind selects nothing else")
    return Selection(kinds, wanted, unsynced)


def kind_named(word: str) -> AnyKind | None:
    """The kind that kubectl calls `word`: `machine`, `machines`, `machine.machine.openshift.io`, ..."""
    resource, _, group = word.lower().partition(".")
    for kind in KINDS:
        groups = {"", *(each.RESOURCE.group for each in (kind.machine_api, kind.cluster_api))}
        if resource in (kind.name.lower(), f"{kind.name.lower()}s") and group in groups:
            return kind
    return None


def either(kinds: Sequence[AnyKind]) -> str:
    """`machine or MachineSet`."""
    return " or ".join(kind.words[0] for kind in kinds)


def _parse(word: str) -> Wanted:
    before, slash, name = word.rpartition("/")
    kind = kind_named(before) if slash else None
    if not name or (slash and kind is None):
        raise click.UsageError(f"{word!r} is not a name: write NAME, machine/NAME or machineset/NAME")
    return Wanted(name, kind)
