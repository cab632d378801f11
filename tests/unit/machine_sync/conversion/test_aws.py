"""AWS, rule by rule: fields of the AWSMachine and AWSCluster, and what the Machine API cannot express."""

from typing import Any

import pytest
from msgspec import structs

from windlass.api import capa, capi, mapi_aws
from windlass.api.meta import LocalReference, ObjectMeta
from windlass.machine_sync.conversion import ConvertedToMachineAPI
from windlass.machine_sync.platforms import AWS

from .vectors import plain

CONTROL_PLANE = capi.Machine(metadata=ObjectMeta(labels={"cluster.x-k8s.io/control-plane": ""}))
ARTICLE = "Please see https://access.redhat.com/articles/7116313 for more details."
NAMED = capa.Volume(device_name="/dev/sdb")
HOST_ID = "h-0123456789abcdef0"
HOST_ID_FORM = "id must start with 'h-' followed by 8 or 17 lowercase hexadecimal characters (0-9 and a-f)"


def converted(
    machine: capi.Machine | None = None, cluster: capa.AWSClusterSpec | None = None, /, **spec: Any
) -> ConvertedToMachineAPI:
    """The conversion of an AWSMachine with these fields in its spec."""
    return AWS.to_machine_api(
        machine or capi.Machine(),
        capa.AWSMachine(spec=capa.AWSMachineSpec(**spec)),
        capa.AWSCluster(spec=cluster or capa.AWSClusterSpec()),
    )


def provider_spec(converted: ConvertedToMachineAPI) -> mapi_aws.AWSMachineProviderConfig:
    assert converted.machine is not None, converted.error
    spec = converted.machine.spec.provider_spec.value
    assert isinstance(spec, mapi_aws.AWSMachineProviderConfig)
    return spec


