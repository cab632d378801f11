"""OpenStack, rule by rule: a provider spec as an OpenStackMachine, and what is lost on the way."""

from typing import Any

import pytest

from windlass.api import capo, mapi
from windlass.api.config import Infrastructure, InfrastructureStatus
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.conversion import ConvertedToClusterAPI
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.platforms import OPENSTACK

from .vectors import plain

P = "spec.providerSpec.value"
CLUSTER = Infrastructure(status=InfrastructureStatus(infrastructure_name="c"))
TAGS = ["cluster-api-provider-openstack", "openshift-machine-api-c"]
MINIMAL = {"flavor": "", "image": {"filter": {"name": ""}}, "tags": TAGS}


def converted(**config: Any) -> ConvertedToClusterAPI:
    """The conversion of a Machine with these fields in its provider spec."""
    spec = mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value=config or None))
    return OPENSTACK.to_cluster_api(mapi.Machine(metadata=ObjectMeta(name="w-0"), spec=spec), CLUSTER)


def infra_spec(converted: ConvertedToClusterAPI) -> dict[str, Any]:
    assert isinstance(converted.infra_machine, capo.OpenStackMachine), converted.error
    spec: dict[str, Any] = plain(converted.infra_machine.spec)
    return spec


def ports(converted: ConvertedToClusterAPI) -> list[Any]:
    assert converted.remarks == ()
    found: list[Any] = infra_spec(converted)["ports"]
    return found


def network(**fields: Any) -> dict[str, Any]:
    return {"networks": [fields]}


def test_nothing_gives_what_is_always_there() -> None:
    result = converted()
    assert infra_spec(result) == MINIMAL
    assert plain(result.infra_machine.status) == {"ready": False}
    assert result.remarks == ()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"flavor": "m1", "image": "rhcos"}, {"flavor": "m1", "image": {"filter": {"name": "rhcos"}}}),
        ({"keyName": "k"}, {"sshKeyName": "k"}),
        ({"configDrive": False}, {"configDrive": False}),
        ({"trunk": True}, {"trunk": True}),
        ({"tags": ["b", "a"]}, {"tags": ["b", "a", *TAGS]}),
        (
            {"serverMetadata": {"b": "1", "a": "2"}},
            {"serverMetadata": [{"key": "a", "value": "2"}, {"key": "b", "value": "1"}]},
        ),
        (
            {"cloudsSecret": {"name": "s", "namespace": "openshift-machine-api"}, "cloudName": "c"},
            {"identityRef": {"type": "Secret", "name": "s", "cloudName": "c"}},
        ),
        ({"cloudsSecret": {"name": ""}}, {}),
        ({"serverGroupID": "id"}, {"serverGroup": {"id": "id"}}),
        ({"securityGroups": [{"uuid": "u"}]}, {"securityGroups": [{"id": "u"}]}),
        ({"securityGroups": [{}]}, {"securityGroups": [{"filter": {}}]}),
        (
            {"securityGroups": [{"name": "n", "filter": {"projectId": "p", "tags": "a,,b"}}]},
            {"securityGroups": [{"filter": {"name": "n", "projectID": "p", "tags": ["a", "b"]}}]},
        ),
        ({"securityGroups": [{"filter": {"name": "n"}}]}, {"securityGroups": [{"filter": {"name": "n"}}]}),
        ({"securityGroups": [{"filter": {"id": "f"}}]}, {"securityGroups": [{"id": "f"}]}),
        ({"securityGroups": [{"filter": {"tenantId": "t"}}]}, {"securityGroups": [{"filter": {"projectID": "t"}}]}),
        ({"rootVolume": {}}, {"rootVolume": {"sizeGiB": 0}}),
        (
            {"rootVolume": {"sourceUUID": "rhcos"}},
            {"rootVolume": {"sizeGiB": 0}, "image": {"filter": {"name": "rhcos"}}},
        ),
        (
            {"rootVolume": {}, "availabilityZone": "z"},
            {"rootVolume": {"sizeGiB": 0, "availabilityZone": {"from": "Machine"}}},
        ),
        (
            {"rootVolume": {"diskSize": 30, "volumeType": "ssd", "availabilityZone": "z"}},
            {"rootVolume": {"sizeGiB": 30, "type": "ssd", "availabilityZone": {"from": "Name", "name": "z"}}},
        ),
        (
            {"additionalBlockDevices": [{"name": "v", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {}}}]},
            {
                "additionalBlockDevices": [
                    {
                        "name": "v",
                        "sizeGiB": 1,
                        "storage": {"type": "Volume", "volume": {}},
                    }
                ]
            },
        ),
        (
            {"additionalBlockDevices": [{"name": "v", "sizeGiB": 1, "storage": {"type": "Local"}}]},
            {"additionalBlockDevices": [{"name": "v", "sizeGiB": 1, "storage": {"type": "Local"}}]},
        ),
    ],
    ids=str,
)
def test_fields_are_converted(given: dict[str, Any], expected: dict[str, Any]) -> None:
    result = converted(**given)
    assert infra_spec(result) == {**MINIMAL, **expected}
    assert result.remarks == ()


