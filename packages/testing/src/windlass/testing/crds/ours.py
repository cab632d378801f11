"""CRDs that we wrote of kinds whose own are in no Go module: those of a provider, and one that OpenShift's own API
server serves without a CRD.

On a user's cluster these exist already, and Windlass never replaces them. Ours keep what they do not declare, and
declare the list types, defaults, enums and CEL rules that our code relies on; the YAML files beside this module say
where each comes from.

    foreign()                      all of them, ready to apply
    foreign(Foreign.POWERVS)       some
"""

import functools
from enum import StrEnum
from importlib.resources import files
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Foreign(StrEnum):
    """A set of CRDs that come together; the value is the name of its file."""

    POWERVS = "infrastructure.cluster.x-k8s.io-powervs"
    """IBMPowerVSMachine, IBMPowerVSMachineTemplate and IBMPowerVSCluster, v1beta2."""
    BUILDS = "build.openshift.io"
    """Build, v1."""


def foreign(*sets: Foreign) -> list[dict[str, Any]]:
    """The CRDs of `sets` (of all sets if none is named), ready to apply; the caller may change them."""
    return [crd for chosen in sets or Foreign for crd in _read(chosen)]


def _read(chosen: Foreign) -> list[dict[str, Any]]:
    return [_unshared(crd) for crd in _parsed(chosen)]


@functools.cache
def _parsed(chosen: Foreign) -> tuple[Any, ...]:
    text = files(__package__).joinpath(f"{chosen.value}.yaml").read_bytes()
    return tuple(yaml.load_all(text, Loader=_LOADER))


def _unshared(tree: Any) -> Any:
    """A copy in which nothing is shared: a YAML anchor makes two places one object, which deepcopy would keep so."""
    if isinstance(tree, dict):
        return {key: _unshared(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_unshared(item) for item in tree]
    return tree
