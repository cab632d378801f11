"""Which rules the groups of a cluster have, and which rules Neutron takes for the same."""

from typing import Any

import pytest

from tests.unit.openstack.cluster.networked import spec
from windlass.openstack.cloud.resources import SecurityGroupRule
from windlass.openstack.cluster.rules import Rule, canonical, desired, rule_of

OUT = ["egress IPv4 any to anywhere", "egress IPv6 any to anywhere"]
IDS = {"controlplane": "CP", "worker": "W"}
ALL = {**IDS, "bastion": "B"}
CONTROL_PLANE = [
    "ingress IPv4 tcp 6443 from anywhere",
    "ingress IPv4 tcp 2379-2380 from CP",
    "ingress IPv4 tcp 10250 from CP",
    "ingress IPv4 tcp 10250 from W",
]
NODE_PORTS = [
    f"ingress IPv4 {protocol} 30000-32767 from {remote}"
    for protocol in ("tcp", "udp")
    for remote in ("10.0.0.0/24", "CP", "W")
]
WORKER = [*NODE_PORTS, "ingress IPv4 tcp 10250 from CP", "ingress IPv4 tcp 10250 from W"]


def wanted(ids: dict[str, str] = IDS, cidrs: tuple[str, ...] = ("10.0.0.0/24",), **fields: Any) -> dict[str, list[str]]:
    rules, obstacles = desired(spec(**{"managedSecurityGroups": {}, **fields}), cidrs, ids)
    assert not obstacles
    return {role: sorted(str(each) for each in some) for role, some in rules.items()}


def test_a_cluster_without_a_bastion_has_two_groups() -> None:
    assert wanted() == {"controlplane": sorted([*OUT, *CONTROL_PLANE]), "worker": sorted([*OUT, *WORKER])}


def test_ssh_comes_from_the_bastion_only() -> None:
    found, ssh = wanted(ALL), "ingress IPv4 tcp 22 from B"
    assert found["bastion"] == sorted([*OUT, "ingress IPv4 tcp 22 from anywhere"])
    assert found["controlplane"] == sorted([*OUT, *CONTROL_PLANE, ssh])
    assert found["worker"] == sorted([*OUT, *WORKER, ssh])


def test_all_traffic_in_the_cluster_replaces_etcd_and_kubelet() -> None:
    everything = ["ingress IPv4 any from CP", "ingress IPv4 any from W"]
    assert wanted(managedSecurityGroups={"allowAllInClusterTraffic": True}) == {
        "controlplane": sorted([*OUT, CONTROL_PLANE[0], *everything]),
        "worker": sorted([*OUT, *NODE_PORTS, *everything]),
    }


@pytest.mark.parametrize(("enabled", "there"), [(True, True), (None, True), (False, False)])
def test_ports_of_the_load_balancer_are_open(enabled: bool | None, there: bool) -> None:
    found = wanted(apiServerLoadBalancer={"enabled": enabled, "additionalPorts": [22623]})
    assert ("ingress IPv4 tcp 22623 from anywhere" in found["controlplane"]) is there


ENDPOINT = {"host": "api.example", "port": 8443}
API = "ingress IPv4 tcp {} from anywhere"


@pytest.mark.parametrize(
    ("fields", "ports"),
    [
        pytest.param({}, {6443}, id="default"),
        pytest.param({"apiServerPort": 443}, {443, 6443}, id="without a load balancer"),
        pytest.param({"apiServerPort": 443, "apiServerLoadBalancer": {"enabled": True}}, {443, 6443}, id="with one"),
        pytest.param({"apiServerPort": 6443}, {6443}, id="the default, said"),
        pytest.param(
            {"apiServerPort": 443, "apiServerLoadBalancer": {"enabled": True, "additionalPorts": [443, 22623]}},
            {443, 6443, 22623},
            id="said twice",
        ),
        pytest.param({"controlPlaneEndpoint": ENDPOINT}, {6443}, id="an endpoint of somebody else"),
        pytest.param({"controlPlaneEndpoint": ENDPOINT, "apiServerPort": 443}, {443, 6443}, id="the same, and a port"),
        pytest.param(
            {"controlPlaneEndpoint": ENDPOINT, "apiServerLoadBalancer": {"enabled": True}},
            {6443, 8443},
            id="the endpoint of the load balancer",
        ),
    ],
)
def test_the_port_of_the_api_servers_is_open(fields: dict[str, Any], ports: set[int]) -> None:
    open_ports = {each for each in wanted(**fields)["controlplane"] if "from anywhere" in each}
    assert open_ports == {API.format(port) for port in ports}


def test_an_ipv6_subnet_opens_the_same_for_ipv6() -> None:
    found = wanted(cidrs=("10.0.0.0/24", "fd00::/64"))
    mirrored = [each.replace("IPv4", "IPv6") for each in [*CONTROL_PLANE, *WORKER] if "10.0.0.0" not in each]
    assert set(mirrored) <= {*found["controlplane"], *found["worker"]}
    assert "ingress IPv6 udp 30000-32767 from fd00::/64" in found["worker"]


