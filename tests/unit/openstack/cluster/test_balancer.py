"""The load balancer of a cluster: what is asked for, in which order, and what stands in the way."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.kube.control.merge import FieldChange
from windlass.openstack.cloud.balancer_requests import CreateListener, CreateLoadBalancer, DescribeBalancer
from windlass.openstack.cloud.balancers import QUIET
from windlass.openstack.cloud.failures import CloudFailure, Rejected, Unavailable
from windlass.openstack.cloud.inventory import Blockers, Refusal
from windlass.openstack.cloud.marks import described, mark_for
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import BalancerFlavor, BalancerProvider, HealthMonitor, Network, Subnet
from windlass.openstack.cluster.admitted import admitted
from windlass.openstack.cluster.balancer import balancer as step
from windlass.openstack.cluster.balancer import removal
from windlass.openstack.cluster.new_balancer import PROVIDERS, queries
from windlass.openstack.cluster.part import Part
from windlass.openstack.cluster.snapshot import Unresolved

from .parts import EXTERNAL, MARK, MARKED, NAME, OURS, ROUTER, SUBNET, Tree, balancer, infra, inventory, place, sent

FAR, FAR_SUBNET = Network(id="n9", name="lb"), Subnet(id="s9", name="lb", network_id="n9", cidr="10.9.0.0/24")
SIX = Subnet(id="s6", name="six", network_id="n1", cidr="fd00::/64")
RECORDED: Tree = {"apiServerLoadBalancer": {"id": "lb1", "internalIP": "10.0.0.5"}}


def asked(
    spec: Tree | None = None,
    *found: Balancer,
    status: Tree | None = None,
    blockers: Blockers = Blockers(),  # noqa: B008
    certain: bool = True,
    ours: Any = OURS,
    **where: Any,
) -> Part:
    whole = {"apiServerLoadBalancer": spec or {}}
    top = {name: where.pop(name) for name in list(where) if name[0:3] in ("api", "dis", "con", "pri")}
    about = inventory(*found, certain=certain, certain_in=0.0 if certain else 7.0)
    return step(infra({**whole, **top}, status), ours, about, place(**where), blockers=blockers)


@pytest.mark.parametrize(
    ("spec", "where", "status", "vip"),
    [
        pytest.param({}, {}, {}, {"vip_subnet_id": "s1"}, id="the first subnet of the cluster"),
        pytest.param({"network": {"id": "n9"}}, {}, {}, {"vip_network_id": "n9"}, id="own network"),
        pytest.param(
            {"network": {"id": "n9"}, "subnets": [{"id": "s9"}]},
            {},
            {},
            {"vip_network_id": "n9", "vip_subnet_id": "s9"},
            id="own network and subnet",
        ),
        pytest.param(
            {"availabilityZone": "az1"}, {}, {}, {"vip_subnet_id": "s1", "availability_zone": "az1"}, id="zone"
        ),
        pytest.param(
            {},
            {"apiServerFixedIP": "10.0.0.9", "resolved": "10.0.0.8"},
            RECORDED,
            {"vip_subnet_id": "s1", "vip_address": "10.0.0.5"},
            id="the address that it had",
        ),
        pytest.param(
            {},
            {"apiServerFixedIP": "10.0.0.9"},
            {},
            {"vip_subnet_id": "s1", "vip_address": "10.0.0.9"},
            id="fixedIP",
        ),
        pytest.param(
            {},
            {"disableAPIServerFloatingIP": True, "resolved": "10.0.0.8"},
            {},
            {"vip_subnet_id": "s1", "vip_address": "10.0.0.8"},
            id="the endpoint",
        ),
        pytest.param(
            {},
            {"disableAPIServerFloatingIP": True, "controlPlaneEndpoint": {"host": "10.0.0.8", "port": 6443}},
            {},
            {"vip_subnet_id": "s1", "vip_address": "10.0.0.8"},
            id="the endpoint is an address",
        ),
        pytest.param({}, {"resolved": "203.0.113.8"}, {}, {"vip_subnet_id": "s1"}, id="not behind a floating IP"),
        pytest.param(
            {"provider": "ovn"}, {}, {}, {"vip_subnet_id": "s1", "provider": "ovn"}, id="a provider that exists"
        ),
        pytest.param({"flavor": "big"}, {}, {}, {"vip_subnet_id": "s1", "flavor_id": "f1"}, id="a flavor that exists"),
        pytest.param(
            {},
            {"external": EXTERNAL, "subnets": (SIX, SUBNET)},
            {},
            {"vip_subnet_id": "s1"},
            id="IPv4 for a floating IP",
        ),
        pytest.param(
            {},
            {"disableAPIServerFloatingIP": True, "external": EXTERNAL, "primarySubnet": {"id": "s6"}},
            {},
            {"vip_subnet_id": "s6"},
            id="the primary subnet",
        ),
        pytest.param(
            {"network": {"id": "n9"}, "subnets": [{"id": "s9-6"}, {"id": "s9"}]},
            {"apiServerFloatingIP": "203.0.113.8"},
            {},
            {"vip_network_id": "n9", "vip_subnet_id": "s9"},
            id="IPv4 on its own network",
        ),
    ],
)
def test_a_new_load_balancer_stands_where_the_spec_says(
    spec: Tree, where: Tree, status: Tree, vip: dict[str, str]
) -> None:
    (create,) = asked(spec, status=status, answers=ANSWERS, **where).requests
    assert isinstance(create, CreateLoadBalancer)
    body = dict(create.body)
    assert body.pop("name") == NAME
    assert body.pop("description").endswith(f"windlass-owner={MARK}")
    assert body == vip


ANSWERS: dict[Query, Any] = {
    Query("subnet", id="s6"): (SIX,),
    Query("subnet", id="s9-6"): (replace(SIX, id="s9-6", network_id="n9"),),
    Query("network", id="n9"): (FAR,),
    Query("subnet", id="s9"): (FAR_SUBNET,),
    Query("subnet", id="s1"): (SUBNET,),
    Query("network", filters=(("name", "twice"),)): (FAR, FAR),
    PROVIDERS: (BalancerProvider("amphora"), BalancerProvider("ovn")),
    Query("load balancer flavor", filters=(("name", "big"),)): (BalancerFlavor("f1", "big"),),
    Query("load balancer flavor", filters=(("name", "off"),)): (BalancerFlavor("f2", "off", False),),
}


@pytest.mark.parametrize(
    ("spec", "where", "text"),
    [
        pytest.param({"network": {"id": "gone"}}, {}, "network (ID gone) exists: correct it", id="no such network"),
        pytest.param({"network": {"filter": {"name": "twice"}}}, {}, "2 match network (name twice)", id="two networks"),
        pytest.param(
            {"network": {"id": "n9"}, "subnets": [{"id": "s1"}]}, {}, "on network n9", id="a subnet of another network"
        ),
        pytest.param({}, {"external": EXTERNAL, "subnets": (SIX,)}, "add an IPv4 subnet", id="a floating IP on IPv6"),
        pytest.param(
            {"network": {"id": "n9"}, "subnets": [{"id": "s9-6"}]},
            {"external": EXTERNAL},
            "add an IPv4 subnet",
            id="the same on its own network",
        ),
        pytest.param({}, {"primarySubnet": {"id": "s9"}}, "spec.primarySubnet", id="a primary subnet elsewhere"),
        pytest.param(
            {},
            {"disableAPIServerFloatingIP": True, "resolved": Unresolved("api.example has no address")},
            "api.example has no address",
            id="unresolvable endpoint",
        ),
    ],
)
def test_what_cannot_be_chosen_is_said_and_nothing_is_sent(spec: Tree, where: Tree, text: str) -> None:
    part = asked(spec, answers=ANSWERS, **where)
    assert part.requests == ()
    assert text in str(part.obstacles[0].why)


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        pytest.param({"provider": "f5"}, "provider", "OctaviaProviderNotFound", id="provider"),
        pytest.param({"flavor": "huge"}, "flavor_id", "OctaviaFlavorNotFound", id="no flavor"),
        pytest.param({"flavor": "off"}, "flavor_id", "OctaviaFlavorNotFound", id="a flavor that is not enabled"),
    ],
)
def test_what_octavia_does_not_have_is_its_default_and_a_warning(spec: Tree, field: str, reason: str) -> None:
    part = asked(spec, answers=ANSWERS)
    (create,) = part.requests
    assert isinstance(create, CreateLoadBalancer)
    assert field not in create.body
    assert [each.reason for each in part.news] == [reason]


def test_a_question_that_failed_creates_nothing() -> None:
    failure = Unavailable("load-balancer", "no answer")
    part = asked({"provider": "ovn"}, answers={PROVIDERS: failure})
    assert part.requests == ()
    assert part.obstacles[0].why is failure


def test_octavia_is_asked_only_before_there_is_a_load_balancer() -> None:
    spec = {"apiServerLoadBalancer": {"provider": "ovn", "flavor": "big", "network": {"id": "n9"}}}
    assert len(queries(infra(spec))) == 3
    assert queries(infra(spec, RECORDED)) == ()
    assert queries(infra({"apiServerLoadBalancer": {**spec["apiServerLoadBalancer"], "enabled": False}})) == ()


def test_none_is_created_on_a_network_without_a_subnet() -> None:
    part = asked({}, subnets=())
    assert (part.requests, part.waits) == ((), "the subnet of the cluster")
    assert sent(asked({"network": {"id": "n9"}}, subnets=(), answers=ANSWERS).requests) == [
        f"create load balancer {NAME}"
    ]


def test_none_is_created_while_an_earlier_request_may_arrive() -> None:
    part = asked(certain=False)
    assert part.requests == ()
    assert "in the next 7 s" in part.waits
    assert part.again == 7.2


@pytest.mark.parametrize("status", ["PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE"])
def test_nothing_is_sent_while_octavia_is_at_work(status: str) -> None:
    part = asked({}, balancer(status, ports=()))
    assert part.requests == ()
    assert part.waits == f"load balancer {NAME}: {status}"


def test_a_load_balancer_in_error_is_said_at_once_with_its_id_and_the_remedy() -> None:
    part = asked({}, balancer("ERROR", ports=()))
    assert (part.requests, part.waits) == ((), "")
    text = str(part.obstacles[0].why)
    assert "(lb1) is in ERROR" in text
    assert "delete it" in text


def test_an_earlier_providers_load_balancer_is_marked_before_anything_else() -> None:
    (mark,) = asked({}, balancer(ports=(), description="Created by somebody"), status=RECORDED).requests
    assert isinstance(mark, DescribeBalancer)
    assert mark.description == f"Created by somebody windlass-owner={MARK}"


OTHERS = described("x", mark_for("1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", "u", "cluster/team-b/two"))


def test_one_of_somebody_else_is_refused() -> None:
    part = asked({}, balancer(description=OTHERS), status=RECORDED)
    assert part.requests == ()
    assert "load balancer lb1 belongs to OpenStackCluster team-b/two, and is recorded here" in str(
        part.obstacles[0].why
    )


def test_of_two_with_the_mark_the_recorded_one_stays() -> None:
    other = balancer(id="lb0", ports=())
    (delete,) = asked({}, other, balancer(), status=RECORDED).requests
    assert (delete.verb, getattr(delete, "id", "")) == ("delete load balancer", "lb0")


def test_only_a_second_one_with_the_mark_is_surplus() -> None:
    theirs = balancer(id="lb0", ports=(), description="mine")
    assert asked({}, balancer(), theirs, status=RECORDED).is_there


def without(found: Balancer, kind: str) -> Balancer:
    if kind == "listeners":
        return replace(found, listeners=found.listeners[1:])
    if kind == "pools":
        listeners = tuple(replace(each, default_pool_id=None) for each in found.listeners)
        return replace(found, listeners=listeners, pools=(), monitors=())
    return replace(found, pools=tuple(replace(each, health_monitor=None) for each in found.pools), monitors=())


@pytest.mark.parametrize(
    ("spec", "found", "request_"),
    [
        pytest.param({}, balancer(ports=()), f"create listener {NAME}-6443", id="a new one"),
        pytest.param({}, without(balancer(), "pools"), f"create pool {NAME}-6443", id="a listener"),
        pytest.param({}, without(balancer(), "monitors"), f"create monitor {NAME}-6443", id="absent"),
        pytest.param({}, without(balancer(), "listeners"), f"create listener {NAME}-6443", id="somebody removed it"),
        pytest.param(
            {"additionalPorts": [8080]}, balancer(), f"create listener {NAME}-8080", id="the ports one by one"
        ),
        pytest.param({"monitor": {"delay": 20}}, balancer(), f"change monitor {NAME}-6443", id="differs"),
        pytest.param(
            {"allowedCIDRs": ["192.0.2.0/24"]}, balancer(), f"change listener {NAME}-6443", id="allowed CIDRs changed"
        ),
        pytest.param({}, balancer(cidrs=("192.0.2.0/24",)), f"change listener {NAME}-6443", id="allowed CIDRs cleared"),
        pytest.param(
            {},
            replace(balancer(), listeners=(replace(balancer().listeners[0], default_pool_id=None),)),
            f"change listener {NAME}-6443",
            id="a listener that lost its pool",
        ),
    ],
)
def test_what_is_missing_or_differs_is_one_request(spec: Tree, found: Balancer, request_: str) -> None:
    assert sent(asked(spec, found, status=RECORDED).requests) == [request_]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param({}, balancer(), id="defaults"),
        pytest.param({"monitor": {"delay": 0}}, balancer(), id="0 is the default"),
        pytest.param({"additionalPorts": [8080]}, balancer(ports=(6443, 8080)), id="two ports"),
        pytest.param(
            {"allowedCIDRs": ["192.0.2.9/24"]}, balancer(cidrs=("192.0.2.0/24", "10.0.0.0/24")), id="other order"
        ),
        pytest.param({"allowedCIDRs": ["192.0.2.9/24"]}, balancer(provider="ovn"), id="ovn knows no CIDRs"),
    ],
)
def test_a_complete_one_is_left_alone_and_told(spec: Tree, found: Balancer) -> None:
    part = asked(spec, found)
    assert part.is_there
    told = part.fields["apiServerLoadBalancer"]
    assert (told["id"], told["internalIP"], told["loadBalancerNetwork"]) == ("lb1", "10.0.0.5", {"id": "n1"})


def test_a_complete_one_that_octavia_has_not_confirmed_is_looked_at_once_more() -> None:
    part = asked({}, replace(balancer(), confirmed=False))
    assert (part.requests, part.waits) == ((), f"load balancer {NAME}: Octavia to confirm its parts")
    assert part.again == QUIET
    assert asked({}, replace(without(balancer(), "monitors"), confirmed=False)).waits == "", (
        "what is missing comes first"
    )


def test_a_new_pool_of_ovn_balances_by_source() -> None:
    (pool,) = asked({}, without(balancer(provider="ovn"), "pools")).requests
    assert getattr(pool, "body", {})["lb_algorithm"] == "SOURCE_IP_PORT"


def test_tags_are_on_every_part() -> None:
    (listener,) = asked({}, balancer(ports=()), ours=replace(OURS, tags=("blue",))).requests
    assert isinstance(listener, CreateListener)
    assert listener.body["tags"] == ["blue"]


@pytest.mark.parametrize(
    ("failure", "there"),
    [
        pytest.param(Rejected("load-balancer", "not implemented", code=501), True, id="the provider has none"),
        pytest.param(Rejected("load-balancer", "bad", code=400), False, id="another refusal"),
    ],
)
def test_a_provider_without_monitors_does_without(failure: CloudFailure, there: bool) -> None:
    blockers = Blockers(refusals=(Refusal("create monitor", f"{NAME}-6443", failure, datetime.now(UTC)),))
    part = asked({}, without(balancer(), "monitors"), blockers=blockers)
    assert part.is_there is there
    assert [each.reason for each in part.news] == (["SkippedCreateMonitor"] if there else [])


@pytest.mark.parametrize(
    ("spec", "status", "router", "expected"),
    [
        pytest.param([], {}, ROUTER, [], id="empty"),
        pytest.param(["192.0.2.9"], {}, None, ["10.0.0.0/24", "192.0.2.9/32"], id="set"),
        pytest.param(["192.0.2.9/24", "192.0.2.0/24"], {}, None, ["10.0.0.0/24", "192.0.2.0/24"], id="each once"),
        pytest.param(["fd00::/64", "nonsense"], {}, None, ["10.0.0.0/24"], id="IPv4 only"),
        pytest.param(
            ["192.0.2.9"],
            {"bastion": {"ip": "10.0.0.7", "floatingIP": "203.0.113.5"}},
            ROUTER,
            ["10.0.0.0/24", "10.0.0.7/32", "192.0.2.9/32", "203.0.113.5/32", "203.0.113.7/32"],
            id="with bastion and router",
        ),
    ],
)
def test_allowed_cidrs(spec: list[str], status: Tree, router: Any, expected: list[str]) -> None:
    whole = {"apiServerLoadBalancer": {"allowedCIDRs": spec}}
    assert admitted(infra(whole, status), (SUBNET,), router) == expected


def test_an_entry_that_is_not_ipv4_is_told() -> None:
    part = asked({"allowedCIDRs": ["fd00::/64", "192.0.2.0/24"]}, balancer())
    assert [(each.reason, each.note.split()[0]) for each in part.news] == [("FailedIPAddressValidation", "fd00::/64")]


def test_all_its_parts_go_with_it() -> None:
    (delete,) = removal(OURS, inventory(balancer())).requests
    assert delete.http.query == (("cascade", "true"),)


DIFFERENCES = (FieldChange("timeout", 7, 5), FieldChange("max_retries", 5, 9))


def test_a_monitor_is_changed_in_place_only_where_it_differs() -> None:
    found = replace(balancer(), monitors=(HealthMonitor(f"m-{NAME}-6443", "", 10, 7, 5, 3),))
    (change,) = asked({"monitor": {"maxRetries": 9}}, found).requests
    assert [str(each) for each in change.diff()] == [str(each) for each in DIFFERENCES]


@pytest.mark.parametrize(
    ("found", "requests", "waits"),
    [
        pytest.param((balancer(),), [f"delete load balancer {NAME}"], "", id="active"),
        pytest.param((balancer("ERROR", ports=()),), [f"delete load balancer {NAME}"], "", id="in error"),
        pytest.param((balancer("PENDING_UPDATE"),), [], f"load balancer {NAME}: PENDING_UPDATE", id="busy"),
        pytest.param((balancer("PENDING_DELETE"),), [], f"load balancer {NAME}: PENDING_DELETE", id="on its way"),
        pytest.param((balancer(description=""),), [f"delete load balancer {NAME}"], "", id="an earlier provider's"),
        pytest.param((balancer(description="", name="other"),), [], "", id="without our mark"),
        pytest.param((balancer(description=MARKED.replace(MARK, "other")),), [], "", id="of somebody else"),
        pytest.param((), [], "", id="none"),
    ],
)
def test_only_what_has_the_mark_is_deleted(found: tuple[Balancer, ...], requests: list[str], waits: str) -> None:
    part = removal(OURS, inventory(*found))
    assert sent(part.requests) == requests
    assert part.waits == waits
