"""PowerVS, rule by rule. No conversions were recorded for it, so these tables are all there is."""

from typing import Any

import pytest

from windlass.api import capi, capibm, mapi_powervs
from windlass.api.meta import LocalReference
from windlass.machine_sync.conversion import ConvertedToMachineAPI
from windlass.machine_sync.platforms import POWERVS

from .vectors import plain

BY_ID = capibm.PowerVSReference(id="i")
WHOLE: dict[str, Any] = {"service_instance": BY_ID, "image": BY_ID, "network": BY_ID}


def converted(machine: capi.Machine | None = None, /, **spec: Any) -> ConvertedToMachineAPI:
    """The conversion of an IBMPowerVSMachine with these fields in its spec, complete unless given otherwise."""
    return POWERVS.to_machine_api(
        machine or capi.Machine(),
        capibm.IBMPowerVSMachine(spec=capibm.IBMPowerVSMachineSpec(**{**WHOLE, **spec})),
        capibm.IBMPowerVSCluster(),
    )


def provider_spec(converted: ConvertedToMachineAPI) -> mapi_powervs.PowerVSMachineProviderConfig:
    assert converted.machine is not None, converted.error
    spec = converted.machine.spec.provider_spec.value
    assert isinstance(spec, mapi_powervs.PowerVSMachineProviderConfig)
    return spec


def test_a_minimal_machine_has_what_is_always_there() -> None:
    assert plain(provider_spec(converted())) == {
        "kind": "PowerVSMachineProviderConfig",
        "apiVersion": "machine.openshift.io/v1",
        "metadata": {},
        "serviceInstance": {"type": "ID", "id": "i"},
        "image": {"type": "ID", "id": "i"},
        "network": {"type": "ID", "id": "i"},
        "keyPairName": "",
        "processors": 0,
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ssh_key": "k"}, {"keyPairName": "k"}),
        ({"system_type": "s922"}, {"systemType": "s922"}),
        ({"processor_type": "Shared"}, {"processorType": "Shared"}),
        ({"processors": 2}, {"processors": 2}),
        ({"processors": "0.5"}, {"processors": "0.5"}),
        ({"memory_gib": 32}, {"memoryGiB": 32}),
        ({"service_instance_id": "old"}, {"serviceInstance": {"type": "ID", "id": "old"}}),
        ({"service_instance_id": "old", "service_instance": None}, {"serviceInstance": {"type": "ID", "id": "old"}}),
        ({"image": None, "image_ref": LocalReference(name="r")}, {"image": {"type": "Name", "name": "r"}}),
        ({"image_ref": LocalReference(name="r")}, {}),
        *(
            ({field: reference}, {name: resource})
            for field, name in (("service_instance", "serviceInstance"), ("image", "image"), ("network", "network"))
            for reference, resource in (
                (capibm.PowerVSReference(name=""), {"type": "Name", "name": ""}),
                (capibm.PowerVSReference(name="n", regex="r"), {"type": "Name", "name": "n"}),
                (capibm.PowerVSReference(id="i", name="n", regex="r"), {"type": "ID", "id": "i"}),
                (capibm.PowerVSReference(regex="^r"), {"type": "RegEx", "regex": "^r"}),
            )
        ),
    ],
    ids=str,
)
def test_fields_are_converted(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert plain(provider_spec(converted(**given))) == {**plain(provider_spec(converted())), **expected}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (
            {"service_instance": None},
            "spec.serviceInstance: Invalid value: null: unable to convert service instance, service instance is nil",
        ),
        (
            {"service_instance": capibm.PowerVSReference()},
            "spec.serviceInstance: Invalid value: {}: unable to convert service instance to MAPI",
        ),
        (
            {"image": None},
            "spec.image: Invalid value: null: unable to convert image, image and imageref is nil",
        ),
        (
            {"image": capibm.PowerVSReference(), "image_ref": LocalReference(name="r")},
            "spec.image: Invalid value: {}: unable to convert image, image id, name and regex all are nil",
        ),
        (
            {"network": capibm.PowerVSReference()},
            "spec.network: Invalid value: {}: unable to convert network to MAPI",
        ),
    ],
)
def test_a_missing_reference_is_an_error(given: dict[str, Any], error: str) -> None:
    result = converted(**given)
    assert result.machine is None
    assert result.errors == (error,)


def test_errors_come_in_the_order_of_the_rules() -> None:
    machine = capi.Machine(spec=capi.MachineSpec(version="v1"))
    result = converted(machine, service_instance=None, image=None, network=capibm.PowerVSReference())
    assert [text.partition(":")[0] for text in result.errors] == [
        "spec.serviceInstance",
        "spec.image",
        "spec.network",
        "spec.version",
    ]


@pytest.mark.parametrize(("secret", "expected"), [(None, None), ("", None), ("s", LocalReference(name="s"))])
def test_the_user_data_secret(secret: str | None, expected: LocalReference | None) -> None:
    machine = capi.Machine(spec=capi.MachineSpec(bootstrap=capi.Bootstrap(data_secret_name=secret)))
    assert provider_spec(converted(machine)).user_data_secret == expected


def test_system_type_region_zone_and_state_are_metadata() -> None:
    machine = POWERVS.to_machine_api(
        capi.Machine(spec=capi.MachineSpec(failure_domain="az")),
        capibm.IBMPowerVSMachine(
            spec=capibm.IBMPowerVSMachineSpec(system_type="s922", **WHOLE),
            status=capibm.IBMPowerVSMachineStatus(region="r", zone="not this", instance_state="ACTIVE"),
        ),
        capibm.IBMPowerVSCluster(),
    ).machine
    assert machine is not None
    assert machine.metadata.labels == {
        "machine.openshift.io/instance-type": "s922",
        "machine.openshift.io/region": "r",
        "machine.openshift.io/zone": "az",
    }
    assert machine.metadata.annotations == {"machine.openshift.io/instance-state": "ACTIVE"}
    assert machine.status.provider_status is None


def test_provider_specs_compare_as_they_are() -> None:
    tree = {"processors": 1}
    assert POWERVS.canonical_provider_spec(tree) is tree
