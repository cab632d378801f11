"""Selects the files of a directory to read: all, but of a must-gather only those of interest and added manifests.

`oc adm must-gather` writes thousands of files, including logs and metrics. The objects of the cluster have one of two
layouts:

    **/cluster-scoped-resources/<group>/<plural>/<name>.yaml
    **/namespaces/<namespace>/<group>/<plural>/<name>.yaml

`oc adm inspect` writes lists too, as `<plural>.yaml` in the directory of the group. Beside the two directories there
are texts, logs, pages, and the discovery data of the API server (`aggregated-discovery-api.yaml`). Any other manifest
there was added by the user, such as the Infrastructure that a gathering lacks, and is read with the rest.

Archives of the Insights Operator have a third layout, which `insights` knows.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from windlass.api.meta import Resource
from windlass.capability.documents.insights import Identity, insights_files, is_insights

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
"""The files that are read from a directory."""

_DISCOVERY: Final = "aggregated-discovery-"
_KIND: Final = re.compile(rb"""\bkind["']?\s*:""")
"""Only what has a kind can be an object; other files may be neither JSON nor YAML, whatever they are named."""

_CLUSTER_SCOPED: Final = "cluster-scoped-resources"
_NAMESPACES: Final = "namespaces"
_CORE: Final = "core"
"""The directory of the API group that has no name."""


class Interest(Struct, frozen=True):
    """The objects of a must-gather that a reader needs.

    `groups`: API groups whose namespaced objects are all read. `cluster_scoped`: kinds. `in_namespaces`: kinds that are
    read in one namespace each, `namespaced`: in all. The groups also distinguish a gathering from another directory
    that is called `namespaces`.
    """

    groups: frozenset[str] = frozenset()
    cluster_scoped: tuple[Resource, ...] = ()
    in_namespaces: tuple[tuple[str, Resource], ...] = ()
    namespaced: tuple[Resource, ...] = ()

    def __or__(self, other: "Interest") -> "Interest":
        kinds = dict.fromkeys((*self.cluster_scoped, *other.cluster_scoped))
        placed = dict.fromkeys((*self.in_namespaces, *other.in_namespaces))
        everywhere = dict.fromkeys((*self.namespaced, *other.namespaced))
        return Interest(self.groups | other.groups, tuple(kinds), tuple(placed), tuple(everywhere))

    @property
    def identities(self) -> frozenset[Identity]:
        """apiVersion and kind of all that is read."""
        placed = (kind for _, kind in self.in_namespaces)
        return frozenset((one.api_version, one.kind) for one in (*self.cluster_scoped, *placed, *self.namespaced))


def files(directory: Path, interest: Interest) -> Iterator[Path]:
    """The files to read in `directory` and those below it, in the order of their names. Raises OSError."""
    children = sorted(directory.iterdir())
    if _is_gathered(children, interest):
        yield from _of_interest(directory, interest)
        yield from filter(_was_added, children)
        return
    if is_insights(directory):
        yield from insights_files(directory, interest.identities)
        return
    for child in children:
        if child.is_dir():
            # Links are not followed: they may lead in circles.
            if not child.is_symlink():
                yield from files(child, interest)
        elif _is_read(child):
            yield child


def _is_read(path: Path) -> bool:
    # A pipe would be waited for without end.
    return path.suffix.lower() in SUFFIXES and path.is_file()


def _is_gathered(children: list[Path], interest: Interest) -> bool:
    """Whether these are the children of a directory that must-gather wrote, and not just have a name in common."""
    for child in children:
        if child.name == _CLUSTER_SCOPED and child.is_dir():
            return True
        if child.name == _NAMESPACES and any(group.name in interest.groups for group in child.glob("*/*")):
            return True
    return False


def _was_added(path: Path) -> bool:
    """Whether this, directly in a directory that must-gather wrote, is a manifest, and not one of must-gather's own."""
    return _is_read(path) and not path.name.startswith(_DISCOVERY) and _KIND.search(path.read_bytes()) is not None


def _of_interest(gathered: Path, interest: Interest) -> Iterator[Path]:
    for resource in interest.cluster_scoped:
        yield from _of_kind(gathered / _CLUSTER_SCOPED, resource, interest)
    for namespace, resource in interest.in_namespaces:
        yield from _of_kind(gathered / _NAMESPACES / namespace, resource, interest)
    for namespace_directory in sorted((gathered / _NAMESPACES).glob("*")) if interest.namespaced else ():
        for resource in interest.namespaced:
            yield from _of_kind(namespace_directory, resource, interest)
    for group in sorted((gathered / _NAMESPACES).glob("*/*")):
        if group.name in interest.groups and group.is_dir():
            yield from files(group, interest)


def _of_kind(directory: Path, resource: Resource, interest: Interest) -> Iterator[Path]:
    """The files of one kind: a list, or a directory with a file for each object."""
    for path in sorted((directory / (resource.group or _CORE)).glob(f"{resource.plural}*")):
        if path.is_dir():
            yield from files(path, interest)
        elif _is_read(path):
            yield path