def test_an_empty_machine_has_what_is_always_there() -> None:
    assert plain(provider_spec(converted())) == {
        "kind": "AWSMachineProviderConfig",
        "apiVersion": "machine.openshift.io/v1beta1",
        "metadata": {},
        "ami": {},
        "instanceType": "",
        "iamInstanceProfile": {"id": ""},
        "credentialsSecret": {"name": "aws-cloud-credentials"},
        "deviceIndex": 0,
        "subnet": {},
        "placement": {},
        "metadataServiceOptions": {},
        "capacityReservationId": "",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ami": capa.AMIReference(id="ami-1")}, {"ami": {"id": "ami-1"}}),
        ({"ami": capa.AMIReference(id="")}, {"ami": {"id": ""}}),
        ({"instance_type": "m5"}, {"instanceType": "m5"}),
        ({"ssh_key_name": ""}, {"keyName": ""}),
        ({"public_ip": False}, {"publicIp": False}),
        ({"placement_group_name": "g"}, {"placementGroupName": "g"}),
        ({"placement_group_partition": 7}, {"placementGroupPartition": 7}),
        ({"placement_group_partition": 2**31 - 1}, {"placementGroupPartition": 2**31 - 1}),
        ({"placement_group_partition": -1}, {}),
        ({"capacity_reservation_id": "cr"}, {"capacityReservationId": "cr"}),
        ({"iam_instance_profile": "p"}, {"iamInstanceProfile": {"id": "p"}}),
        ({"market_type": "CapacityBlock"}, {"marketType": "CapacityBlock"}),
        ({"spot_market_options": capa.SpotMarketOptions()}, {"spotMarketOptions": {}}),
        ({"spot_market_options": capa.SpotMarketOptions(max_price="1")}, {"spotMarketOptions": {"maxPrice": "1"}}),
        ({"network_interface_type": "efa"}, {"networkInterfaceType": "EFA"}),
        ({"network_interface_type": "interface"}, {"networkInterfaceType": "ENA"}),
        ({"tenancy": "dedicated"}, {"placement": {"tenancy": "dedicated"}}),
        (
            {"cpu_options": capa.CPUOptions(confidential_compute="Disabled")},
            {"cpuOptions": {"confidentialCompute": "Disabled"}},
        ),
        ({"cpu_options": capa.CPUOptions(confidential_compute="Other")}, {}),
        (
            {"additional_tags": {"b": "2", "a": "1"}},
            {"tags": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]},
        ),
        ({"subnet": capa.ResourceReference(id="s")}, {"subnet": {"id": "s"}}),
        (
            {"subnet": capa.ResourceReference(filters=[capa.Filter(name="n", values=["v"]), capa.Filter(name="m")])},
            {"subnet": {"filters": [{"name": "n", "values": ["v"]}, {"name": "m"}]}},
        ),
        (
            {"additional_security_groups": [capa.ResourceReference(id="g"), capa.ResourceReference()]},
            {"securityGroups": [{"id": "g"}, {}]},
        ),
    ],
    ids=str,
)
def test_fields_are_converted(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert plain(provider_spec(converted(**given))) == {**plain(provider_spec(converted())), **expected}


@pytest.mark.parametrize(
    "given",
    [
        {"ignition": capa.Ignition(version="2.3", storage_type="UnencryptedUserData")},
        {"provider_id": "aws:///z/i-1"},
        {"root_volume": capa.Volume()},
        {"network_interfaces": []},
        {"security_group_overrides": {}},
        {"cloud_init": capa.CloudInit()},
    ],
    ids=str,
)
def test_fields_without_meaning_to_a_mirror_are_dropped_without_a_word(given: dict[str, Any]) -> None:
    assert converted(**given) == converted()


def test_zone_region_and_secret_come_from_machine_and_cluster() -> None:
    machine = capi.Machine(
        spec=capi.MachineSpec(failure_domain="az1", bootstrap=capi.Bootstrap(data_secret_name="user-data"))
    )
    result = converted(machine, capa.AWSClusterSpec(region="r1"), instance_type="m5")
    spec = provider_spec(result)
    assert spec.placement == mapi_aws.Placement(region="r1", availability_zone="az1")
    assert spec.user_data_secret == LocalReference(name="user-data")
    assert result.machine is not None
    assert result.machine.metadata.labels == {
        "machine.openshift.io/instance-type": "m5",
        "machine.openshift.io/region": "r1",
        "machine.openshift.io/zone": "az1",
    }


def test_an_empty_secret_name_is_no_secret() -> None:
    machine = capi.Machine(spec=capi.MachineSpec(bootstrap=capi.Bootstrap(data_secret_name="")))
    assert provider_spec(converted(machine)).user_data_secret is None


@pytest.mark.parametrize(("tokens", "authentication"), [("", ""), ("optional", "Optional"), ("required", "Required")])
def test_http_tokens_become_authentication(tokens: str, authentication: str) -> None:
    options = capa.InstanceMetadataOptions(
        http_endpoint="enabled",
        http_protocol_ipv6="disabled",
        http_put_response_hop_limit=1,
        http_tokens=tokens,
        instance_metadata_tags="disabled",
    )
    spec = provider_spec(converted(instance_metadata_options=options))
    assert spec.metadata_service_options.authentication == authentication


VOLUMES = [
    (capa.Volume(size=120), {"ebs": {"kmsKey": {"id": ""}, "volumeSize": 120}}),
    (capa.Volume(type="gp3"), {"ebs": {"kmsKey": {"id": ""}, "volumeSize": 0, "volumeType": "gp3"}}),
    (
        capa.Volume(iops=5, throughput=0),
        {"ebs": {"kmsKey": {"id": ""}, "volumeSize": 0, "iops": 5, "throughputMib": 0}},
    ),
    (capa.Volume(encrypted=False), {"ebs": {"kmsKey": {"id": ""}, "volumeSize": 0, "encrypted": False}}),
    (capa.Volume(encryption_key="arn:x"), {"ebs": {"kmsKey": {"arn": "arn:x"}, "volumeSize": 0}}),
    (capa.Volume(encryption_key="ARN:x"), {"ebs": {"kmsKey": {"id": "ARN:x"}, "volumeSize": 0}}),
    (capa.Volume(device_name="/d"), {"deviceName": "/d", "ebs": {"kmsKey": {"id": ""}, "volumeSize": 0}}),
]


@pytest.mark.parametrize(("volume", "device"), VOLUMES)
def test_the_root_volume_comes_before_the_others(volume: capa.Volume, device: dict[str, Any]) -> None:
    spec = provider_spec(converted(root_volume=volume, non_root_volumes=[capa.Volume(), volume]))
    empty = {"ebs": {"kmsKey": {"id": ""}, "volumeSize": 0}}
    assert plain(spec.block_devices) == [device, empty, device]


DYNAMIC = capa.DynamicHostAllocation(tags={"b": "2", "a": "1"})


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ({}, None),
        ({"host_id": HOST_ID}, None),
        ({"host_affinity": "default"}, None),
        ({"host_affinity": "default", "tenancy": "default"}, None),
        ({"host_affinity": "default", "tenancy": "host"}, {"affinity": "AnyAvailable"}),
        (
            {"host_affinity": "default", "host_id": HOST_ID},
            {"affinity": "AnyAvailable", "dedicatedHost": {"allocationStrategy": "UserProvided", "id": HOST_ID}},
        ),
        (
            {"host_affinity": "host", "host_id": "h-01234567"},
            {"affinity": "DedicatedHost", "dedicatedHost": {"allocationStrategy": "UserProvided", "id": "h-01234567"}},
        ),
        (
            {"host_affinity": "host", "dynamic_host_allocation": capa.DynamicHostAllocation()},
            {"affinity": "DedicatedHost", "dedicatedHost": {"allocationStrategy": "Dynamic"}},
        ),
        (
            {"host_affinity": "host", "dynamic_host_allocation": DYNAMIC},
            {
                "affinity": "DedicatedHost",
                "dedicatedHost": {
                    "allocationStrategy": "Dynamic",
                    "dynamicHostAllocation": {
                        "tags": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}],
                    },
                },
            },
        ),
    ],
    ids=str,
)
def test_host_placement(given: dict[str, Any], host: dict[str, Any] | None) -> None:
    assert plain(provider_spec(converted(**given)).placement.host) == host