def rule(**fields: Any) -> dict[str, Any]:
    return {"name": "r", "direction": "ingress", **fields}


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        (
            rule(protocol="tcp", portRangeMin=179, portRangeMax=179, remoteManagedGroups=["controlplane", "worker"]),
            ["ingress IPv4 tcp 179 from CP", "ingress IPv4 tcp 179 from W"],
        ),
        (rule(protocol="4", remoteIPPrefix="10.9.0.7/24"), ["ingress IPv4 ipip from 10.9.0.0/24"]),
        (rule(protocol="udp", portRangeMin=5, portRangeMax=9), ["ingress IPv4 udp 5-9 from anywhere"]),
        (rule(remoteManagedGroups=[], remoteGroupID="X"), ["ingress IPv4 any from X"]),
        (rule(remoteIPPrefix="fd00::/8"), ["ingress IPv6 any from fd00::/8"]),
        (rule(protocol="icmp", portRangeMin=8, portRangeMax=0), ["ingress IPv4 icmp 8-0 from anywhere"]),
        (rule(direction="egress", etherType="IPv6"), []),
    ],
    ids=[
        "one for each group",
        "prefix",
        "no remote",
        "none",
        "etherType of the prefix",
        "ICMP type and code",
        "there already",
    ],
)
def test_rules_of_the_user(given: dict[str, Any], becomes: list[str]) -> None:
    for field, roles in (
        ("controlPlaneNodesSecurityGroupRules", {"controlplane"}),
        ("workerNodesSecurityGroupRules", {"worker"}),
        ("allNodesSecurityGroupRules", {"controlplane", "worker"}),
    ):
        found, plain = wanted(managedSecurityGroups={field: [given]}), wanted()
        for role in IDS:
            assert sorted(set(found[role]) - set(plain[role])) == (becomes if role in roles else [])


def test_a_rule_of_a_user_from_its_own_group_and_its_description() -> None:
    given = {"workerNodesSecurityGroupRules": [rule(remoteGroupID="self", description="BGP")]}
    rules, _ = desired(spec(managedSecurityGroups=given), (), IDS)
    assert rules["worker"][canonical(Rule(direction="ingress", group="W"))] == "BGP"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (rule(remoteManagedGroups=["bastion", "worker"]), "remoteManagedGroups names bastion, which the cluster does"),
        (rule(remoteManagedGroups=["storage"]), "remoteManagedGroups names storage"),
        (rule(remoteIPPrefix="everywhere"), "'everywhere' does not appear to be an IPv4 or IPv6 network"),
        (rule(etherType="IPv4", remoteIPPrefix="::/0"), "etherType IPv4 does not fit remoteIPPrefix ::/0: correct it"),
        (rule(portRangeMin=22, portRangeMax=22), "protocol any has no ports, but there is a port range: correct it"),
        (rule(protocol="vrrp", portRangeMin=1, portRangeMax=2), "protocol vrrp has no ports"),
        (rule(protocol="TCP", portRangeMin=9, portRangeMax=5), "no port range: portRangeMin 9, portRangeMax 5"),
        (rule(protocol="17", portRangeMin=9), "no port range: portRangeMin 9, portRangeMax missing"),
        (rule(protocol="tcp", portRangeMin=0, portRangeMax=65536), "no port range: portRangeMin 0, portRangeMax 65536"),
    ],
    ids=[
        "no bastion",
        "unknown",
        "no CIDR",
        "two IP versions",
        "ports without a protocol",
        "ports of a protocol that has none",
        "ports in the wrong order",
        "half a range",
        "no such ports",
    ],
)
def test_a_rule_that_says_nothing_possible_is_named_and_the_others_stay(given: dict[str, Any], says: str) -> None:
    managed = {"allNodesSecurityGroupRules": [given, rule(name="s", protocol="vrrp")]}
    rules, (obstacle,) = desired(spec(managedSecurityGroups=managed), (), IDS)
    assert f"spec.managedSecurityGroups.allNodesSecurityGroupRules, rule r: {says}" in str(obstacle.why)
    assert canonical(Rule(direction="ingress", protocol="vrrp")) in rules["worker"]


TCP = {"ethertype": "IPv4", "protocol": "tcp", "port_range_min": 22, "port_range_max": 22}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (TCP, {**TCP, "protocol": "6"}, True),
        (TCP, {**TCP, "description": "ssh"}, True),
        (TCP, {**TCP, "remote_ip_prefix": "0.0.0.0/0"}, True),
        (TCP, {**TCP, "remote_ip_prefix": "10.0.0.0/8"}, False),
        (TCP, {**TCP, "remote_address_group_id": "g"}, False),
        (TCP, {**TCP, "remote_group_id": "g"}, False),
        (TCP, {**TCP, "port_range_max": 23}, False),
        (TCP, {**TCP, "direction": "egress"}, False),
        (TCP, {**TCP, "ethertype": "IPv6"}, False),
        ({"remote_ip_prefix": "10.0.0.1"}, {"remote_ip_prefix": "10.0.0.1/32"}, True),
        ({"protocol": "any"}, {"protocol": None}, True),
        ({"protocol": "icmp", "ethertype": "IPv6"}, {"protocol": "58", "ethertype": "IPv6"}, True),
        ({"protocol": "icmpv6", "ethertype": "IPv6"}, {"protocol": "ipv6-icmp", "ethertype": "IPv6"}, True),
        ({"protocol": "icmp"}, {"protocol": "58"}, False),
        ({"protocol": "200"}, {"protocol": "200"}, True),
    ],
)
def test_rules_are_the_same_when_neutron_says_so(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert (rule_of(SecurityGroupRule(**one)) == rule_of(SecurityGroupRule(**other))) is same


def test_a_rule_survives_the_way_through_the_cloud() -> None:
    for each in desired(spec(managedSecurityGroups={}), ("10.0.0.0/24", "fd00::/64"), ALL)[0].values():
        for one in each:
            assert rule_of(SecurityGroupRule(**one.body)) == one
    assert isinstance(one, Rule)
