"""AWS, rule by rule: a provider spec as an AWSMachine, and what Cluster API cannot express."""

import time
from typing import Any

import pytest

from windlass.api import capa, mapi, mapi_aws
from windlass.api.config import AWSPlatformStatus, Infrastructure, InfrastructureStatus, PlatformStatus
from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.machine_sync.conversion import ConvertedToClusterAPI
from windlass.machine_sync.platforms import AWS

from .vectors import plain

P = "spec.providerSpec.value"
ARTICLE = "Please see https://access.redhat.com/articles/7116313 for more details."
MASTER = {"machine.openshift.io/cluster-api-machine-role": "master"}


def infrastructure(**aws: str) -> Infrastructure:
    platform = PlatformStatus(type="AWS", aws=AWSPlatformStatus(**aws))
    return Infrastructure(status=InfrastructureStatus(infrastructure_name="c", platform_status=platform))


def converted(
    *, of: ObjectMeta | None = None, cluster: Infrastructure | None = None, status: Any = None, **config: Any
) -> ConvertedToClusterAPI:
    """The conversion of a Machine with these fields in its provider spec, and an AMI; `of` is its metadata."""
    machine = mapi.Machine(
        metadata=of or ObjectMeta(name="w-0"),
        spec=mapi.MachineSpec(
            provider_id=config.pop("providerID", None),
            provider_spec=mapi.ProviderSpec(value={"ami": {"id": "ami-1"}, **config}),
        ),
        status=mapi.MachineStatus(provider_status=status),
    )
    return AWS.to_cluster_api(machine, cluster or infrastructure())


def infra_spec(converted: ConvertedToClusterAPI) -> dict[str, Any]:
    assert isinstance(converted.infra_machine, capa.AWSMachine), converted.error
    spec: dict[str, Any] = plain(converted.infra_machine.spec)
    return spec


MINIMAL = {
    "instanceMetadataOptions": {
        "httpEndpoint": "enabled",
        "httpProtocolIpv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "optional",
        "instanceMetadataTags": "disabled",
    },
    "ami": {"id": "ami-1"},
    "instanceType": "",
    "subnet": {},
    "cloudInit": {},
    "ignition": {"storageType": "UnencryptedUserData"},
    "hostAffinity": "default",
}


def test_a_minimal_machine_has_what_is_always_there() -> None:
    result = converted()
    assert infra_spec(result) == MINIMAL
    assert result.remarks == ()


def with_host(**fields: Any) -> dict[str, Any]:
    return {"placement": {"host": fields}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"instanceType": "m5.large"}, {"instanceType": "m5.large"}),
        ({"keyName": ""}, {"sshKeyName": ""}),
        ({"publicIp": False}, {"publicIP": False}),
        (
            {"tags": [{"name": "b", "value": "1"}, {"name": "a", "value": "2"}]},
            {"additionalTags": {"a": "2", "b": "1"}},
        ),
        ({"tags": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}, {"additionalTags": {"a": "2"}}),
        ({"iamInstanceProfile": {"id": "p"}}, {"iamInstanceProfile": "p"}),
        (
            {"securityGroups": [{"id": "sg"}, {"filters": [{"name": "n", "values": ["v"]}]}]},
            {"additionalSecurityGroups": [{"id": "sg"}, {"filters": [{"name": "n", "values": ["v"]}]}]},
        ),
        ({"subnet": {"id": "s"}}, {"subnet": {"id": "s"}}),
        ({"networkInterfaceType": "ENA"}, {"networkInterfaceType": "interface"}),
        ({"networkInterfaceType": "EFA"}, {"networkInterfaceType": "efa"}),
        ({"marketType": "CapacityBlock"}, {"marketType": "CapacityBlock"}),
        ({"spotMarketOptions": {}}, {"spotMarketOptions": {}}),
        ({"spotMarketOptions": {"maxPrice": "0.1"}}, {"spotMarketOptions": {"maxPrice": "0.1"}}),
        (
            {"placementGroupName": "g", "placementGroupPartition": 3},
            {"placementGroupName": "g", "placementGroupPartition": 3},
        ),
        ({"capacityReservationId": ""}, {}),
        ({"capacityReservationId": "cr"}, {"capacityReservationId": "cr"}),
        ({"cpuOptions": {"confidentialCompute": "Disabled"}}, {"cpuOptions": {"confidentialCompute": "Disabled"}}),
        ({"placement": {"tenancy": "odd"}}, {"tenancy": "odd"}),
        ({"credentialsSecret": {"name": "aws-cloud-credentials"}}, {}),
        (
            {"metadataServiceOptions": {"authentication": "Required"}},
            {"instanceMetadataOptions": {**MINIMAL["instanceMetadataOptions"], "httpTokens": "required"}},  # type: ignore[dict-item]
        ),
        (with_host(), {"hostAffinity": "default"}),
        (with_host(affinity="AnyAvailable"), {"hostAffinity": "default"}),
        (with_host(affinity="DedicatedHost", dedicatedHost={"id": "h-1"}), {"hostAffinity": "host", "hostID": "h-1"}),
        (
            with_host(affinity="DedicatedHost", dedicatedHost={"allocationStrategy": "UserProvided", "id": "h-1"}),
            {"hostAffinity": "host", "hostID": "h-1"},
        ),
        (
            with_host(affinity="DedicatedHost", dedicatedHost={"allocationStrategy": "Dynamic"}),
            {"hostAffinity": "host", "dynamicHostAllocation": {}},
        ),
        (
            with_host(
                dedicatedHost={
                    "allocationStrategy": "Dynamic",
                    "dynamicHostAllocation": {"tags": [{"name": "a", "value": "1"}]},
                }
            ),
            {"dynamicHostAllocation": {"tags": {"a": "1"}}},
        ),
    ],
    ids=str,
)
def test_fields_are_converted(given: dict[str, Any], expected: dict[str, Any]) -> None:
    result = converted(**given)
    assert infra_spec(result) == {**MINIMAL, **expected}
    assert result.remarks == ()