ERRORS = [
    ({"tenancy": "<odd>"}, 'spec.tenancy: Invalid value: "<odd>": unable to convert tenancy, unknown value'),
    (
        {"market_type": "<odd>"},
        r'spec.marketType: Invalid value: "\u003codd\u003e": unable to convert market type, unknown value',
    ),
    (
        {"instance_metadata_options": capa.InstanceMetadataOptions(http_tokens="&")},
        r'spec.instanceMetadataOptions.httpTokens: Invalid value: "\u0026": '
        "unable to convert httpTokens state, unknown value",
    ),
    (
        {"instance_metadata_options": capa.InstanceMetadataOptions(http_endpoint="disabled")},
        'spec.instanceMetadataOptions.httpEndpoint: Invalid value: "disabled": '
        'httpEndpoint values other than "enabled" are not supported',
    ),
    (
        {"instance_metadata_options": capa.InstanceMetadataOptions(http_put_response_hop_limit=2)},
        "spec.instanceMetadataOptions.httpPutResponseHopLimit: Invalid value: 2: "
        "httpPutResponseHopLimit values other than 1 are not supported",
    ),
    (
        {"instance_metadata_options": capa.InstanceMetadataOptions(http_protocol_ipv6="enabled")},
        'spec.instanceMetadataOptions.httpProtocolIpv6: Invalid value: "enabled": '
        'httpProtocolIpv6 values other than "disabled" are not supported',
    ),
    (
        {"instance_metadata_options": capa.InstanceMetadataOptions(instance_metadata_tags="enabled")},
        'spec.instanceMetadataOptions.instanceMetadataTags: Invalid value: "enabled": '
        'instanceMetadataTags values other than "disabled" are not supported',
    ),
    (
        {"placement_group_partition": 2**31},
        "spec.placementGroupPartition: Invalid value: 2147483648: placementGroupPartition exceeds maximum int32 value",
    ),
    (
        {"root_volume": capa.Volume(throughput=2**31)},
        "spec.rootVolume.throughput: Invalid value: 2147483648: throughput exceeds maximum int32 value",
    ),
    (
        {"non_root_volumes": [NAMED, structs.replace(NAMED, throughput=-(2**31) - 1)]},
        "spec.nonRootVolumes[1].throughput: Invalid value: -2147483649: throughput exceeds maximum int32 value",
    ),
    (
        {"network_interface_type": "odd"},
        'spec.networkInterfaceType: Invalid value: "odd": '
        "networkInterface type must be one of interface, efa or omitted, unsupported value",
    ),
    (
        {"ami": capa.AMIReference(eks_lookup_type="<")},
        r'spec.ami.eksOptimizedLookupType: Invalid value: "\u003c": eksOptimizedLookupType is not supported',
    ),
    ({"image_lookup_format": "<"}, 'spec.imageLookupFormat: Invalid value: "<": imageLookupFormat is not supported'),
    ({"image_lookup_org": "o"}, 'spec.imageLookupOrg: Invalid value: "o": imageLookupOrg is not supported'),
    ({"image_lookup_base_os": "o"}, 'spec.imageLookupBaseOS: Invalid value: "o": imageLookupBaseOS is not supported'),
    (
        {"security_group_overrides": {"node": "sg", "lb": "<"}},
        r'spec.securityGroupOverrides: Invalid value: {"lb":"\u003c","node":"sg"}: '
        "securityGroupOverrides are not supported",
    ),
    (
        {"network_interfaces": ["eni-1", ""]},
        'spec.networkInterfaces: Invalid value: ["eni-1",""]: networkInterfaces are not supported',
    ),
    (
        {"uncompressed_user_data": False},
        "spec.uncompressedUserData: Invalid value: false: uncompressedUserData is not supported",
    ),
    (
        {"cloud_init": capa.CloudInit(secret_count=1, secret_prefix="p")},
        'spec.cloudInit: Invalid value: {"secretCount":1,"secretPrefix":"p"}: cloudInit is not supported',
    ),
    (
        {"ignition": capa.Ignition(proxy=capa.IgnitionProxy())},
        "spec.ignition.proxy: Invalid value: {}: ignition proxy is not supported",
    ),
    (
        {"ignition": capa.Ignition(tls=capa.IgnitionTLS(certificate_authorities=["c"]))},
        'spec.ignition.tls: Invalid value: {"certificateAuthorities":["c"]}: ignition tls is not supported',
    ),
    (
        {"host_affinity": "<odd>"},
        r'spec.hostAffinity: Invalid value: "\u003codd\u003e": unable to convert hostAffinity, unknown value',
    ),
    (
        {"dynamic_host_allocation": DYNAMIC},
        'spec.dynamicHostAllocation: Invalid value: {"tags":{"a":"1","b":"2"}}: '
        "dynamicHostAllocation is only allowed when hostAffinity is host",
    ),
    (
        {"host_affinity": "default", "dynamic_host_allocation": DYNAMIC, "tenancy": "host"},
        'spec.dynamicHostAllocation: Invalid value: {"tags":{"a":"1","b":"2"}}: '
        "dynamicHostAllocation is only allowed when hostAffinity is host",
    ),
    (
        {"host_affinity": "host"},
        "spec.dedicatedHost: Required value: either id or dynamicHostAllocation is required when hostAffinity is host",
    ),
    (
        {"host_affinity": "host", "host_id": "<", "dynamic_host_allocation": DYNAMIC},
        r'spec.dedicatedHost: Invalid value: "\u003c": id and dynamicHostAllocation are mutually exclusive',
    ),
    *(
        (
            {"host_affinity": affinity, "host_id": host_id},
            f'spec.dedicatedHost.id: Invalid value: "{host_id}": {HOST_ID_FORM}',
        )
        for affinity in ("host", "default")
        for host_id in ("", "h-", "h-0123456", "h-012345678", "h-0123456G", f"{HOST_ID}0", f"x{HOST_ID}", "H-01234567")
    ),
    (
        {"host_affinity": "host", "host_id": f"{HOST_ID}\n"},
        f'spec.dedicatedHost.id: Invalid value: "{HOST_ID}\\n": {HOST_ID_FORM}',
    ),
]


