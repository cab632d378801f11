"""What the cloud has of a cluster's network, and what is said when it has it not, or several times."""

from typing import Any

import msgspec
import pytest

from windlass.api.capo_cluster import OpenStackClusterSpec
from windlass.openstack.cloud.failures import Unavailable
from windlass.openstack.cloud.lookups import decode
from windlass.openstack.cloud.query import Answers, Query
from windlass.openstack.cloud.resources import Gateway, Network, PortAddress, Router, Subnet, Zone
from windlass.openstack.cluster.network import (
    ZONES,
    Found,
    failure_domains,
    look_up,
    network_status,
    queries,
    router_status,
)

Tree = dict[str, Any]

NET, NET_2, PUBLIC = Network(id="n1", name="machines"), Network(id="n2", name="others"), Network(id="x1", name="public")
SUB = Subnet(id="s1", name="one", network_id="n1", cidr="10.0.0.0/24")
SUB_2 = Subnet(id="s2", name="two", network_id="n1", cidr="10.0.1.0/24")
FAR = Subnet(id="s3", name="one", network_id="n2", cidr="10.9.0.0/24")
ROUTER = Router(id="r1", name="edge", external_gateway_info=Gateway("x1", [PortAddress("p", "203.0.113.7")]))

BY_NAME = {"filter": {"name": "machines"}}
NO_EXTERNAL = {"disableExternalNetwork": True}


class Neutron:
    """Answers queries from these resources, as the cloud would."""

    def __init__(self, *resources: Any) -> None:
        self.resources = resources
        self.rounds = 0

    def __call__(self, query: Query) -> tuple[Any, ...]:
        kinds = {"network": Network, "subnet": Subnet, "router": Router, "zone": Zone}
        found = [each for each in self.resources if isinstance(each, kinds[query.kind])]
        if query.id:
            found = [each for each in found if each.id == query.id]
        for name, value in query.filters:
            found = [
                each
                for each in found
                if (each in (PUBLIC, OTHER_PUBLIC) if name == "router:external" else getattr(each, name) == value)
            ]
        return tuple(found)

    def all(self, spec: OpenStackClusterSpec) -> Answers:
        answers: dict[Query, Any] = {}
        while wanted := [each for each in queries(spec, answers) if each not in answers]:
            answers |= {each: self(each) for each in wanted}
            self.rounds += 1
        return answers


OTHER_PUBLIC = Network(id="x2", name="provider")


def looked_up(spec: Tree, *resources: Any) -> tuple[Found, Neutron]:
    wanted, cloud = msgspec.convert(spec, OpenStackClusterSpec), Neutron(*resources)
    return look_up(wanted, cloud.all(wanted)), cloud


@pytest.mark.parametrize(
    ("spec", "network", "subnets"),
    [
        pytest.param({"network": BY_NAME}, NET, (SUB, SUB_2), id="all subnets of the network"),
        pytest.param({"network": {"id": "n1"}}, NET, (SUB, SUB_2), id="network by id"),
        pytest.param({"network": BY_NAME, "subnets": [{"id": "s2"}]}, NET, (SUB_2,), id="by id"),
        pytest.param(
            {"network": BY_NAME, "subnets": [{"filter": {"name": "one"}}]}, NET, (SUB,), id="within the network"
        ),
        pytest.param(
            {"subnets": [{"id": "s1"}, {"filter": {"name": "two"}}]}, NET, (SUB, SUB_2), id="network from subnet"
        ),
        pytest.param({"subnets": [{"filter": {"name": "two"}}]}, NET, (SUB_2,), id="network from a subnet by name"),
    ],
)
def test_network_and_subnets_are_found(spec: Tree, network: Network, subnets: tuple[Subnet, ...]) -> None:
    found, cloud = looked_up({**spec, **NO_EXTERNAL}, NET, NET_2, SUB, SUB_2, FAR)
    assert found.obstacles == ()
    assert (found.network, found.subnets) == (network, subnets)
    assert cloud.rounds <= 2