@pytest.mark.parametrize(
    ("device", "volumes"),
    [
        ({"ebs": {}}, {"rootVolume": {"size": 120}}),
        ({"ebs": {"volumeSize": 0}}, {"rootVolume": {"size": 0}}),
        (
            {"ebs": {"volumeSize": 8, "volumeType": "gp3", "iops": 5, "throughputMib": 6, "encrypted": True}},
            {"rootVolume": {"size": 8, "type": "gp3", "iops": 5, "throughput": 6, "encrypted": True}},
        ),
        ({"ebs": {"kmsKey": {"id": "k"}}}, {"rootVolume": {"size": 120, "encryptionKey": "k"}}),
        ({"ebs": {"kmsKey": {"arn": "arn:k"}}}, {"rootVolume": {"size": 120, "encryptionKey": "arn:k"}}),
        (
            {"deviceName": "/dev/sdb", "ebs": {"deleteOnTermination": True}},
            {"nonRootVolumes": [{"deviceName": "/dev/sdb", "size": 120}]},
        ),
        ({"deviceName": "", "ebs": {}}, {"nonRootVolumes": [{"size": 120}]}),
    ],
    ids=str,
)
def test_a_block_device_is_the_root_volume_or_another(device: dict[str, Any], volumes: dict[str, Any]) -> None:
    assert infra_spec(converted(blockDevices=[device])) == {**MINIMAL, **volumes}


def test_without_a_root_device_there_is_no_root_volume() -> None:
    result = converted(blockDevices=[{"deviceName": "/dev/sdb"}])
    assert infra_spec(result) == MINIMAL
    assert result.remarks == (
        f"{P}.blockDevices[0].ebs: Invalid value: null: missing ebs configuration for block device",
    )


