"""The one entry for all platforms: which platform it takes, and that examples in the documentation run."""

import doctest
import importlib

import pytest

from windlass.api import capa, capi, capibm, capo, capo_cluster
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.conversion import to_machine_api
from windlass.machine_sync.platforms import PLATFORMS, platform_of_kind, platform_of_type

PARTS: list[tuple[KubernetesObject, KubernetesObject]] = [
    (capa.AWSMachine(), capa.AWSCluster()),
    (capo.OpenStackMachine(), capo_cluster.OpenStackCluster()),
    (capibm.IBMPowerVSMachine(), capibm.IBMPowerVSCluster()),
]


@pytest.mark.parametrize(("infra_machine", "infra_cluster"), PARTS)
def test_each_missing_part_is_the_same_error(infra_machine: KubernetesObject, infra_cluster: KubernetesObject) -> None:
    machine, cluster = type(infra_machine).__name__, type(infra_cluster).__name__
    expected = f"provided Machine, {machine} and {cluster} can not be nil"
    reference = capi.MachineSpec(infrastructure_ref=capi.ContractReference(kind=machine))

    assert to_machine_api(None, infra_machine, infra_cluster).error == expected
    assert to_machine_api(capi.Machine(), None, infra_cluster).error == expected
    assert to_machine_api(capi.Machine(), infra_machine, None).error == expected
    assert to_machine_api(capi.Machine(spec=reference), None, None).error == expected


def test_without_any_hint_the_platform_is_an_error() -> None:
    assert to_machine_api(None, None, None).error == "error determining InfraMachine type, platform not supported"


def test_parts_of_two_platforms_are_an_error() -> None:
    mixed = to_machine_api(capi.Machine(), capa.AWSMachine(), capo_cluster.OpenStackCluster())
    assert mixed.error == "unexpected InfraCluster type, expected AWSCluster, got OpenStackCluster"
    swapped = to_machine_api(capi.Machine(), capa.AWSCluster(), capa.AWSMachine())
    assert swapped.error == "unexpected InfraMachine type, expected AWSMachine, got AWSCluster"


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_platform_is_found_by_its_kinds_and_types(name: str) -> None:
    platform = PLATFORMS[name]
    assert platform.name == name
    for kind in (platform.infra_machine, platform.infra_template, platform.infra_cluster):
        assert platform_of_type(kind) is platform
        assert platform_of_kind(kind.RESOURCE.kind) is platform
    assert platform_of_kind("Machine") is None
    assert platform_of_type(capi.Machine) is None


@pytest.mark.parametrize(
    "module",
    [
        "windlass.machine_sync.conversion",
        "windlass.machine_sync.conversion.field_errors",
        "windlass.machine_sync.conversion.gojson",
        "windlass.machine_sync.conversion.machine_to_machine_api",
        "windlass.machine_sync.conversion.machine_status",
        "windlass.machine_sync.conversion.metadata",
        "windlass.machine_sync.conversion.selector",
        "windlass.machine_sync.conversion.template_name",
        "windlass.machine_sync.conversion.unmarshal",
        "windlass.capability.documents.reading",
        "windlass.openstack.provider_spec_reading",
    ],
)
def test_the_examples_of_a_module_run(module: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert (failed, attempted > 0) == (0, True)