@pytest.mark.parametrize(("given", "error"), ERRORS, ids=lambda value: None if isinstance(value, str) else str(value))
def test_what_the_machine_api_cannot_express_is_an_error(given: dict[str, Any], error: str) -> None:
    assert converted(**given) == ConvertedToMachineAPI(errors=(error,))


@pytest.mark.parametrize(
    ("identity", "errors"),
    [
        (None, ()),
        (capa.IdentityReference(), ()),
        (capa.IdentityReference(kind="AWSClusterControllerIdentity", name="default"), ()),
        (
            capa.IdentityReference(kind="K<", name="default"),
            (
                r'spec.identityRef.kind: Invalid value: "K\u003c": '
                f'kind "K<" cannot be converted to CredentialsSecret. {ARTICLE}',
            ),
        ),
        (
            capa.IdentityReference(name="n<"),
            (
                'spec.identityRef.name: Invalid value: "n<": '
                f'name "n<" must be "default" when using an AWSClusterControllerIdentity. {ARTICLE}',
            ),
        ),
        (
            capa.IdentityReference(kind="K", name="n"),
            (
                'spec.identityRef.kind: Invalid value: "K": '
                f'kind "K" cannot be converted to CredentialsSecret. {ARTICLE}',
                'spec.identityRef.name: Invalid value: "n": '
                f'name "n" must be "default" when using an AWSClusterControllerIdentity. {ARTICLE}',
            ),
        ),
    ],
)
def test_only_the_default_identity_can_be_expressed(
    identity: capa.IdentityReference | None, errors: tuple[str, ...]
) -> None:
    assert converted(None, capa.AWSClusterSpec(identity_ref=identity)).errors == errors


