"""OpenStack, rule by rule: fields of the OpenStackMachine but for its ports."""

from typing import Any

import pytest

from windlass.api import capi, capo, capo_cluster, mapi_openstack
from windlass.machine_sync.conversion import ConvertedToMachineAPI
from windlass.machine_sync.platforms import OPENSTACK

from .vectors import plain

IMAGE = capo.Image(filter=capo.ImageFilter(name="rhcos"))
BY_NAME = "MAPO only supports defining images by names"


def converted(
    machine: capi.Machine | None = None, /, *, of_cluster: capo.IdentityReference | None = None, **spec: Any
) -> ConvertedToMachineAPI:
    """The conversion of an OpenStackMachine with these fields in its spec, and an image unless given. `of_cluster` are
    the credentials of its cluster."""
    return OPENSTACK.to_machine_api(
        machine or capi.Machine(),
        capo.OpenStackMachine(spec=capo.OpenStackMachineSpec(**{"image": IMAGE, **spec})),
        capo_cluster.OpenStackCluster(spec=capo_cluster.OpenStackClusterSpec(identity_ref=of_cluster)),
    )


def provider_spec(converted: ConvertedToMachineAPI) -> mapi_openstack.OpenstackProviderSpec:
    assert converted.machine is not None, converted.error
    spec = converted.machine.spec.provider_spec.value
    assert isinstance(spec, mapi_openstack.OpenstackProviderSpec)
    return spec


def test_a_minimal_machine_has_what_is_always_there() -> None:
    result = converted()
    assert plain(provider_spec(result)) == {
        "kind": "OpenstackProviderSpec",
        "apiVersion": "machine.openshift.io/v1alpha1",
        "metadata": {},
        "cloudsSecret": None,
        "cloudName": "",
        "flavor": "",
        "image": "rhcos",
    }
    assert result.machine is not None
    assert plain(result.machine.status) == {}


OWN = capo.IdentityReference(type="Secret", name="own", cloud_name="mine")


@pytest.mark.parametrize(
    ("own", "of_cluster", "expected", "lost"),
    [
        pytest.param(OWN, capo.IdentityReference(name="all"), ("own", "mine"), [], id="its own come first"),
        pytest.param(
            None, capo.IdentityReference(name="all", cloud_name="one"), ("all", "one"), [], id="those of its cluster"
        ),
        pytest.param(
            capo.IdentityReference(cloud_name="lost"),
            capo.IdentityReference(type="Secret", name="all", cloud_name="one"),
            ("all", "one"),
            ["spec.identityRef.cloudName"],
            id="nameless",
        ),
        pytest.param(
            None,
            capo.IdentityReference(name="all", region="east"),
            ("all", ""),
            ["OpenStackCluster.spec.identityRef.region"],
            id="with a region",
        ),
        pytest.param(
            None,
            capo.IdentityReference(type="ClusterIdentity", name="all", cloud_name="one"),
            None,
            ["OpenStackCluster.spec.identityRef.type"],
            id="of no Secret",
        ),
        pytest.param(None, capo.IdentityReference(cloud_name="one"), None, [], id="neither has any"),
        pytest.param(None, None, None, [], id="nor does the cluster say anything"),
    ],
)
def test_a_machine_without_credentials_gets_those_of_its_cluster(
    own: capo.IdentityReference | None,
    of_cluster: capo.IdentityReference | None,
    expected: tuple[str, str] | None,
    lost: list[str],
) -> None:
    result = converted(identity_ref=own, of_cluster=of_cluster)
    spec = provider_spec(result)
    named = None if spec.clouds_secret is None else (spec.clouds_secret.name, spec.cloud_name)
    assert named == expected
    assert [each.partition(":")[0] for each in map(str, result.losses)] == lost


