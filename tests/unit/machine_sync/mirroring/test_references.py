"""The names by which controllers index Machines and MachineSets of Cluster API."""

from typing import Any

from windlass.api import capi
from windlass.kube.object import Object
from windlass.machine_sync.mirroring import references

MACHINE = {"clusterName": "c", "infrastructureRef": {"name": "i"}}


def machine(spec: Any) -> Object[capi.Machine]:
    return Object.of(capi.Machine, {"metadata": {"name": "w", "namespace": "n"}, "spec": spec})


def machine_set(spec: Any) -> Object[capi.MachineSet]:
    return Object.of(capi.MachineSet, {"metadata": {"name": "s", "namespace": "n"}, "spec": spec})


def test_a_machine_is_found_by_its_names_although_another_field_is_malformed() -> None:
    found = machine({**MACHINE, "taints": "none"})
    assert (references.cluster(found), references.infra_machine(found)) == (("c",), ("i",))


def test_a_machine_set_is_found_by_its_names_although_another_field_is_malformed() -> None:
    found = machine_set({"clusterName": "c", "replicas": "two", "template": {"spec": MACHINE}})
    assert (references.cluster(found), references.infra_template(found)) == (("c",), ("i",))


def test_what_names_nothing_readable_is_found_under_no_name() -> None:
    assert references.cluster(machine({"clusterName": 1})) == ("",)
    assert references.infra_machine(machine({"infrastructureRef": "i"})) == ("",)
    assert references.infra_template(machine_set({"template": []})) == ("",)