@pytest.mark.parametrize(
    ("spec", "resources", "part", "reason", "text"),
    [
        pytest.param({}, [], "NetworkReady", "InvalidConfiguration", "no network is named", id="nothing named"),
        pytest.param(
            {"network": BY_NAME},
            [],
            "NetworkReady",
            "NetworkCreateFailed",
            "no network (name machines) exists",
            id="C6",
        ),
        pytest.param(
            {"network": BY_NAME},
            [NET, msgspec.structs.replace(NET, id="n9")],
            "NetworkReady",
            "NetworkCreateFailed",
            "spec.network: 2 match network (name machines): name one by id",
            id="two networks",
        ),
        pytest.param(
            {"network": BY_NAME},
            [NET],
            "NetworkReady",
            "SubnetCreateFailed",
            "network machines has no subnets: add one to it",
            id="no subnets",
        ),
        pytest.param(
            {"network": BY_NAME, "subnets": [{"id": "s1"}, {"id": "s9"}]},
            [NET, SUB],
            "NetworkReady",
            "SubnetCreateFailed",
            "spec.subnets[1]: no subnet (ID s9) exists on network n1: correct it",
            id="subnet",
        ),
        pytest.param(
            {"subnets": [{"id": "s1"}, {"id": "s3"}]},
            [NET, NET_2, SUB, FAR],
            "NetworkReady",
            "SubnetCreateFailed",
            "spec.subnets[1]: no subnet (ID s3) exists on network n1",
            id="second subnet of another network",
        ),
        pytest.param(
            {"network": BY_NAME, "router": {"filter": {"name": "edge"}}},
            [NET, SUB],
            "RouterReady",
            "RouterCreateFailed",
            "spec.router: no router (name edge) exists: correct it",
            id="router",
        ),
    ],
)
def test_a_sentence_says_what_is_missing(spec: Tree, resources: list[Any], part: str, reason: str, text: str) -> None:
    found, _ = looked_up({**spec, **NO_EXTERNAL}, *resources)
    (obstacle,) = found.obstacles
    assert (obstacle.part, obstacle.reason) == (part, reason)
    assert text in str(obstacle.why)


@pytest.mark.parametrize(
    ("spec", "resources", "expected"),
    [
        pytest.param({"externalNetwork": {"id": "x1"}}, [PUBLIC], PUBLIC, id="by id"),
        pytest.param({"externalNetwork": {"filter": {"name": "public"}}}, [PUBLIC], PUBLIC, id="by name"),
        pytest.param({"externalNetwork": {"id": "n1"}}, [PUBLIC], "spec.externalNetwork: no", id="id missing"),
        pytest.param(
            {"externalNetwork": {"filter": {"name": "no"}}},
            [PUBLIC],
            "spec.externalNetwork: no",
            id="name missing",
        ),
        pytest.param(NO_EXTERNAL, [PUBLIC], None, id="disabled"),
        pytest.param({}, [], None, id="none found"),
        pytest.param({}, [PUBLIC], PUBLIC, id="one"),
        pytest.param({}, [PUBLIC, OTHER_PUBLIC], "several external networks (provider, public): name one", id="many"),
    ],
)
def test_the_external_network(spec: Tree, resources: list[Any], expected: Network | str | None) -> None:
    found, _ = looked_up({"network": BY_NAME, **spec}, NET, SUB, *resources)
    if isinstance(expected, str):
        (obstacle,) = found.obstacles
        assert expected in str(obstacle.why)
        assert found.external is None
    else:
        assert (found.external, found.obstacles) == (expected, ())


def test_a_failure_of_the_cloud_is_told_of_what_could_not_be_looked_up() -> None:
    spec = msgspec.convert({"network": BY_NAME, **NO_EXTERNAL}, OpenStackClusterSpec)
    failure = Unavailable("network", "down", code=503)
    found = look_up(spec, dict.fromkeys(queries(spec, {}), failure))
    assert {(each.part, each.why, each.doing) for each in found.obstacles} == {
        ("NetworkReady", failure, "look up network (name machines)"),
        ("NetworkReady", failure, "look up zone (any)"),
    }
    assert found.zones is None


def test_a_zone_that_nova_calls_unavailable_is_no_failure_domain() -> None:
    spec = msgspec.convert({"network": BY_NAME, **NO_EXTERNAL}, OpenStackClusterSpec)
    body = b"""{"availabilityZoneInfo": [
        {"zoneName": "on", "zoneState": {"available": true}},
        {"zoneName": "off", "zoneState": {"available": false}},
        {"zoneName": "silent"}
    ]}"""
    zones, _ = decode(body, "availabilityZoneInfo", Zone, service="compute")
    assert look_up(spec, {ZONES: tuple(zones)}).zones == ("on", "silent")


def test_the_status_has_what_was_found_and_nothing_empty() -> None:
    assert network_status(NET, [SUB]) == {
        "id": "n1",
        "name": "machines",
        "subnets": [{"id": "s1", "name": "one", "cidr": "10.0.0.0/24", "tags": []}],
    }
    assert router_status(ROUTER) == {"id": "r1", "name": "edge", "ips": ["203.0.113.7"]}


HOST = {"host": "api.example", "port": 443}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"a": True, "b": True}),
        ({"controlPlaneOmitAvailabilityZone": True}, {"a": False, "b": False}),
        ({"controlPlaneAvailabilityZones": ["b", "gone"]}, {"a": False, "b": True}),
        (
            {"controlPlaneAvailabilityZones": ["b"], "controlPlaneOmitAvailabilityZone": True},
            {"a": False, "b": True},
        ),
    ],
)
def test_failure_domains_are_the_zones_of_nova(spec: Tree, expected: dict[str, bool]) -> None:
    domains = failure_domains(msgspec.convert(spec, OpenStackClusterSpec), ["b", "a"])
    assert [each["name"] for each in domains] == ["a", "b"]
    assert {each["name"]: each["controlPlane"] for each in domains} == expected
