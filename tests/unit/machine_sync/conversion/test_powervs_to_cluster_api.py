"""PowerVS, from the Machine API to Cluster API. No conversions were recorded, so these tests are all there is."""

from typing import Any

import pytest

from windlass.api import capibm, mapi
from windlass.api.config import Infrastructure, InfrastructureStatus
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.conversion import ConvertedToClusterAPI
from windlass.machine_sync.platforms import POWERVS

from .vectors import plain

P = "spec.providerSpec.value"
CLUSTER = Infrastructure(status=InfrastructureStatus(infrastructure_name="c"))
BY_ID = {"type": "ID", "id": "i"}
WHOLE = {"serviceInstance": BY_ID, "image": BY_ID, "network": BY_ID}
MINIMAL = {
    "serviceInstanceID": "",
    "serviceInstance": {"id": "i"},
    "image": {"id": "i"},
    "processors": 0,
    "network": {"id": "i"},
}


def converted(provider_id: str | None = None, /, **config: Any) -> ConvertedToClusterAPI:
    """The conversion of a Machine with these fields in its provider spec, complete unless given otherwise."""
    spec = mapi.MachineSpec(provider_id=provider_id, provider_spec=mapi.ProviderSpec(value={**WHOLE, **config}))
    return POWERVS.to_cluster_api(mapi.Machine(metadata=ObjectMeta(name="w-0"), spec=spec), CLUSTER)


def infra_spec(converted: ConvertedToClusterAPI) -> dict[str, Any]:
    assert isinstance(converted.infra_machine, capibm.IBMPowerVSMachine), converted.error
    spec: dict[str, Any] = plain(converted.infra_machine.spec)
    return spec


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"keyPairName": "k"}, {"sshKey": "k"}),
        ({"systemType": "s922", "processorType": "Shared"}, {"systemType": "s922", "processorType": "Shared"}),
        ({"processors": 2, "memoryGiB": 32}, {"processors": 2, "memoryGiB": 32}),
        ({"processors": "0.5"}, {"processors": "0.5"}),
        *(
            ({field: {"type": kind, key: "x"}}, {field: {key: "x"}})
            for field in ("serviceInstance", "image", "network")
            for kind, key in (("ID", "id"), ("Name", "name"), ("RegEx", "regex"))
        ),
    ],
    ids=str,
)
def test_fields_are_converted(given: dict[str, Any], expected: dict[str, Any]) -> None:
    result = converted(**given)
    assert infra_spec(result) == {**MINIMAL, **expected}
    assert result.remarks == ()


def test_user_data_and_provider_id() -> None:
    result = converted("ibmpowervs:///i-1", userDataSecret={"name": "s"})
    assert infra_spec(result)["providerID"] == "ibmpowervs:///i-1"
    assert result.machine is not None
    assert result.machine.spec.bootstrap.data_secret_name == "s"
    assert result.machine.spec.failure_domain == ""


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"serviceInstance": {}}, 'serviceInstance.type: Invalid value: "": unknown type'),
        ({"image": {"type": "<"}}, r'image.type: Invalid value: "\u003c": unknown type'),
        ({"network": {"type": "id", "id": "i"}}, 'network.type: Invalid value: "id": unknown type'),
        ({"metadata": {"name": "n"}}, 'metadata: Invalid value: {"name":"n"}: metadata is not supported'),
        (
            {"loadBalancers": [{"name": "n", "type": "Application"}]},
            'loadBalancers: Invalid value: [{"name":"n","type":"Application"}]: loadBalancers are not supported',
        ),
    ],
)
def test_what_cluster_api_cannot_express_is_an_error(given: dict[str, Any], error: str) -> None:
    assert converted(**given).errors == (f"{P}.{error}",)


def test_what_is_dropped_is_said() -> None:
    result = converted(credentialsSecret={"name": "s"}, image={"type": "Name", "id": "i", "name": "n"}, new=1)
    assert infra_spec(result)["image"] == {"name": "n"}
    assert [text.partition(": ")[0] for text in result.remarks] == [
        f"{P}.image.id",
        f"{P}.credentialsSecret",
        f"{P}.new",
    ]


def test_no_machine_is_an_error() -> None:
    assert POWERVS.to_cluster_api(None, CLUSTER).errors == ("provided Machine can not be nil",)
    assert POWERVS.to_cluster_api(
        mapi.Machine(spec=mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value=[]))), CLUSTER
    ).error.endswith("cannot unmarshal array into Go value of type v1.PowerVSMachineProviderConfig")