def test_zone_and_user_data_are_of_the_machine() -> None:
    machine = converted(availabilityZone="z", userDataSecret={"name": "s"}).machine
    assert machine is not None
    assert (machine.spec.failure_domain, machine.spec.bootstrap.data_secret_name) == ("z", "s")


def test_a_volume_that_is_not_described_is_an_error() -> None:
    assert converted(additionalBlockDevices=[{"storage": {"type": "Volume"}}]).errors == (
        f"{P}.additionalBlockDevices[0].volume: Required value: volume is required, but is missing",
    )


def test_a_server_group_by_name_is_told_because_cluster_api_creates_none() -> None:
    result = converted(serverGroupName="n")
    assert infra_spec(result)["serverGroup"] == {"filter": {"name": "n"}}
    assert result.remarks == (
        f'{P}.serverGroupName: Invalid value: "n": serverGroupName has no equivalent in Cluster API and becomes '
        "a reference: Cluster API creates no server group, so create it if there is none of this name",
    )


def test_a_machine_that_has_its_server_needs_no_server_group() -> None:
    spec = mapi.MachineSpec(
        provider_id="openstack:///1", provider_spec=mapi.ProviderSpec(value={"serverGroupName": "n"})
    )
    assert OPENSTACK.to_cluster_api(mapi.Machine(spec=spec), CLUSTER).remarks == ()


def test_the_tags_name_the_cluster_by_the_label_of_the_machine_as_for_machines_of_a_set() -> None:
    labels = {"machine.openshift.io/cluster-api-cluster": "shop-x7"}
    spec = mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value={"tags": ["a"]}))
    machine = mapi.Machine(metadata=ObjectMeta(namespace="mapi", labels=labels), spec=spec)
    template = mapi.MachineTemplate(metadata=mapi.NestedMeta(labels=labels), spec=spec)
    machine_set = mapi.MachineSet(
        metadata=ObjectMeta(name="s", namespace="mapi"), spec=mapi.MachineSetSpec(template=template)
    )
    one, of_set = OPENSTACK.to_cluster_api(machine, CLUSTER), cluster_api_machine_set(OPENSTACK, machine_set, CLUSTER)
    assert one.infra_machine.spec.tags == ["a", TAGS[0], "mapi-shop-x7"]
    assert of_set.infra_template.spec.template.spec == one.infra_machine.spec


def test_of_two_images_that_of_the_root_volume_is_taken_and_the_other_told() -> None:
    result = converted(image="old", rootVolume={"sourceUUID": "new"})
    assert infra_spec(result)["image"] == {"filter": {"name": "new"}}
    assert result.remarks == (
        f'{P}.image: Invalid value: "old": image has no equivalent in Cluster API and becomes new, because the Machine '
        "API takes rootVolume.sourceUUID: remove one of them",
    )