@pytest.mark.parametrize(("kind", "expected"), [("classic", "classic"), ("elb", "classic"), ("nlb", "network")])
def test_a_control_plane_machine_registers_with_the_load_balancers(kind: str, expected: str) -> None:
    cluster = capa.AWSClusterSpec(
        control_plane_load_balancer=capa.LoadBalancer(name="int", load_balancer_type=kind),
        secondary_control_plane_load_balancer=capa.LoadBalancer(load_balancer_type="nlb"),
    )
    assert provider_spec(converted(CONTROL_PLANE, cluster)).load_balancers == [
        mapi_aws.LoadBalancer(name="int", type=expected),
        mapi_aws.LoadBalancer(name="", type="network"),
    ]
    assert provider_spec(converted(None, cluster)).load_balancers == []


@pytest.mark.parametrize(
    ("cluster", "error"),
    [
        (
            capa.AWSClusterSpec(),
            "spec.controlPlaneLoadBalancer: Invalid value: null: failed to convert load balancer: nil load balancer",
        ),
        (
            capa.AWSClusterSpec(
                control_plane_load_balancer=capa.LoadBalancer(load_balancer_type="nlb"),
                secondary_control_plane_load_balancer=capa.LoadBalancer(
                    name="ext", scheme="internal", ingress_rules=[capa.IngressRule(cidr_blocks=["c"])]
                ),
            ),
            'spec.secondaryControlPlaneLoadBalancer: Invalid value: {"name":"ext","scheme":"internal",'
            '"crossZoneLoadBalancing":false,"ingressRules":[{"description":"","protocol":"","fromPort":0,"toPort":0,'
            '"cidrBlocks":["c"]}]}: failed to convert load balancer: unsupported load balancer type',
        ),
    ],
)
def test_a_load_balancer_that_the_machine_api_does_not_know_is_an_error(
    cluster: capa.AWSClusterSpec, error: str
) -> None:
    assert converted(CONTROL_PLANE, cluster).errors == (error,)


