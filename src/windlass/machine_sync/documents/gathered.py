"""Which files of a directory are read: all, but of a must-gather those that concern machines, and what was added to it.

`oc adm must-gather` writes thousands of files, logs and metrics among them, below directories of its own making. What
is of a cluster stands in one of two layouts:

    **/cluster-scoped-resources/<group>/<plural>/<name>.yaml
    **/namespaces/<namespace>/<group>/<plural>/<name>.yaml

`oc adm inspect` writes lists too, as `<plural>.yaml` in the directory of the group. Beside the two directories there
are texts, logs, pages, and what the API server serves (`aggregated-discovery-api.yaml`). A manifest that lies there was
put there by somebody who wants it to be read with the rest, such as the Infrastructure that a gathering lacks.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from windlass.api import capi, config, mapi
from windlass.machine_sync.platforms import PLATFORMS

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
"""The files that are read from a directory."""

_DISCOVERY: Final = "aggregated-discovery-"
_KIND: Final = re.compile(rb"""\bkind["']?\s*:""")
"""Only what has a kind can be an object; other files may be neither JSON nor YAML, whatever they are named."""

_CLUSTER_SCOPED: Final = "cluster-scoped-resources"
_NAMESPACES: Final = "namespaces"
_GROUPS: Final = frozenset(
    {capi.Machine.RESOURCE.group, mapi.Machine.RESOURCE.group}
    | {platform.infra_machine.RESOURCE.group for platform in PLATFORMS.values()}
)
_INFRASTRUCTURES: Final = config.Infrastructure.RESOURCE


def files(directory: Path) -> Iterator[Path]:
    """The files to read in `directory` and those below it, in the order of their names. Raises OSError."""
    children = sorted(directory.iterdir())
    if _is_gathered(children):
        yield from _concerning_machines(directory)
        yield from filter(_was_added, children)
        return
    for child in children:
        if child.is_dir():
            # Links are not followed: they may lead in circles.
            if not child.is_symlink():
                yield from files(child)
        elif _is_read(child):
            yield child


def _is_read(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()


def _is_gathered(children: list[Path]) -> bool:
    """Whether these are the children of a directory that must-gather wrote, and not just have a name in common."""
    for child in children:
        if child.name == _CLUSTER_SCOPED and child.is_dir():
            return True
        if child.name == _NAMESPACES and any(group.name in _GROUPS for group in child.glob("*/*")):
            return True
    return False


def _was_added(path: Path) -> bool:
    """Whether this, directly in a directory that must-gather wrote, is a manifest, and not one of must-gather's own."""
    return _is_read(path) and not path.name.startswith(_DISCOVERY) and _KIND.search(path.read_bytes()) is not None


def _concerning_machines(gathered: Path) -> Iterator[Path]:
    kept = gathered / _CLUSTER_SCOPED / _INFRASTRUCTURES.group
    for path in sorted(kept.glob(f"{_INFRASTRUCTURES.plural}*")):
        if path.is_dir():
            yield from files(path)
        elif path.suffix in SUFFIXES:
            yield path
    for group in sorted((gathered / _NAMESPACES).glob("*/*")):
        if group.name in _GROUPS and group.is_dir():
            yield from files(group)