def test_credentials_that_the_machine_api_cannot_have_are_told_with_the_remedy() -> None:
    shared = capo.IdentityReference(type="ClusterIdentity", name="all", cloud_name="one")
    assert list(map(str, converted(of_cluster=shared).losses)) == [
        'OpenStackCluster.spec.identityRef.type: Invalid value: "ClusterIdentity": type has no equivalent in the '
        "Machine API and becomes no credentials: name a Secret in identityRef of the machine"
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"flavor": "m1"}, {"flavor": "m1"}),
        ({"ssh_key_name": "k"}, {"keyName": "k"}),
        ({"config_drive": False}, {"configDrive": False}),
        ({"trunk": True}, {"trunk": True}),
        ({"tags": ["b", "a"]}, {"tags": ["b", "a"]}),
        (
            {"identity_ref": capo.IdentityReference(type="?", name="s", cloud_name="c", region="r")},
            {"cloudsSecret": {"name": "s"}, "cloudName": "c"},
        ),
        ({"identity_ref": capo.IdentityReference(cloud_name="lost")}, {}),
        (
            {"server_metadata": [capo.ServerMetadata(key="k", value=value) for value in ("first", "last")]},
            {"serverMetadata": {"k": "last"}},
        ),
        ({"server_group": capo.ServerGroup(id="g")}, {"serverGroupID": "g"}),
        ({"server_group": capo.ServerGroup(id="")}, {}),
        ({"server_group": capo.ServerGroup(filter=capo.ServerGroupFilter(name="n"))}, {"serverGroupName": "n"}),
        (
            {"server_group": capo.ServerGroup(id="g", filter=capo.ServerGroupFilter(name="n"))},
            {"serverGroupID": "g"},
        ),
        (
            {"security_groups": [capo.SecurityGroup(id="g")]},
            {"securityGroups": [{"uuid": "g", "filter": {}}]},
        ),
        (
            {"security_groups": [capo.SecurityGroup(filter=capo.SecurityGroupFilter())]},
            {"securityGroups": [{"filter": {}}]},
        ),
        (
            {
                "security_groups": [
                    capo.SecurityGroup(
                        id="g",
                        filter=capo.SecurityGroupFilter(
                            name="n",
                            description="d",
                            project_id="p",
                            tags=["a", "b"],
                            tags_any=[""],
                            not_tags=["c"],
                            not_tags_any=["d", ""],
                        ),
                    )
                ]
            },
            {
                "securityGroups": [
                    {
                        "uuid": "g",
                        "name": "n",
                        "filter": {
                            "description": "d",
                            "projectId": "p",
                            "tags": "a,b",
                            "notTags": "c",
                            "notTagsAny": "d,",
                        },
                    }
                ]
            },
        ),
        ({"root_volume": capo.RootVolume()}, {"rootVolume": {"sourceUUID": "rhcos"}}),
        ({"tags": ["a", "cluster-api-provider-openstack", "openshift-machine-api-c"]}, {"tags": ["a"]}),
        (
            {
                "root_volume": capo.RootVolume(
                    size_gib=10, type="t", availability_zone=capo.VolumeAvailabilityZone(from_="Machine", name="z")
                )
            },
            {"rootVolume": {"sourceUUID": "rhcos", "volumeType": "t", "diskSize": 10, "availabilityZone": "z"}},
        ),
    ],
    ids=str,
)
def test_fields_are_converted(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert plain(provider_spec(converted(**given))) == {**plain(provider_spec(converted())), **expected}


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        (capo.BlockDeviceVolume(), {}),
        (capo.BlockDeviceVolume(type="t"), {"type": "t"}),
        (capo.BlockDeviceVolume(availability_zone=capo.VolumeAvailabilityZone(from_="Name")), {}),
        (
            capo.BlockDeviceVolume(availability_zone=capo.VolumeAvailabilityZone(from_="Name", name="z")),
            {"availabilityZone": "z"},
        ),
        (capo.BlockDeviceVolume(availability_zone=capo.VolumeAvailabilityZone(from_="Machine", name="z")), {}),
        (capo.BlockDeviceVolume(availability_zone=capo.VolumeAvailabilityZone(name="z")), {}),
    ],
)
def test_the_zone_of_a_volume_is_converted_if_it_is_given_by_name(
    volume: capo.BlockDeviceVolume, expected: dict[str, Any]
) -> None:
    device = capo.AdditionalBlockDevice(
        name="d", size_gib=1, storage=capo.BlockDeviceStorage(type="Volume", volume=volume)
    )
    assert plain(provider_spec(converted(additional_block_devices=[device])).additional_block_devices) == [
        {"name": "d", "sizeGiB": 1, "storage": {"type": "Volume", "volume": expected}}
    ]


def test_only_a_device_of_type_volume_has_a_volume() -> None:
    storage = capo.BlockDeviceStorage(type="Local", volume=capo.BlockDeviceVolume(type="t"))
    spec = provider_spec(converted(additional_block_devices=[capo.AdditionalBlockDevice(storage=storage)]))
    assert plain(spec.additional_block_devices) == [{"name": "", "sizeGiB": 0, "storage": {"type": "Local"}}]


@pytest.mark.parametrize(("secret", "expected"), [(None, None), ("", {}), ("s", {"name": "s"})])
def test_the_user_data_secret_may_have_an_empty_name(secret: str | None, expected: dict[str, str] | None) -> None:
    machine = capi.Machine(spec=capi.MachineSpec(bootstrap=capi.Bootstrap(data_secret_name=secret)))
    assert plain(provider_spec(converted(machine)).user_data_secret) == expected


