"""The endpoint of the API servers, and the floating IP behind it."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.openstack.cloud.network_inventory import Unmarked
from windlass.openstack.cloud.network_requests import AssociateFloatingIp, CreateFloatingIp
from windlass.openstack.cloud.requests import Describe, SetTags
from windlass.openstack.cloud.resources import FloatingIp
from windlass.openstack.cluster.endpoint import Endpoint, name_to_resolve
from windlass.openstack.cluster.endpoint import endpoint as step
from windlass.openstack.cluster.part import Part
from windlass.openstack.cluster.snapshot import Unresolved
from windlass.openstack.status import ENDPOINT_READY, Reason

from .parts import EXTERNAL, MARK, OURS, Tree, balancer, infra, inventory, place, sent

LB: Tree = {"apiServerLoadBalancer": {"enabled": True}}
EARLIER = "Created by cluster-api-provider-openstack cluster ns-one"
MINE = FloatingIp(
    id="f1",
    floating_ip_address="203.0.113.9",
    description=f"API endpoint made by Windlass for cluster ns-one windlass-owner={MARK}",
)
USERS = FloatingIp(id="f2", floating_ip_address="203.0.113.50", description="mine, keep")
OLD = FloatingIp(id="f3", floating_ip_address="203.0.113.9", description=EARLIER)


def asked(
    spec: Tree,
    *floating: FloatingIp,
    status: Tree | None = None,
    lb: bool = True,
    external: bool = True,
    resolved: str | Unresolved = "",
    ours: Any = OURS,
    certain: bool = True,
    led: bool = False,
    ports: frozenset[str] = frozenset(),
) -> Endpoint:
    balanced = "apiServerLoadBalancer" in spec
    found = inventory(
        *([balancer()] if balanced and lb else []), floating=floating, certain=certain, certain_in=0.0 if certain else 7
    )
    part = Part(
        condition=ENDPOINT_READY,
        reason=Reason.API_ENDPOINT_CONFIG_FAILED,
        fields={"apiServerLoadBalancer": {"id": "lb1"}},
    )
    where = place(external=EXTERNAL if external else None, resolved=resolved, led=led, ports=ports)
    return step(infra(spec, status), ours, found, where, balanced=part if balanced else None)


def recorded(address: str) -> Tree:
    return {"apiServerLoadBalancer": {"id": "lb1", "ip": address}}


@pytest.mark.parametrize(
    ("spec", "floating", "external", "host", "port"),
    [
        pytest.param({"controlPlaneEndpoint": {"host": "api", "port": 443}}, (), True, "api", 443, id="given"),
        pytest.param(
            {"controlPlaneEndpoint": {"host": "198.51.100.1", "port": 6443}}, (), True, "198.51.100.1", 6443, id="IP"
        ),
        pytest.param({"apiServerFixedIP": "10.0.0.9"}, (), False, "10.0.0.9", 6443, id="by fixedIP"),
        pytest.param(
            {"apiServerFixedIP": "10.0.0.9", "disableAPIServerFloatingIP": True, "apiServerPort": 8443},
            (),
            True,
            "10.0.0.9",
            8443,
            id="by fixedIP, with a port",
        ),
        pytest.param({}, (MINE,), True, "203.0.113.9", 6443, id="by FIP"),
        pytest.param({"apiServerFloatingIP": "203.0.113.50"}, (USERS, MINE), True, "203.0.113.50", 6443, id="user"),
        pytest.param(LB, (), False, "10.0.0.5", 6443, id="load balancer without external network"),
        pytest.param({**LB, "disableAPIServerFloatingIP": True}, (), True, "10.0.0.5", 6443, id="without FIP"),
        pytest.param(
            {**LB, "disableAPIServerFloatingIP": True, "controlPlaneEndpoint": {"host": "api", "port": 443}},
            (),
            True,
            "api",
            443,
            id="a name for the load balancer",
        ),
    ],
)
def test_the_endpoint_and_nothing_to_do(
    spec: Tree, floating: tuple[FloatingIp, ...], external: bool, host: str, port: int
) -> None:
    found = asked(spec, *floating, external=external)
    assert found.part.is_there, found.part
    assert (found.host, found.port) == (host, port)


def test_nothing_that_could_be_the_endpoint_is_said_with_what_to_set() -> None:
    found = asked({}, external=False)
    assert found.host == ""
    assert "set spec.controlPlaneEndpoint" in str(found.part.obstacles[0].why)


@pytest.mark.parametrize(
    ("spec", "status", "resolved", "address"),
    [
        pytest.param({}, None, "", None, id="without a load balancer"),
        pytest.param(LB, None, "", None, id="none"),
        pytest.param(LB, recorded("203.0.113.9"), "", "203.0.113.9", id="LB ip: the one that was lost"),
        pytest.param(
            {**LB, "controlPlaneEndpoint": {"host": "api.example", "port": 6443}},
            None,
            "203.0.113.77",
            "203.0.113.77",
            id="endpoint valid",
        ),
    ],
)
def test_a_floating_ip_is_created_with_the_address_that_is_known(
    spec: Tree, status: Tree | None, resolved: str, address: str | None
) -> None:
    (create,) = asked(spec, status=status, resolved=resolved).part.requests
    assert isinstance(create, CreateFloatingIp)
    assert create.body.get("floating_ip_address") == address
    assert create.body["floating_network_id"] == "x1"
    assert create.body["description"].endswith(f"windlass-owner={MARK}")


def test_a_floating_ip_that_led_to_a_machine_and_is_lost_is_asked_for_by_its_address() -> None:
    spec = {"controlPlaneEndpoint": {"host": "203.0.113.9", "port": 6443}}
    (create,) = asked(spec, led=True).part.requests
    assert isinstance(create, CreateFloatingIp)
    assert create.body["floating_ip_address"] == "203.0.113.9"


@pytest.mark.parametrize(
    ("spec", "resolved", "text"),
    [
        pytest.param(
            {**LB, "controlPlaneEndpoint": {"host": "api.example", "port": 6443}},
            Unresolved("the host api.example has no address"),
            "the host api.example has no address",
            id="invalid",
        ),
        pytest.param(
            {"apiServerFloatingIP": "203.0.113.50"},
            "",
            "has no floating IP 203.0.113.50",
            id="not there",
        ),
    ],
)
def test_what_is_missing_is_said(spec: Tree, resolved: Any, text: str) -> None:
    found = asked(spec, resolved=resolved)
    assert found.part.requests == ()
    assert text in str(found.part.obstacles[0].why)


def test_none_is_created_while_an_earlier_request_may_arrive() -> None:
    found = asked({}, certain=False)
    assert found.part.requests == ()
    assert "in the next 7 s" in found.part.waits


def test_the_address_is_stored_before_the_floating_ip_leads_anywhere() -> None:
    first = asked(LB, MINE)
    assert first.part.requests == ()
    assert first.part.fields == {"apiServerLoadBalancer": {"id": "lb1", "ip": "203.0.113.9"}}
    assert not first.part.is_there
    (associate,) = asked(LB, MINE, status=recorded("203.0.113.9")).part.requests
    assert isinstance(associate, AssociateFloatingIp)
    assert (associate.id, associate.port) == ("f1", "vip")
    done = asked(LB, replace(MINE, port_id="vip"), status=recorded("203.0.113.9"))
    assert (done.part.is_there, done.host) == (True, "203.0.113.9")


@pytest.mark.parametrize(
    ("spec", "floating"),
    [
        pytest.param(LB, MINE, id="ours"),
        pytest.param(LB, OLD, id="an earlier provider's"),
        pytest.param({**LB, "apiServerFloatingIP": "203.0.113.50"}, USERS, id="the user's"),
    ],
)
def test_no_floating_ip_is_led_away_from_a_port_that_is_not_the_clusters(spec: Tree, floating: FloatingIp) -> None:
    elsewhere = replace(floating, port_id="other")
    part = asked(spec, elsewhere, status=recorded(floating.floating_ip_address)).part
    assert part.requests == (), "not even the mark"
    why = f"floating IP {floating.floating_ip_address} ({floating.id}) leads to port other, which is not this cluster's"
    assert why in str(part.obstacles[0].why)
    assert f"openstack floating ip unset --port {floating.id}" in str(part.obstacles[0].why)


def test_an_earlier_providers_floating_ip_gets_no_mark_while_it_leads_to_a_port_of_others() -> None:
    spec = {"controlPlaneEndpoint": {"host": "203.0.113.9", "port": 6443}}
    assert asked(spec, replace(OLD, port_id="other")).part.requests == ()
    assert sent(asked(spec, replace(OLD, port_id="cp-0"), ports=frozenset({"cp-0"})).part.requests) == [
        "describe 203.0.113.9"
    ]


def test_a_floating_ip_is_led_from_a_machine_of_the_control_plane_to_the_load_balancer() -> None:
    moved = asked(LB, replace(MINE, port_id="cp-0"), status=recorded("203.0.113.9"), ports=frozenset({"cp-0"}))
    assert sent(moved.part.requests) == ["associate floating ip 203.0.113.9"]


def test_the_users_floating_ip_never_gets_our_mark() -> None:
    spec = {**LB, "apiServerFloatingIP": "203.0.113.50"}
    found = asked(spec, USERS, status=recorded("203.0.113.50"), ours=replace(OURS, tags=("blue",)))
    assert sent(found.part.requests) == ["associate floating ip 203.0.113.50"]


def test_the_floating_ip_that_the_user_pins_is_the_users_from_then_on() -> None:
    (release,) = asked({"apiServerFloatingIP": "203.0.113.9"}, MINE).part.requests
    assert isinstance(release, Describe)
    assert MARK not in release.description


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        pytest.param({"controlPlaneEndpoint": {"host": "203.0.113.9", "port": 6443}}, None, id="of the endpoint"),
        pytest.param(LB, recorded("203.0.113.9"), id="of a load balancer"),
    ],
)
def test_an_earlier_providers_floating_ip_gets_the_mark(spec: Tree, status: Tree | None) -> None:
    describe = asked(spec, OLD, status=status).part.requests[0]
    assert isinstance(describe, Describe)
    assert describe.description.endswith(f"windlass-owner={MARK}")


@pytest.mark.parametrize(
    ("floating", "sends", "says"),
    [
        pytest.param((OLD,), ["describe 203.0.113.9"], "", id="leads nowhere"),
        pytest.param((replace(OLD, port_id="vip"),), ["describe 203.0.113.9"], "", id="leads to the load balancer"),
        pytest.param((replace(OLD, port_id="cp-0"),), ["describe 203.0.113.9"], "", id="leads to a machine"),
        pytest.param((replace(OLD, port_id="other"),), [], "floating IP 203.0.113.9 (f3)", id="leads elsewhere"),
        pytest.param((OLD, replace(OLD, id="f4")), [], "2 floating IPs", id="two"),
    ],
)
def test_a_floating_ip_that_nothing_records_is_adopted_if_it_is_the_only_one(
    floating: tuple[FloatingIp, ...], sends: list[str], says: str
) -> None:
    there = inventory(balancer(), unmarked=Unmarked(floating_ips=floating))
    found = step(infra(LB), OURS, there, place(external=EXTERNAL, ports=frozenset({"cp-0"})))
    assert sent(found.part.requests) == sends
    assert (says in str(found.part.obstacles[0].why)) if says else not found.part.obstacles


TAGGED = replace(OURS, tags=("blue",), extensions=frozenset({"standard-attr-tag"}))


@pytest.mark.parametrize(
    ("there", "ours", "tags"),
    [
        pytest.param([], TAGGED, ["blue"], id="missing"),
        pytest.param(["mine"], TAGGED, ["mine", "blue"], id="beside those of others"),
        pytest.param(["mine", "blue"], TAGGED, None, id="there already"),
        pytest.param([], replace(TAGGED, extensions=frozenset()), None, id="a Neutron without tags"),
    ],
)
def test_tags_are_added_and_those_of_others_stay(there: list[str], ours: Any, tags: list[str] | None) -> None:
    requests = asked({}, replace(MINE, tags=there), ours=ours).part.requests
    assert [list(each.tags) for each in requests if isinstance(each, SetTags)] == ([tags] if tags else [])
    assert len(requests) == (1 if tags else 0)


def test_the_users_floating_ip_gets_no_tags() -> None:
    assert asked({"apiServerFloatingIP": "203.0.113.50"}, USERS, ours=TAGGED).part.requests == ()
    lent = asked(LB, USERS, status=recorded("203.0.113.50"), ours=TAGGED)
    assert sent(lent.part.requests) == ["associate floating ip 203.0.113.50"]
    (release,) = asked({"apiServerFloatingIP": "203.0.113.9"}, MINE, ours=TAGGED).part.requests
    assert isinstance(release, Describe), "only the mark goes"


@pytest.mark.parametrize(
    ("spec", "status", "name"),
    [
        pytest.param({**LB, "controlPlaneEndpoint": {"host": "api.example"}}, None, "api.example", id="L4"),
        pytest.param({**LB, "controlPlaneEndpoint": {"host": "192.0.2.1"}}, None, "", id="an address"),
        pytest.param({**LB, "controlPlaneEndpoint": {"host": "api"}}, recorded("203.0.113.9"), "", id="LB ip"),
        pytest.param({"controlPlaneEndpoint": {"host": "api.example"}}, None, "", id="no load balancer"),
        pytest.param(LB, None, "", id="no endpoint"),
        pytest.param(
            {**LB, "controlPlaneEndpoint": {"host": "api"}, "disableAPIServerFloatingIP": True}, None, "api", id="L3"
        ),
        pytest.param(
            {
                **LB,
                "controlPlaneEndpoint": {"host": "api"},
                "disableAPIServerFloatingIP": True,
                "apiServerFixedIP": "10.0.0.9",
            },
            None,
            "",
            id="fixedIP",
        ),
    ],
)
def test_a_name_is_resolved_only_where_its_address_decides(spec: Tree, status: Tree | None, name: str) -> None:
    host = spec.get("controlPlaneEndpoint")
    whole = {**spec, **({"controlPlaneEndpoint": {"port": 6443, **host}} if host else {})}
    assert name_to_resolve(infra(whole, status)) == name