def test_security_groups_of_a_port_are_told_if_cluster_api_adds_those_of_the_machine() -> None:
    named = [{"uuid": "m"}]
    assert converted(securityGroups=named, ports=[{"networkID": "n", "securityGroups": ["m", "p"]}]).remarks == ()
    (told,) = converted(securityGroups=named, ports=[{"networkID": "n", "securityGroups": ["p"]}]).remarks
    assert told.startswith(f"{P}.ports[0].securityGroups: ")
    assert told.endswith("becomes these and those of securityGroups, which Cluster API adds: name all of them here")


def test_deprecated_fields_of_the_root_volume_are_warnings() -> None:
    result = converted(rootVolume={"sourceUUID": "u", "sourceType": "s", "deviceType": "d"})
    assert result.remarks == (
        f'{P}.rootVolume.deviceType: Invalid value: "d": '
        "deviceType is silently ignored by MAPO and will not be converted",
        f'{P}.rootVolume.sourceType: Invalid value: "s": '
        "sourceType is silently ignored by MAPO and will not be converted",
    )


class TestNetworks:
    @pytest.mark.parametrize(
        ("given", "target"),
        [
            ({"uuid": "u"}, {"id": "u"}),
            ({"filter": {"id": "f"}}, {"id": "f"}),
            ({"filter": {"name": "n", "tags": "a,b"}}, {"filter": {"name": "n", "tags": ["a", "b"]}}),
            ({"filter": {"projectId": "p"}}, {"filter": {"projectID": "p"}}),
            ({"filter": {"tenantId": "t"}}, {"filter": {"projectID": "t"}}),
        ],
        ids=str,
    )
    def test_a_network_that_is_named_is_one_port(self, given: dict[str, Any], target: dict[str, Any]) -> None:
        assert ports(converted(networks=[given])) == [{"network": target}]

    def test_a_named_network_has_an_address_on_each_of_its_subnets(self) -> None:
        subnets = [{"uuid": "s1", "portTags": ["a"]}, {"filter": {"name": "s2", "tags": "x,y"}, "portTags": ["b", "p"]}]
        assert ports(converted(**network(uuid="u", portTags=["p"], subnets=subnets))) == [
            {
                "network": {"id": "u"},
                "fixedIPs": [
                    {"subnet": {"id": "s1"}},
                    {"subnet": {"filter": {"name": "s2", "tags": ["x", "y"]}}},
                ],
                "tags": ["p", "a", "b"],
            }
        ]

    def test_subnets_of_no_named_network_are_a_port_each(self) -> None:
        subnets = [{"uuid": "s1"}, {"filter": {"name": "s2"}}, {"filter": {"id": "s3"}}, {}]
        assert ports(converted(**network(subnets=subnets))) == [
            {"fixedIPs": [{"subnet": {"id": "s1"}}]},
            {"fixedIPs": [{"subnet": {"filter": {"name": "s2"}}}]},
            {"fixedIPs": [{"subnet": {"id": "s3"}}]},
            {},
        ]

    def test_a_network_that_says_nothing_is_no_port(self) -> None:
        assert infra_spec(converted(**network())) == MINIMAL

    @pytest.mark.parametrize("count", range(1, 8))
    def test_tags_of_one_port_never_show_up_on_another(self, count: int) -> None:
        tags = [f"t{index}" for index in range(count)]
        subnets = [{"uuid": "s1", "portTags": ["a"]}, {"uuid": "s2", "portTags": ["b"]}, {"uuid": "s3"}]
        made = ports(converted(**network(portTags=tags, subnets=subnets)))
        assert [port["tags"] for port in made] == [[*tags, "a"], [*tags, "b"], tags]

    @pytest.mark.parametrize("target", [{"uuid": "u"}, {"subnets": [{"uuid": "s1"}, {"uuid": "s2"}]}], ids=str)
    def test_options_of_a_network_are_on_all_its_ports(self, target: dict[str, Any]) -> None:
        options = {
            "vnicType": "direct",
            "profile": {"capabilities": '["switchdev"]', "trusted": "true"},
            "portSecurity": False,
            "noAllowedAddressPairs": True,
        }
        for port in ports(converted(**network(**target, **options))):
            assert {key: port[key] for key in port if key not in ("network", "fixedIPs")} == {
                "allowedAddressPairs": [],
                "vnicType": "direct",
                "profile": {"ovsHWOffload": True, "trustedVF": True},
                "disablePortSecurity": True,
            }

    @pytest.mark.parametrize(
        ("network_says", "subnet_says", "disabled"),
        [(None, None, None), (None, False, True), (False, None, True), (True, False, True)],
    )
    def test_a_subnet_overrides_its_network_in_port_security(
        self, network_says: bool | None, subnet_says: bool | None, disabled: bool | None
    ) -> None:
        made = converted(**network(portSecurity=network_says, subnets=[{"uuid": "s", "portSecurity": subnet_says}]))
        assert ports(made)[0].get("disablePortSecurity") == disabled

    @pytest.mark.parametrize(
        ("given", "disabled"),
        [
            ({"uuid": "n", "portSecurity": True}, [False]),
            ({"portSecurity": True, "subnets": [{"uuid": "s"}]}, [False]),
            ({"portSecurity": False, "subnets": [{"uuid": "s", "portSecurity": True}, {"uuid": "t"}]}, [False, True]),
        ],
        ids=str,
    )
    def test_port_security_that_is_asked_for_is_switched_on(self, given: dict[str, Any], disabled: list[bool]) -> None:
        assert [port["disablePortSecurity"] for port in ports(converted(**network(**given)))] == disabled

    def test_a_network_that_nothing_names_is_dropped_with_all_it_says(self) -> None:
        result = converted(**network(vnicType="direct", portTags=["t"], noAllowedAddressPairs=True))
        assert "ports" not in infra_spec(result)
        [warning] = result.remarks
        assert warning.startswith(f"{P}.networks[0]: Invalid value: {{")
        assert '"vnicType":"direct"' in warning
        assert warning.endswith(": networks[0] has no equivalent in Cluster API and is dropped")

    def test_all_fields_of_a_subnet_filter_are_converted(self) -> None:
        given = {
            "name": "n",
            "description": "d",
            "tenantId": "t",
            "ipVersion": 6,
            "gateway_ip": "fe80::1",
            "cidr": "fd00::/64",
            "ipv6AddressMode": "slaac",
            "ipv6RaMode": "slaac",
            "tags": "a",
            "tagsAny": "b",
            "notTags": "c",
            "notTagsAny": "d",
        }
        [port] = ports(converted(**network(subnets=[{"filter": given}])))
        assert port["fixedIPs"][0]["subnet"]["filter"] == {
            "name": "n",
            "description": "d",
            "projectID": "t",
            "ipVersion": 6,
            "gatewayIP": "fe80::1",
            "cidr": "fd00::/64",
            "ipv6AddressMode": "slaac",
            "ipv6RAMode": "slaac",
            "tags": ["a"],
            "tagsAny": ["b"],
            "notTags": ["c"],
            "notTagsAny": ["d"],
        }

    def test_what_the_machine_api_ignores_too_is_a_warning_with_the_networks_index(self) -> None:
        networks = [{"uuid": "u0"}, {"uuid": "u", "fixedIp": "1.2.3.4", "subnets": [{"filter": {"networkId": "n"}}]}]
        assert converted(networks=networks).remarks == (
            f'{P}.networks[1].fixedIP: Invalid value: "1.2.3.4": fixedIp is ignored by MAPO, ignoring',
            f'{P}.networks[1].subnets[0].filter.networkId: Invalid value: "n": networkId is ignored by MAPO, ignoring',
        )


