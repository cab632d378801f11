"""Finds objects in an archive of the Insights Operator, where the place of a file says what its object is.

An archive has `config/version.json`, `config/clusteroperator/NAME.json` and the like. Several releases of the operator
write objects without kind and apiVersion.

Source: openshift/insights-operator, docs/gathered-data.md.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

Identity = tuple[str, str]
"""apiVersion and kind."""

_CONFIG: Final = "config"
_PLACES: Final[dict[str, Identity]] = {
    "version.json": ("config.openshift.io/v1", "ClusterVersion"),
    "clusteroperator/*.json": ("config.openshift.io/v1", "ClusterOperator"),
    "machineconfigpools/*.json": ("machineconfiguration.openshift.io/v1", "MachineConfigPool"),
    "machineconfigs/*.json": ("machineconfiguration.openshift.io/v1", "MachineConfig"),
    "node/*.json": ("v1", "Node"),
    "pdbs/*/*.json": ("policy/v1", "PodDisruptionBudget"),
    "pod/*/*.json": ("v1", "Pod"),
}


def is_insights(directory: Path) -> bool:
    """Whether `directory` is what an archive of the Insights Operator unpacks to."""
    config = directory / _CONFIG
    return (config / "version.json").is_file() or (config / "clusteroperator").is_dir()


def insights_files(directory: Path, wanted: Collection[Identity]) -> Iterator[Path]:
    """The files that hold objects of the kinds that are `wanted`."""
    for pattern, identity in _PLACES.items():
        if identity in wanted:
            yield from (path for path in sorted((directory / _CONFIG).glob(pattern)) if path.is_file())


def identity_by_place(file: Path) -> Identity:
    """What the object in `file` is if it does not say so itself; empty if its place says nothing either."""
    return next((found for pattern, found in _PLACES.items() if file.match(f"{_CONFIG}/{pattern}")), ("", ""))
