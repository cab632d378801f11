"""Fields that a kind does not have are said, and do no other harm."""

import json
from typing import Any

from windlass.api import capi, capo, mapi
from windlass.capability.documents import read
from windlass.capability.documents.unknown import unknown_fields
from windlass.machine_sync.documents import convert_to_cluster_api, convert_to_machine_api

from ..conversion.vectors import TO_CLUSTER_API, TO_MACHINE_API, platform_of, rows
from .of_cluster_api import documents, infra, infra_cluster, machine
from .of_machine_api import infrastructure
from .of_machine_api import machine as machine_api_machine


def paths(kind: type, tree: dict[str, Any]) -> list[str]:
    [document] = read("input", json.dumps(tree).encode())
    return list(unknown_fields(document, kind))


def test_they_are_found_at_any_depth_in_maps_and_lists() -> None:
    spec = {"flavr": "m1", "ports": [{}, {"network": {"ID": "n"}}], "image": {"filter": None}, "serverMetadata": None}
    assert paths(capo.OpenStackMachine, {"spec": spec}) == ["spec.flavr", "spec.ports[1].network.ID"]


def test_what_a_kind_leaves_open_has_none() -> None:
    spec = {"providerSpec": {"value": {"anything": 1}}, "metadata": {"labels": {"any": "thing"}}, "Taints": []}
    assert paths(mapi.Machine, {"spec": spec, "status": {"odd": 1}}) == ["spec.Taints"]


def test_what_is_no_object_has_none() -> None:
    for tree in ({}, {"spec": None}, {"spec": [1]}, {"spec": {"ports": {"a": 1}}}):
        assert paths(capo.OpenStackMachine, tree) == []


def test_they_are_noted_with_the_machine_that_is_converted_all_the_same() -> None:
    flavour = infra()
    flavour["spec"]["flavr"] = "m1"
    [there] = convert_to_machine_api(documents(machine(foo=1), flavour, infra_cluster()))
    assert there.notes == (
        "spec.foo is not known as a field of Machine and is ignored",
        "OpenStackMachine/w-0-infra: spec.flavr is not known as a field of OpenStackMachine and is ignored",
    )
    tree = machine_api_machine()
    tree["spec"] = {**tree["spec"], "Taints": []}
    [back] = convert_to_cluster_api(documents(tree, infrastructure()))
    assert back.notes == ("spec.Taints is not known as a field of Machine and is ignored",)
    assert there.results
    assert back.results


def test_no_recorded_input_has_any() -> None:
    for direction, names in (
        (TO_MACHINE_API, ("machine", "machineSet", "infraMachine", "infraMachineTemplate")),
        (TO_CLUSTER_API, ("machine", "machineSet")),
    ):
        for row in rows(direction):
            for name in names:
                if tree := row["input"].get(name):
                    assert paths(kind_of(row, name), tree) == []


def kind_of(row: dict[str, Any], name: str) -> Any:
    platform = platform_of(row)
    of_platform = {"infraMachine": platform.infra_machine, "infraMachineTemplate": platform.infra_template}
    api: Any = capi if row["direction"] == TO_MACHINE_API else mapi
    return {**of_platform, "machine": api.Machine, "machineSet": api.MachineSet}[name]
