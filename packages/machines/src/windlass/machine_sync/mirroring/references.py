"""The names that a Machine or MachineSet of Cluster API refers to: what controllers index it by.

Only these fields are decoded, so an object whose other fields are unreadable is found too.
"""

from typing import Any

from msgspec import Struct, field

from windlass.kube.object import Object


class _Reference(Struct, gc=False):
    name: str = ""


class _MachineSpec(Struct, rename="camel", gc=False):
    cluster_name: str = ""
    infrastructure_ref: _Reference = field(default_factory=_Reference)


class _Machine(Struct, gc=False):
    spec: _MachineSpec = field(default_factory=_MachineSpec)


class _MachineSetSpec(Struct, rename="camel", gc=False):
    cluster_name: str = ""
    template: _Machine = field(default_factory=_Machine)


class _MachineSet(Struct, gc=False):
    spec: _MachineSetSpec = field(default_factory=_MachineSetSpec)


def own_name(found: Object[Any]) -> tuple[str]:
    """The key of the object."""
    return (found.name,)


def cluster(found: Object[Any]) -> tuple[str]:
    """The Cluster of a Machine or MachineSet."""
    return ((found.glimpse(_Machine) or _Machine()).spec.cluster_name,)


def infra_machine(machine: Object[Any]) -> tuple[str]:
    """The infra machine of a Machine."""
    return ((machine.glimpse(_Machine) or _Machine()).spec.infrastructure_ref.name,)


def infra_template(machine_set: Object[Any]) -> tuple[str]:
    """The infra template of a MachineSet."""
    return ((machine_set.glimpse(_MachineSet) or _MachineSet()).spec.template.spec.infrastructure_ref.name,)
