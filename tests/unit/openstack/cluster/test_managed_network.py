"""The network, subnet and router of a cluster: what comes next, whatever is there."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.openstack.cluster.networked import FOREIGN, MARKED, NAME, OURS, PROVIDERS, TAGGED, bodies, sent, spec
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.resources import Gateway, Network, Port, PortAddress, Router, Subnet
from windlass.openstack.cluster import managed_network
from windlass.openstack.cluster.network import Found
from windlass.openstack.cluster.part import Obstacle, Ours, Part
from windlass.openstack.status import Reason

CIDR = "10.6.0.0/24"
OUT = Gateway("public", [PortAddress("p1", "203.0.113.9")])
EXTERNAL = Network(id="public", name="public")
NETWORK = Network(id="n", **MARKED)
SUBNET = Subnet(id="s", network_id="n", cidr=CIDR, **MARKED)
ROUTER = Router(id="r", external_gateway_info=OUT, **MARKED)
INTERFACE = Port(
    id="i", network_id="n", device_id="r", device_owner="network:router_interface", fixed_ips=[PortAddress("s", "")]
)
WHOLE = NetworkInventory(networks=(NETWORK,), subnets=(SUBNET,), routers=(ROUTER,), ports=(INTERFACE,))


def parts(inventory: NetworkInventory, *, found: Found | None = None, ours: Ours = OURS, **fields: Any) -> list[Part]:
    """Network, subnet and router of a cluster with a managed subnet."""
    wanted = spec(**{"managedSubnets": [{"cidr": CIDR}], **fields})
    seen = made(inventory, found=found, ours=ours, **fields)
    steps = (managed_network.network, managed_network.subnet, managed_network.router)
    return [step(wanted, ours, inventory, seen) for step in steps]


def made(inventory: NetworkInventory, *, found: Found | None = None, ours: Ours = OURS, **fields: Any) -> Found:
    wanted = spec(**{"managedSubnets": [{"cidr": CIDR}], **fields})
    return managed_network.made(wanted, ours, inventory, found or Found(external=EXTERNAL))


def test_network_and_router_are_created_at_the_same_time() -> None:
    network, subnet, router = parts(NetworkInventory())
    assert (sent(network), bodies(network)) == (["POST /v2.0/networks"], [MARKED])
    assert (sent(subnet), subnet.waits) == ([], f"network {NAME}")
    assert bodies(router) == [{**MARKED, "external_gateway_info": {"network_id": "public"}}]


def test_what_is_there_needs_nothing() -> None:
    assert all(each.is_there for each in parts(WHOLE))
    seen = made(WHOLE)
    assert (seen.network, seen.subnets, seen.router) == (NETWORK, (SUBNET,), ROUTER)


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({"networkMTU": 1400}, {"mtu": 1400}),
        ({"disablePortSecurity": True}, {"port_security_enabled": False}),
        ({"disablePortSecurity": False}, {}),
    ],
    ids=["mtu", "port security off", "port security on"],
)
def test_the_network_is_made_as_the_spec_says(fields: dict[str, Any], more: dict[str, Any]) -> None:
    assert bodies(parts(NetworkInventory(), **fields)[0]) == [{**MARKED, **more}]


@pytest.mark.parametrize(
    ("subnet", "more"),
    [
        ({"cidr": CIDR}, {"ip_version": 4, "cidr": CIDR}),
        ({"cidr": "fd00::/64"}, {"ip_version": 6, "cidr": "fd00::/64"}),
        (
            {"cidr": CIDR, "dnsNameservers": ["10.0.0.2", "10.0.0.1"]},
            {"ip_version": 4, "cidr": CIDR, "dns_nameservers": ["10.0.0.2", "10.0.0.1"]},
        ),
        (
            {"cidr": CIDR, "allocationPools": [{"start": "10.6.0.10", "end": "10.6.0.20"}]},
            {"ip_version": 4, "cidr": CIDR, "allocation_pools": [{"start": "10.6.0.10", "end": "10.6.0.20"}]},
        ),
    ],
    ids=["plain", "IPv6", "DNS", "pools"],
)
def test_the_subnet_is_made_as_the_spec_says(subnet: dict[str, Any], more: dict[str, Any]) -> None:
    part = parts(NetworkInventory(networks=(NETWORK,)), managedSubnets=[subnet])[1]
    assert bodies(part) == [{**MARKED, "network_id": "n", **more}]


@pytest.mark.parametrize(
    ("there", "wanted", "sends"),
    [
        (["10.0.0.1"], ["10.0.0.2"], True),
        (["10.0.0.1"], ["10.0.0.1", "10.0.0.2"], True),
        (["10.0.0.1", "fd00::1"], ["10.0.0.1", "fd00:0::1"], False),
        (["10.0.0.1", "10.0.0.2"], ["10.0.0.2", "10.0.0.1"], True),
        ([], ["10.0.0.1"], True),
        (["10.0.0.1"], [], True),
    ],
    ids=["different", "count", "same", "other order", "from empty", "to empty"],
)
def test_dns_servers_are_changed_in_place(there: list[str], wanted: list[str], sends: bool) -> None:
    inventory = replace(WHOLE, subnets=(replace(SUBNET, dns_nameservers=there),))
    part = parts(inventory, managedSubnets=[{"cidr": CIDR, "dnsNameservers": wanted}])[1]
    assert bodies(part) == ([{"dns_nameservers": wanted}] if sends else [])


def test_the_router_is_connected_when_the_subnet_is_there() -> None:
    inventory = NetworkInventory(networks=(NETWORK,), routers=(ROUTER,))
    assert parts(inventory)[2].waits == f"subnet {NAME}"
    router = parts(replace(inventory, subnets=(SUBNET,)))[2]
    assert sent(router) == ["PUT /v2.0/routers/r/add_router_interface"]
    elsewhere = replace(INTERFACE, device_id="other")
    assert sent(parts(replace(WHOLE, ports=(elsewhere,)))[2]) == ["PUT /v2.0/routers/r/add_router_interface"]


def test_a_router_that_the_spec_names_is_used_and_not_made() -> None:
    named: dict[str, Any] = {"router": {"id": "r9"}}
    assert parts(NetworkInventory(), **named)[2].waits == "the router that spec.router names"
    theirs = Router(id="r9", name="edge")
    found = Found(external=EXTERNAL, router=theirs)
    assert sent(parts(WHOLE, found=found, **named)[2]) == ["PUT /v2.0/routers/r9/add_router_interface"]
    assert made(WHOLE, found=found, **named).router == theirs


def test_without_an_external_network_there_is_no_router() -> None:
    assert parts(NetworkInventory(), found=Found())[2].is_there
    unknown = Found(obstacles=(Obstacle("NetworkReady", Reason.OPENSTACK_ERROR, "no answer"),))
    assert parts(NetworkInventory(), found=unknown)[2].waits == "the external network"


@pytest.mark.parametrize(
    ("gateway", "sends"),
    [
        (None, True),
        (Gateway("other", OUT.external_fixed_ips), True),
        (Gateway("public", []), True),
        (OUT, False),
        (Gateway("public", [PortAddress("p2", "203.0.113.77"), *OUT.external_fixed_ips]), False),
    ],
    ids=["none", "another network", "another address", "the same", "more"],
)
def test_the_gateway_gets_the_addresses_of_the_spec(gateway: Gateway | None, sends: bool) -> None:
    ips = [{"fixedIP": "203.0.113.9", "subnet": {"id": "p1"}}]
    found = Found(external=EXTERNAL, router_addresses=(PortAddress("p1", "203.0.113.9"),))
    inventory = replace(WHOLE, routers=(replace(ROUTER, external_gateway_info=gateway),))
    part = parts(inventory, found=found, externalRouterIPs=ips)[2]
    wanted = {"network_id": "public", "external_fixed_ips": [{"subnet_id": "p1", "ip_address": "203.0.113.9"}]}
    assert bodies(part) == ([{"external_gateway_info": wanted}] if sends else [])
    assert bodies(parts(NetworkInventory(), found=found, externalRouterIPs=ips)[2]) == [
        {**MARKED, "external_gateway_info": wanted}
    ]
    assert parts(NetworkInventory(), found=Found(external=EXTERNAL), externalRouterIPs=ips)[2].waits


def test_the_gateway_of_a_router_that_the_spec_names_is_its_own_affair() -> None:
    bare = replace(ROUTER, external_gateway_info=None)
    assert parts(WHOLE, found=Found(external=EXTERNAL, router=bare), router={"id": "r"})[2].is_there


@pytest.mark.parametrize(
    ("tags", "extensions", "sets"),
    [
        ([], {"standard-attr-tag"}, ("a", "b")),
        (["a"], {"standard-attr-tag"}, ("a", "b")),
        (["x", "b", "a"], {"standard-attr-tag"}, None),
        (["x"], {"standard-attr-tag"}, ("x", "a", "b")),
        ([], set(), None),
    ],
    ids=["none", "some", "all and more", "others", "without the extension"],
)
def test_tags_are_added_and_those_of_others_stay(
    tags: list[str], extensions: set[str], sets: tuple[str, ...] | None
) -> None:
    inventory = replace(
        WHOLE,
        networks=(replace(NETWORK, tags=tags),),
        subnets=(replace(SUBNET, tags=tags),),
        routers=(replace(ROUTER, tags=tags),),
    )
    three = parts(inventory, ours=replace(TAGGED, extensions=frozenset(extensions)))
    assert [body for each in three for body in bodies(each)] == ([list(sets)] * 3 if sets is not None else [])


def test_what_an_earlier_provider_made_is_marked_before_anything_else() -> None:
    recorded = NetworkInventory(
        networks=(Network(id="n", **PROVIDERS),),
        subnets=(Subnet(id="s", network_id="n", cidr=CIDR, **PROVIDERS),),
        routers=(Router(id="r", **PROVIDERS),),
    )
    three = parts(recorded)
    assert [sent(each) for each in three] == [
        ["PUT /v2.0/networks/n"],
        ["PUT /v2.0/subnets/s"],
        ["PUT /v2.0/routers/r"],
    ]
    assert made(recorded).network is None
    text = "Created by cluster-api-provider-openstack cluster ns-one windlass-owner=m"
    assert [bodies(each) for each in three] == [[{"description": text}]] * 3


@pytest.mark.parametrize(
    ("meta", "says"),
    [
        (FOREIGN, "which the status records, belongs to OpenStackCluster team-b/two: remove it from"),
        ({**PROVIDERS, "name": "lan"}, "which the status records, has neither mark nor name of this cluster"),
    ],
    ids=["marked", "another name"],
)
def test_what_the_status_records_and_others_have_is_not_taken_and_not_doubled(meta: dict[str, Any], says: str) -> None:
    inventory = NetworkInventory(networks=(Network(id="n", **meta),), routers=(Router(id="r", **meta),))
    network, subnet, router = parts(inventory)
    for part in (network, router):
        assert part.requests == ()
        assert says in str(part.obstacles[0].why)
    assert made(inventory).network is None
    assert subnet.waits


def test_a_mark_that_somebody_has_removed_is_given_again() -> None:
    inventory = replace(WHOLE, networks=(replace(NETWORK, description="hands off"),))
    network = parts(inventory)[0]
    assert bodies(network) == [{"description": "hands off windlass-owner=m"}]


def test_nothing_is_created_while_an_earlier_request_may_arrive() -> None:
    network, _, router = parts(NetworkInventory(certain=False, certain_in=7.0))
    subnet = parts(NetworkInventory(networks=(NETWORK,), certain=False, certain_in=7.0))[1]
    for part in (network, subnet, router):
        assert part.requests == ()
        assert "may arrive in the next 7 s" in part.waits
        assert part.again > 7.0


@pytest.mark.parametrize(
    ("subnets", "place", "says"),
    [
        ([{"cidr": CIDR}, {"cidr": "10.7.0.0/24"}], 0, "spec.managedSubnets has 2 subnets: one is possible"),
        ([{"cidr": "10.6.0.5/24"}], 1, "10.6.0.5/24 has host bits set"),
        ([{"cidr": "lan"}], 1, "'lan' does not appear to be an IPv4 or IPv6 network"),
        ([{"cidr": CIDR, "dnsNameservers": ["dns"]}], 1, "'dns' does not appear to be an IPv4 or IPv6 address"),
    ],
    ids=["two", "host bits", "no CIDR", "DNS"],
)
def test_a_spec_that_cannot_be_is_refused_with_the_field(subnets: list[Any], place: int, says: str) -> None:
    part = parts(NetworkInventory(), managedSubnets=subnets)[place]
    assert part.requests == ()
    ((reason, why),) = [(each.reason, each.why) for each in part.obstacles]
    assert reason == Reason.INVALID_CONFIGURATION
    assert says in str(why)


def test_on_an_existing_network_nothing_is_made() -> None:
    found = Found(network=NETWORK, subnets=(SUBNET,), external=EXTERNAL)
    fields: dict[str, Any] = {"managedSubnets": [], "network": {"id": "n"}}
    assert all(each.is_there for each in parts(NetworkInventory(), found=found, **fields))
    assert made(NetworkInventory(), found=found, **fields) == found