@pytest.mark.parametrize(
    ("status", "instance_id", "expected"),
    [
        (
            capa.AWSMachineStatus(),
            None,
            {
                "instanceState": "",
                "conditions": [
                    {
                        "type": "MachineCreation",
                        "status": "False",
                        "lastTransitionTime": None,
                        "reason": "MachineCreationFailed",
                        "message": "See AWSMachine conditions.",
                    }
                ],
            },
        ),
        (
            capa.AWSMachineStatus(instance_state="running", dedicated_host=capa.DedicatedHostStatus(id="h-1")),
            "i-1",
            {
                "instanceId": "i-1",
                "instanceState": "running",
                "conditions": [
                    {
                        "type": "MachineCreation",
                        "status": "True",
                        "lastTransitionTime": None,
                        "reason": "MachineCreationSucceeded",
                        "message": "Machine successfully created",
                    }
                ],
                "dedicatedHost": {"id": "h-1"},
            },
        ),
    ],
)
def test_the_provider_status_tells_of_the_instance(
    status: capa.AWSMachineStatus, instance_id: str | None, expected: dict[str, Any]
) -> None:
    infra = capa.AWSMachine(spec=capa.AWSMachineSpec(instance_id=instance_id), status=status)
    machine = AWS.to_machine_api(capi.Machine(), infra, capa.AWSCluster()).machine
    assert machine is not None
    assert plain(machine.status.provider_status) == expected


def test_errors_come_in_the_order_of_the_rules() -> None:
    options = capa.InstanceMetadataOptions(
        http_tokens="x",
        http_endpoint="x",
        http_put_response_hop_limit=5,
        http_protocol_ipv6="x",
        instance_metadata_tags="x",
    )
    cluster = capa.AWSClusterSpec(
        secondary_control_plane_load_balancer=capa.LoadBalancer(),
        identity_ref=capa.IdentityReference(kind="x", name="x"),
    )
    machine = capi.Machine(
        metadata=CONTROL_PLANE.metadata,
        spec=capi.MachineSpec(version="v1"),
        status=capi.MachineStatus(addresses=[capi.Address(type="x")]),
    )
    result = converted(
        machine,
        cluster,
        tenancy="x",
        instance_metadata_options=options,
        market_type="x",
        placement_group_partition=2**40,
        host_affinity="x",
        root_volume=capa.Volume(throughput=2**40),
        non_root_volumes=[capa.Volume(throughput=2**40)],
        network_interface_type="x",
        ami=capa.AMIReference(eks_lookup_type="x"),
        image_lookup_format="x",
        image_lookup_org="x",
        image_lookup_base_os="x",
        security_group_overrides={"x": "x"},
        network_interfaces=["x"],
        uncompressed_user_data=True,
        cloud_init=capa.CloudInit(secret_count=1),
        ignition=capa.Ignition(proxy=capa.IgnitionProxy(), tls=capa.IgnitionTLS()),
    )
    assert [text.partition(":")[0] for text in result.errors] == [
        "spec.tenancy",
        "spec.instanceMetadataOptions.httpTokens",
        "spec.instanceMetadataOptions.httpEndpoint",
        "spec.instanceMetadataOptions.httpPutResponseHopLimit",
        "spec.instanceMetadataOptions.httpProtocolIpv6",
        "spec.instanceMetadataOptions.instanceMetadataTags",
        "spec.marketType",
        "spec.controlPlaneLoadBalancer",
        "spec.secondaryControlPlaneLoadBalancer",
        "spec.placementGroupPartition",
        "spec.hostAffinity",
        "spec.identityRef.kind",
        "spec.identityRef.name",
        "spec.rootVolume.throughput",
        "spec.nonRootVolumes[0].throughput",
        "spec.networkInterfaceType",
        "spec.ami.eksOptimizedLookupType",
        "spec.imageLookupFormat",
        "spec.imageLookupOrg",
        "spec.imageLookupBaseOS",
        "spec.securityGroupOverrides",
        "spec.networkInterfaces",
        "spec.uncompressedUserData",
        "spec.cloudInit",
        "spec.ignition.proxy",
        "spec.ignition.tls",
        "status.addresses",
        "spec.version",
    ]


def test_provider_specs_compare_with_their_tags_sorted() -> None:
    tags = [{"name": "b", "value": "1"}, {"name": "a", "value": "2"}]
    assert AWS.canonical_provider_spec({"tags": tags, "x": 1}) == {"tags": [tags[1], tags[0]], "x": 1}
    assert tags[0]["name"] == "b"


@pytest.mark.parametrize("tree", [None, {}, {"tags": None}, {"tags": "x"}, {"tags": [None, 1, {}]}, [1]])
def test_a_provider_spec_of_any_shape_can_be_compared(tree: Any) -> None:
    assert AWS.canonical_provider_spec(tree) == tree