def test_a_root_volume_outlives_its_machine_with_a_warning() -> None:
    result = converted(blockDevices=[{"ebs": {"deleteOnTermination": False}}])
    assert infra_spec(result)["rootVolume"] == {"size": 120}
    assert result.remarks == (
        f"{P}.blockDevices[0].ebs.deleteOnTermination: Invalid value: false: "
        "root volume must be deleted on termination, ignoring invalid value false",
    )


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"ami": {}}, "ami: Invalid value: {}: unable to find a valid AMI resource reference"),
        (
            {"ami": {"arn": "<a>", "id": "i"}},
            r'ami.arn: Invalid value: "\u003ca\u003e": '
            "unable to convert AMI ARN reference. Not supported in CAPI",
        ),
        (
            {"ami": {"filters": [{"name": "n"}]}},
            'ami.filters: Invalid value: [{"name":"n"}]: '
            "unable to convert AMI Filters reference. Not supported in CAPI",
        ),
        (
            {"metadataServiceOptions": {"authentication": "Bogus"}},
            'metadataServiceOptions.authentication: Invalid value: "Bogus": unsupported authentication value',
        ),
        ({"marketType": "B"}, 'marketType: Invalid value: "B": unable to convert market type, unknown value'),
        (
            {"credentialsSecret": {"name": "x"}},
            'credentialsSecret: Invalid value: "x": credential secret does not match the default of '
            f'"aws-cloud-credentials", manual conversion is necessary. {ARTICLE}',
        ),
        ({"metadata": {"name": "x"}}, 'metadata: Invalid value: {"name":"x"}: metadata is not supported'),
        ({"deviceIndex": 1}, "deviceIndex: Invalid value: 1: deviceIndex must be 0 or unset"),
        (
            {"networkInterfaceType": "X"},
            'networkInterfaceType: Invalid value: "X": '
            "networkInterface type must be one of ENA, EFA or omitted, unsupported value",
        ),
        (
            {"loadBalancers": [{"name": "lb", "type": "network"}]},
            'loadBalancers: Invalid value: [{"name":"lb","type":"network"}]: '
            "loadBalancers are not supported for non-control plane machines",
        ),
        (
            {"blockDevices": [{"noDevice": "<", "ebs": {}}]},
            r'blockDevices[0].noDevice: Invalid value: "\u003c": noDevice is not supported',
        ),
        (
            {"blockDevices": [{"virtualName": "x", "ebs": {}}]},
            'blockDevices[0].virtualName: Invalid value: "x": virtualName is not supported',
        ),
        (
            {"blockDevices": [{"deviceName": "d", "ebs": {"deleteOnTermination": False}}]},
            "blockDevices[0].ebs.deleteOnTermination: Invalid value: false: "
            "non-root volumes must be deleted on termination, unsupported value false",
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_cluster_api_cannot_express_is_an_error(given: dict[str, Any], error: str) -> None:
    assert converted(**given).errors == (f"{P}.{error}",)


def test_the_region_must_be_the_clusters() -> None:
    assert converted(cluster=infrastructure(region="r"), placement={"region": "r"}).errors == ()
    assert converted(cluster=infrastructure(region="r"), placement={"region": "<x"}).errors == (
        f'{P}.placement.region: Invalid value: "<x": placement.region should match infrastructure status value "r"',
    )


def test_a_region_that_the_cluster_does_not_name_is_lost_with_a_word() -> None:
    result = converted(placement={"region": "r"})
    assert result.errors == ()
    (loss,) = result.losses
    assert loss.startswith(f'{P}.placement.region: Invalid value: "r"')
    assert converted(cluster=infrastructure(region="r"), placement={"region": "r"}).losses == ()


@pytest.mark.parametrize(
    ("family", "primary"), [("DualStackIPv4Primary", "disabled"), ("DualStackIPv6Primary", "enabled"), ("IPv4", None)]
)
def test_dual_stack_clusters_have_addresses_and_names_of_both_families(family: str, primary: str | None) -> None:
    spec = infra_spec(converted(cluster=infrastructure(ip_family=family)))
    names = {
        "enableResourceNameDnsAAAARecord": True,
        "enableResourceNameDnsARecord": True,
        "hostnameType": "resource-name",
    }
    assert spec.get("assignPrimaryIPv6") == primary
    assert spec.get("privateDnsName") == (names if primary else None)


@pytest.mark.parametrize(
    "metadata",
    [
        ObjectMeta(labels=MASTER),
        ObjectMeta(owner_references=[OwnerReference(kind="ControlPlaneMachineSet", name="cluster")]),
    ],
)
def test_load_balancers_of_a_control_plane_machine_are_dropped(metadata: ObjectMeta) -> None:
    assert converted(of=metadata, loadBalancers=[{"name": "lb", "type": "network"}]).errors == ()


@pytest.mark.parametrize(
    ("given", "instance"),
    [
        ("aws:///us-east-1a/i-0123", "i-0123"),
        ("i-abc", "i-abc"),
        ("aws:///us/x-i-abc", "i-abc"),
        ("", None),
    ],
)
def test_the_instance_id_is_in_the_provider_id(given: str, instance: str | None) -> None:
    result = converted(providerID=given)
    assert infra_spec(result).get("instanceID") == instance
    assert infra_spec(result).get("providerID") == (given or None)


def test_a_provider_id_of_any_length_is_read_once() -> None:
    began = time.process_time()
    assert converted(providerID="i-" * 500_000 + "\n\nx").errors
    assert converted(providerID="i-1\n").errors
    assert infra_spec(converted(providerID="i-1\nx i-2")).get("instanceID") == "i-2"
    assert time.process_time() - began < 5


@pytest.mark.parametrize("given", ["foo", "aws:///us-east-1a/", "i-1/x"])
def test_a_provider_id_without_an_instance_id_is_an_error(given: str) -> None:
    assert converted(providerID=given).errors == (
        f'spec.providerID: Invalid value: "{given}": unable to find InstanceID in ProviderID',
    )


def test_zone_and_user_data_are_of_the_machine() -> None:
    machine = converted(placement={"availabilityZone": "z"}, userDataSecret={"name": "s"}).machine
    assert machine is not None
    assert (machine.spec.failure_domain, machine.spec.bootstrap.data_secret_name) == ("z", "s")


@pytest.mark.parametrize("state", ["running", "pending", "", None])
def test_the_status_follows_from_the_provider_status(state: str | None) -> None:
    status = {"instanceState": state, "instanceId": "i-1", "dedicatedHost": {"id": "h"}}
    result = converted(status=status, spotMarketOptions={}).infra_machine.status
    unknown = {
        "status": "Unknown",
        "severity": "Error",
        "lastTransitionTime": None,
        "message": "See Machine API Machine.Status.Providerstatus conditions",
    }
    expected = {"status": "True", "lastTransitionTime": None} if state == "running" else unknown
    assert plain(result) == {
        "ready": state == "running",
        "interruptible": True,
        "instanceState": state or "",
        "conditions": [{"type": "Ready", **expected}, {"type": "InstanceReady", **expected}],
        "dedicatedHost": {"id": "h"},
    }


def test_a_provider_status_that_cannot_be_read_is_an_error() -> None:
    [error] = converted(status={"conditions": "nope"}).errors
    assert error.startswith("status.providerStatus: Internal error: error unmarshalling providerStatus ")


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"subnet": {"arn": "a"}}, ["subnet.arn"]),
        ({"securityGroups": [{}, {"arn": "a"}]}, ["securityGroups[1].arn"]),
        (
            {"iamInstanceProfile": {"arn": "a", "filters": [{"name": "n"}]}},
            ["iamInstanceProfile.arn", "iamInstanceProfile.filters"],
        ),
        ({"cpuOptions": {"confidentialCompute": "odd"}}, ["cpuOptions.confidentialCompute"]),
        (
            {"blockDevices": [{"ebs": {"kmsKey": {"id": "i", "arn": "a", "filters": [{}]}}}]},
            ["blockDevices[0].ebs.kmsKey.filters", "blockDevices[0].ebs.kmsKey.arn"],
        ),
        ({"blockDevices": [{"ebs": {}}, {"ebs": {"volumeSize": 1}}]}, ["blockDevices[0]"]),
        (
            with_host(affinity="odd", dedicatedHost={"id": "h"}),
            ["placement.host.affinity", "placement.host.dedicatedHost.id"],
        ),
        (
            with_host(dedicatedHost={"dynamicHostAllocation": {}}),
            ["placement.host.dedicatedHost.dynamicHostAllocation"],
        ),
        (with_host(dedicatedHost={"allocationStrategy": "Dynamic", "id": "h"}), ["placement.host.dedicatedHost.id"]),
        (with_host(dedicatedHost={"allocationStrategy": "odd"}), ["placement.host.dedicatedHost.allocationStrategy"]),
        ({"future": 1}, ["future"]),
    ],
    ids=str,
)
def test_what_is_dropped_is_said(given: dict[str, Any], paths: list[str]) -> None:
    result = converted(**given)
    assert result.errors == ()
    assert [text.partition(": ")[0] for text in result.remarks] == [f"{P}.{path}" for path in paths]
    assert all(text.endswith(" and is dropped") for text in result.remarks)


def test_a_typed_provider_spec_is_taken_as_it_is() -> None:
    config = mapi_aws.AWSMachineProviderConfig(ami=mapi_aws.ResourceReference(id="ami-1"))
    machine = mapi.Machine(spec=mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value=config)))
    assert infra_spec(AWS.to_cluster_api(machine, infrastructure())) == MINIMAL


def test_no_machine_is_an_error() -> None:
    assert AWS.to_cluster_api(None, infrastructure()).errors == ("provided Machine can not be nil",)