class TestPorts:
    def test_a_minimal_port_has_what_is_always_there(self) -> None:
        assert ports(converted(ports=[{"networkID": "n"}])) == [
            {"network": {"id": "n"}, "description": "", "nameSuffix": "", "profile": {}}
        ]

    def test_ports_come_after_networks_as_the_interfaces_of_the_machine_api_do(self) -> None:
        made = ports(converted(networks=[{"uuid": "first"}], ports=[{"networkID": "second"}]))
        assert [port["network"]["id"] for port in made] == ["first", "second"]

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"description": "d", "nameSuffix": "s"}, {"description": "d", "nameSuffix": "s"}),
            ({"adminStateUp": False, "trunk": False}, {"adminStateUp": False, "trunk": False}),
            ({"macAddress": "", "vnicType": ""}, {}),
            ({"macAddress": "m", "vnicType": "direct"}, {"macAddress": "m", "vnicType": "direct"}),
            ({"tags": ["t"]}, {"tags": ["t"]}),
            ({"portSecurity": False}, {"disablePortSecurity": True}),
            ({"portSecurity": True}, {"disablePortSecurity": False}),
            ({"securityGroups": ["a"]}, {"securityGroups": [{"id": "a"}]}),
            (
                {"allowedAddressPairs": [{"ipAddress": "i", "macAddress": "m"}, {"ipAddress": "j"}]},
                {"allowedAddressPairs": [{"ipAddress": "i", "macAddress": "m"}, {"ipAddress": "j"}]},
            ),
            (
                {"fixedIPs": [{"subnetID": "s", "ipAddress": "i"}, {"subnetID": "s"}, {"ipAddress": "i"}]},
                {"fixedIPs": [{"subnet": {"id": "s"}, "ipAddress": "i"}, {"subnet": {"id": "s"}}, {"ipAddress": "i"}]},
            ),
            ({"profile": {"capabilities": '["switchdev"]'}}, {"profile": {"ovsHWOffload": True}}),
            (
                {"profile": {"capabilities": "", "trusted": "false"}},
                {"profile": {"ovsHWOffload": False, "trustedVF": False}},
            ),
        ],
        ids=str,
    )
    def test_fields_of_a_port(self, given: dict[str, Any], expected: dict[str, Any]) -> None:
        [port] = ports(converted(ports=[{"networkID": "n", **given}]))
        assert port == {"network": {"id": "n"}, "description": "", "nameSuffix": "", "profile": {}, **expected}

    def test_an_unknown_key_of_a_profile_is_an_error(self) -> None:
        assert converted(ports=[{"profile": {"foo": "1", "bar": "2"}}]).errors == (
            f'{P}.ports[0].profile: Invalid value: {{"bar":"2","foo":"1"}}: profile contains an unsupported key',
        )

    def test_a_host_is_a_warning(self) -> None:
        assert converted(ports=[{"hostID": "h"}]).remarks == (
            f'{P}.ports[0].hostID: Invalid value: "h": hostID is ignored by MAPO, ignoring',
        )