def test_zone_flavor_and_state_are_metadata_too() -> None:
    infra = capo.OpenStackMachine(
        spec=capo.OpenStackMachineSpec(image=IMAGE, flavor="m1"),
        status=capo.OpenStackMachineStatus(instance_state="ACTIVE"),
    )
    source = capi.Machine(spec=capi.MachineSpec(failure_domain="az1"))
    machine = OPENSTACK.to_machine_api(source, infra, capo_cluster.OpenStackCluster()).machine
    assert machine is not None
    assert machine.spec.provider_spec.value.availability_zone == "az1"
    assert machine.metadata.labels == {
        "machine.openshift.io/instance-type": "m1",
        "machine.openshift.io/zone": "az1",
    }
    assert machine.metadata.annotations == {"machine.openshift.io/instance-state": "ACTIVE"}
    assert machine.status.provider_status is None


def test_the_provider_id_of_the_infra_machine_is_that_of_the_machine() -> None:
    assert converted(provider_id="openstack:///x") == converted()


def test_fields_that_are_dropped_have_a_warning() -> None:
    result = converted(
        floating_ip_pool_ref=capo.TypedReference(kind="K", name="n"),
        scheduler_hint_additional_properties=[capo.SchedulerHint(name="h")],
    )
    assert result.machine == converted().machine
    assert [text.partition(":")[0] for text in result.remarks] == [
        "spec.floatingIPPoolRef",
        "spec.schedulerHintAdditionalProperties",
    ]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (
            {"flavor_id": "<"},
            r'spec.flavorID: Invalid value: "\u003c": MAPO only supports defining flavors via names',
        ),
        (
            {"image": capo.Image(id="<", image_ref=capo.ResourceReference(name="r"))},
            f'spec.image.id: Invalid value: "<": {BY_NAME}',
        ),
        (
            {"image": capo.Image(filter=IMAGE.filter, image_ref=capo.ResourceReference(name="r"))},
            f'spec.image.imageRef: Invalid value: {{"name":"r"}}: {BY_NAME}',
        ),
        ({"image": capo.Image()}, f"spec.image.filter: Required value: {BY_NAME}"),
        (
            {"image": capo.Image(filter=capo.ImageFilter(tags=["t"]))},
            f"spec.image.filter: Required value: {BY_NAME}",
        ),
        (
            {"server_group": capo.ServerGroup(filter=capo.ServerGroupFilter())},
            'spec.serverGroup: Invalid value: {"filter":{}}: A server group must be referenced by a UUID or filter',
        ),
        (
            {"security_groups": [capo.SecurityGroup(id="g"), capo.SecurityGroup()]},
            "spec.securityGroups[1]: Invalid value: {}: A security group must be referenced by a UUID or filter",
        ),
        (
            {"additional_block_devices": [capo.AdditionalBlockDevice(storage=capo.BlockDeviceStorage(type="Volume"))]},
            'spec.additionalBlockDevices[0]: Invalid value: {"name":"","sizeGiB":0,"storage":{"type":"Volume"}}: '
            "The volume field must be populated if type is volume",
        ),
    ],
)
def test_what_the_machine_api_cannot_express_is_an_error(given: dict[str, Any], error: str) -> None:
    assert converted(**given) == ConvertedToMachineAPI(errors=(error,))


@pytest.mark.parametrize(("tags", "shown"), [([], "[]"), (["<", "b"], r'["\u003c","b"]')])
def test_tags_of_an_image_are_a_warning_even_if_there_are_none(tags: list[str], shown: str) -> None:
    result = converted(image=capo.Image(filter=capo.ImageFilter(name="n", tags=tags)))
    assert result.machine is not None
    assert result.remarks == (
        f"spec.image.filter.tags: Invalid value: {shown}: MAPO does not support filtering image by tags",
    )


def test_errors_and_warnings_come_in_the_order_of_the_rules() -> None:
    result = converted(
        capi.Machine(spec=capi.MachineSpec(version="v1")),
        flavor_id="x",
        server_group=capo.ServerGroup(),
        security_groups=[capo.SecurityGroup()],
        ports=[capo.Port(), capo.Port(network=capo.Network(id="n"), host_id="h")],
        image=capo.Image(filter=capo.ImageFilter(name="n", tags=[])),
        additional_block_devices=[capo.AdditionalBlockDevice(storage=capo.BlockDeviceStorage(type="Volume"))],
    )
    assert [text.partition(":")[0] for text in result.errors] == [
        "spec.additionalBlockDevices[0]",
        "spec.ports[0].network",
        "spec.securityGroups[0]",
        "spec.serverGroup",
        "spec.flavorID",
        "spec.version",
    ]
    assert [text.partition(":")[0] for text in result.remarks] == ["spec.image.filter.tags", "spec.ports[1].hostID"]


def test_provider_specs_compare_as_they_are() -> None:
    tree = {"tags": ["b", "a"]}
    assert OPENSTACK.canonical_provider_spec(tree) is tree
