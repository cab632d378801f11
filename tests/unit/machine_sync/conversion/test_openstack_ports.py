"""OpenStack ports, rule by rule: which become networks, which ports, and what each keeps."""

from typing import Any

import pytest

from windlass.api import capo, mapi_openstack
from windlass.machine_sync.conversion.field_errors import FieldError
from windlass.machine_sync.platforms.openstack.ports import networks_and_ports
from windlass.openstack.provider_spec_reading import Addresses
from windlass.openstack.provider_spec_reading import ports as ports_of

from .vectors import plain

BY_ID = "MAPO only supports defining subnets via IDs"
NETWORK = capo.Network(id="n")
FILTER = capo.NetworkFilter(name="f")
SUBNET = capo.FixedIP(subnet=capo.Subnet(id="s"))
FILTERED = capo.FixedIP(subnet=capo.Subnet(id="", filter=capo.SubnetFilter(name="f")))
BY_FILTER = capo.FixedIP(subnet=capo.Subnet(filter=capo.SubnetFilter(name="n")))
UNFILTERED = capo.FixedIP(subnet=capo.Subnet(id="", filter=capo.SubnetFilter()))


def converted(*ports: capo.Port, cluster: Addresses | None = None) -> tuple[Any, Any, list[str], list[str]]:
    """Networks, ports, errors and warnings, as JSON and texts."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    networks, converted_ports = networks_and_ports(list(ports), errors, warnings=warnings, cluster=cluster)
    return plain(networks), plain(converted_ports), list(map(str, errors)), list(map(str, warnings))


def as_network(port: capo.Port) -> Any:
    networks, ports, errors, warnings = converted(port)
    assert (ports, errors, warnings) == ([], [], [])
    return networks[0]


def as_port(port: capo.Port) -> Any:
    networks, ports, errors, warnings = converted(port)
    assert (networks, errors, warnings) == ([], [], [])
    return ports[0]


@pytest.mark.parametrize(
    ("port", "is_network"),
    [
        (capo.Port(network=capo.Network(filter=FILTER)), True),
        (capo.Port(network=capo.Network(filter=capo.NetworkFilter())), True),
        (capo.Port(network=capo.Network(id="n", filter=FILTER)), True),
        (capo.Port(fixed_ips=[SUBNET]), True),
        (capo.Port(network=NETWORK), False),
        (capo.Port(network=NETWORK, fixed_ips=[SUBNET]), False),
        (capo.Port(network=NETWORK, fixed_ips=[FILTERED]), True),
        (capo.Port(network=NETWORK, fixed_ips=[SUBNET, FILTERED]), True),
        (capo.Port(network=NETWORK, fixed_ips=[UNFILTERED]), False),
        (capo.Port(network=NETWORK, fixed_ips=[BY_FILTER]), True),
        (capo.Port(network=NETWORK, fixed_ips=[SUBNET, BY_FILTER], tags=["t"], vnic_type="direct"), True),
        (capo.Port(network=capo.Network(id="")), False),
    ],
)
def test_a_port_is_a_network_if_it_has_a_filter_or_only_a_subnet(port: capo.Port, is_network: bool) -> None:
    networks, ports, errors, _ = converted(port)
    assert (len(networks), len(ports), errors) == (int(is_network), int(not is_network), [])


def test_a_network_by_id_with_subnets_by_filter_comes_back_whole() -> None:
    network = mapi_openstack.Network(
        uuid="n",
        subnets=[
            mapi_openstack.Subnet(filter=mapi_openstack.SubnetFilter(name="nodes", tags="a,b"), port_tags=["t"]),
            mapi_openstack.Subnet(uuid="s", port_tags=["t"]),
        ],
        port_tags=["t"],
        port_security=False,
        no_allowed_address_pairs=True,
        vnic_type="direct",
        profile={"trusted": "true"},
    )
    (port,) = ports_of(mapi_openstack.OpenstackProviderSpec(networks=[network]), Addresses())

    assert as_network(port) == plain(network)


def test_networks_and_ports_keep_their_order() -> None:
    networks, ports, _, _ = converted(
        *(capo.Port(network=capo.Network(id=name)) for name in "ba"),
        *(capo.Port(network=capo.Network(filter=capo.NetworkFilter(name=name))) for name in "dc"),
    )
    assert [port["networkID"] for port in ports] == ["b", "a"]
    assert [network["filter"]["name"] for network in networks] == ["d", "c"]


@pytest.mark.parametrize(
    "port",
    [
        capo.Port(),
        capo.Port(network=capo.Network()),
        capo.Port(network=capo.Network(), fixed_ips=[SUBNET], host_id="h"),
        capo.Port(fixed_ips=[capo.FixedIP(), SUBNET]),
    ],
)
def test_a_port_without_a_network_is_one_error_and_nothing_else(port: capo.Port) -> None:
    networks, _, errors, warnings = converted(capo.Port(network=NETWORK), port)
    assert (networks, warnings) == ([], [])
    assert errors == ["spec.ports[1].network: Required value: A port must have a reference to a network"]


def test_an_id_of_a_network_wins_over_its_filter() -> None:
    assert as_network(capo.Port(network=capo.Network(id="n", filter=FILTER))) == {"uuid": "n", "filter": {}}


def test_filters_are_converted_whole() -> None:
    tags = {"tags": ["a", "b"], "tags_any": ["c"], "not_tags": ["d"], "not_tags_any": ["e", "f"]}
    joined = {"tags": "a,b", "tagsAny": "c", "notTags": "d", "notTagsAny": "e,f"}
    network = capo.NetworkFilter(name="n", description="d", project_id="p", **tags)
    subnet = capo.SubnetFilter(
        name="n",
        description="d",
        project_id="p",
        ip_version=6,
        gateway_ip="g",
        cidr="c",
        ipv6_address_mode="slaac",
        ipv6_ra_mode="dhcpv6",
        **tags,
    )
    port = capo.Port(
        network=capo.Network(filter=network),
        fixed_ips=[capo.FixedIP(subnet=capo.Subnet(id="s", filter=subnet), ip_address="lost"), capo.FixedIP()],
        tags=["t"],
    )
    named = {"name": "n", "description": "d", "projectId": "p", **joined}
    assert as_network(port) == {
        "filter": named,
        "portTags": ["t"],
        "subnets": [
            {
                "uuid": "s",
                "filter": {
                    **named,
                    "ipVersion": 6,
                    "gateway_ip": "g",
                    "cidr": "c",
                    "ipv6AddressMode": "slaac",
                    "ipv6RaMode": "dhcpv6",
                },
                "portTags": ["t"],
            },
            {"filter": {}},
        ],
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"allowed_address_pairs": []}, {"noAllowedAddressPairs": True}),
        ({"allowed_address_pairs": [capo.AddressPair(ip_address="1")]}, {}),
        ({"vnic_type": "direct"}, {"vnicType": "direct"}),
        ({"disable_port_security": True}, {"portSecurity": False}),
        ({"disable_port_security": False}, {"portSecurity": True}),
        ({"profile": capo.BindingProfile()}, {}),
        (
            {"profile": capo.BindingProfile(ovs_hw_offload=True, trusted_vf=True)},
            {"profile": {"capabilities": "switchdev", "trusted": "true"}},
        ),
        ({"profile": capo.BindingProfile(ovs_hw_offload=False, trusted_vf=True)}, {"profile": {"trusted": "true"}}),
        (
            {
                "description": "d",
                "name_suffix": "s",
                "trunk": True,
                "admin_state_up": True,
                "mac_address": "m",
                "security_groups": [capo.SecurityGroup()],
                "host_id": "h",
                "propagate_uplink_status": True,
                "value_specs": [],
            },
            {},
        ),
    ],
    ids=str,
)
def test_a_network_keeps_what_it_can_and_drops_the_rest_silently(
    given: dict[str, Any], expected: dict[str, Any]
) -> None:
    port = capo.Port(network=capo.Network(filter=FILTER), **given)
    assert as_network(port) == {"filter": {"name": "f"}, **expected}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"description": "", "name_suffix": ""}, {}),
        ({"description": "d", "name_suffix": "s"}, {"description": "d", "nameSuffix": "s"}),
        ({"admin_state_up": False, "trunk": False}, {"adminStateUp": False, "trunk": False}),
        ({"mac_address": "m", "vnic_type": "v"}, {"macAddress": "m", "vnicType": "v"}),
        ({"tags": ["b", "a"]}, {"tags": ["b", "a"]}),
        ({"allowed_address_pairs": []}, {}),
        (
            {"allowed_address_pairs": [capo.AddressPair(ip_address="1", mac_address="2"), capo.AddressPair()]},
            {"allowedAddressPairs": [{"ipAddress": "1", "macAddress": "2"}, {}]},
        ),
        (
            {"fixed_ips": [SUBNET, capo.FixedIP(subnet=capo.Subnet(id=""), ip_address="1")]},
            {"fixedIPs": [{"subnetID": "s"}, {"subnetID": "", "ipAddress": "1"}]},
        ),
        (
            {"fixed_ips": [capo.FixedIP(subnet=capo.Subnet(id="s", filter=capo.SubnetFilter(cidr="lost")))]},
            {"fixedIPs": [{"subnetID": "s"}]},
        ),
        ({"disable_port_security": True}, {"portSecurity": False}),
        ({"profile": capo.BindingProfile(ovs_hw_offload=True)}, {"profile": {"capabilities": "switchdev"}}),
        ({"security_groups": [capo.SecurityGroup(id="a")]}, {"securityGroups": ["a"]}),
        (
            {"security_groups": [capo.SecurityGroup(id="a"), capo.SecurityGroup(id="b")]},
            {"securityGroups": ["a", "b"]},
        ),
    ],
    ids=str,
)
def test_fields_of_a_port(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert as_port(capo.Port(network=NETWORK, **given)) == {"networkID": "n", **expected}


@pytest.mark.parametrize(
    ("given", "errors"),
    [
        (
            {"name_suffix": "x", "fixed_ips": [capo.FixedIP(), BY_FILTER]},
            [
                f"spec.ports[0].fixedIPs[0].subnet.id: Required value: {BY_ID}",
                f"spec.ports[0].fixedIPs[1].subnet.id: Required value: {BY_ID}",
            ],
        ),
        (
            {
                "fixed_ips": [
                    SUBNET,
                    capo.FixedIP(subnet=capo.Subnet(id="s", filter=capo.SubnetFilter(name="n", tags=["t"]))),
                ]
            },
            [f'spec.ports[0].fixedIPs[1].subnet.filter: Invalid value: {{"name":"n","tags":["t"]}}: {BY_ID}'],
        ),
        (
            {
                "security_groups": [
                    capo.SecurityGroup(),
                    capo.SecurityGroup(id="a", filter=capo.SecurityGroupFilter()),
                    capo.SecurityGroup(id="b"),
                ]
            },
            [
                "spec.ports[0].securityGroups[0]: Invalid value: {}: "
                "MAPO only supports defining port security groups by ID",
                'spec.ports[0].securityGroups[1]: Invalid value: {"id":"a","filter":{}}: '
                "MAPO only supports defining port security groups by ID",
            ],
        ),
    ],
)
def test_a_port_knows_subnets_and_security_groups_by_id_only(given: dict[str, Any], errors: list[str]) -> None:
    assert converted(capo.Port(network=NETWORK, **given))[2] == errors


@pytest.mark.parametrize(
    ("given", "field", "shown"),
    [
        ({"host_id": "<"}, "hostID", r'"\u003c"'),
        ({"host_id": ""}, "hostID", '""'),
        ({"propagate_uplink_status": False}, "propagateUplinkStatus", "false"),
        ({"value_specs": []}, "valueSpecs", "[]"),
        (
            {"value_specs": [capo.ValueSpec(name="n", key="k", value="v")]},
            "valueSpecs",
            '[{"name":"n","key":"k","value":"v"}]',
        ),
    ],
)
def test_what_a_port_loses_is_a_warning(given: dict[str, Any], field: str, shown: str) -> None:
    assert converted(capo.Port(network=NETWORK, **given))[3] == [
        f"spec.ports[0].{field}: Invalid value: {shown}: "
        f"The {field} field has no equivalent in MAPO and is not supported"
    ]