def group(**filter_: Any) -> dict[str, Any]:
    return {"securityGroups": [{"name": "n", "filter": filter_}]}


def subnet(**fields: Any) -> dict[str, Any]:
    return {"networks": [{"subnets": [{"uuid": "s", **fields}]}]}


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"cloudName": "c"}, ["cloudName"]),
        ({"cloudsSecret": {"name": "s", "namespace": "other"}}, ["cloudsSecret.namespace"]),
        ({"userDataSecret": {"name": "s", "namespace": "other"}}, ["userDataSecret.namespace"]),
        ({"serverGroupID": "i", "serverGroupName": "n"}, ["serverGroupName"]),
        (
            {"sshUserName": "core", "floatingIP": "f", "primarySubnet": "p"},
            ["sshUserName", "floatingIP", "primarySubnet"],
        ),
        ({"metadata": {"name": "n"}}, ["metadata"]),
        ({"future": {"x": 1}}, ["future"]),
        (
            {"securityGroups": [{"uuid": "u", "name": "n", "filter": {"id": "i"}}]},
            ["securityGroups[0].name", "securityGroups[0].filter"],
        ),
        (group(id="i", tenantId="t"), ["securityGroups[0].name", "securityGroups[0].filter"]),
        (group(projectId="p", tenantId="t"), ["securityGroups[0].filter.tenantId"]),
        (group(name="other", limit=1), ["securityGroups[0].filter.name", "securityGroups[0].filter.limit"]),
        (group(name="n"), []),
        (
            {"additionalBlockDevices": [{"storage": {"type": "Local", "volume": {"type": "t"}}}]},
            ["additionalBlockDevices[0].storage.volume"],
        ),
        ({"ports": [{"projectID": "p", "tenantID": "t"}]}, ["ports[0].projectID", "ports[0].tenantID"]),
        ({"ports": [{"securityGroups": []}]}, ["ports[0].securityGroups"]),
        (
            {"ports": [{"profile": {"capabilities": "odd", "trusted": "yes"}}]},
            ["ports[0].profile.capabilities", "ports[0].profile.trusted"],
        ),
        (network(uuid="u", filter={"id": "u"}), []),
        (network(uuid="u", filter={"id": "other", "name": "n"}), ["networks[0].filter.id", "networks[0].filter.name"]),
        (network(filter={"projectId": "p", "tenantId": "t"}), ["networks[0].filter.tenantId"]),
        (
            network(filter={"name": "n", "status": "s", "shared": False}),
            ["networks[0].filter.status", "networks[0].filter.shared"],
        ),
        (network(filter={"status": "s"}), ["networks[0]"]),
        (network(uuid="u", profile={"foo": "1"}), ["networks[0].profile.foo"]),
        (network(uuid="u", subnets=[{"uuid": "s", "portSecurity": True}]), ["networks[0].subnets[0].portSecurity"]),
        (subnet(filter={"id": "s"}), []),
        (
            subnet(filter={"id": "other", "enableDhcp": False}),
            ["networks[0].subnets[0].filter.id", "networks[0].subnets[0].filter.enableDhcp"],
        ),
        (
            subnet(filter={"name": "n", "projectId": "p", "tenantId": "t"}),
            [f"networks[0].subnets[0].filter.{field}" for field in ("name", "projectId", "tenantId")],
        ),
        (
            subnet(filter={"subnetpoolId": "p", "sortKey": "k"}),
            ["networks[0].subnets[0].filter.subnetpoolId", "networks[0].subnets[0].filter.sortKey"],
        ),
    ],
    ids=str,
)
def test_what_is_dropped_is_said(given: dict[str, Any], paths: list[str]) -> None:
    result = converted(**given)
    assert result.errors == ()
    assert [text.partition(": ")[0] for text in result.remarks] == [f"{P}.{path}" for path in paths]
    assert all(text.endswith(" and is dropped") for text in result.remarks)


def test_a_provider_spec_that_cannot_be_read_is_the_only_error() -> None:
    [error] = converted(networks="x").errors
    assert error.endswith(
        "cannot unmarshal string into Go struct field OpenstackProviderSpec.networks of type []v1alpha1.NetworkParam"
    )


def test_no_machine_is_an_error() -> None:
    assert OPENSTACK.to_cluster_api(None, CLUSTER).errors == ("provided Machine can not be nil",)


@pytest.mark.parametrize("field", ["cloudsSecret", "userDataSecret"])
@pytest.mark.parametrize(
    ("home", "named", "lost"),
    [
        ("mapi", "mapi", False),
        ("mapi", "openshift-machine-api", True),
        ("openshift-machine-api", "openshift-machine-api", False),
        ("", "openshift-machine-api", False),
    ],
)
def test_a_secret_in_the_namespace_of_the_machine_is_found_by_its_name(
    field: str, home: str, named: str, *, lost: bool
) -> None:
    spec = mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value={field: {"name": "s", "namespace": named}}))
    metadata = ObjectMeta(name="m", namespace=home)
    template = mapi.MachineTemplate(spec=spec)
    machine_set = mapi.MachineSet(metadata=metadata, spec=mapi.MachineSetSpec(template=template))
    for result in (
        OPENSTACK.to_cluster_api(mapi.Machine(metadata=metadata, spec=spec), CLUSTER),
        cluster_api_machine_set(OPENSTACK, machine_set, CLUSTER),
    ):
        assert result.errors == ()
        assert [text.partition(":")[0] for text in result.losses] == [f"{P}.{field}.namespace"] * lost
