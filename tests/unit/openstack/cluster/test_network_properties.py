"""Whatever is in the project, a cluster comes to rest with what its spec says, and goes without touching others."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.openstack.cloud.wire import Method

from .cases import World
from .managed import NAME, ask, managed

PREFIX = "k8s-cluster-ns-one-secgroup"
OTHERS = "windlass-owner=somebody"

rules = st.lists(
    st.fixed_dictionaries(
        {"direction": st.sampled_from(["ingress", "egress"])},
        optional={
            "protocol": st.sampled_from(["tcp", "6", "udp", "4", "icmp", "any"]),
            "remoteIPPrefix": st.sampled_from(["10.0.0.0/8", "10.9.0.7/24", "0.0.0.0/0"]),
        },
    ),
    max_size=4,
).map(lambda found: [{"name": f"r{place}", **each} for place, each in enumerate(found)])
specs = st.fixed_dictionaries(
    {
        "managedSubnets": st.fixed_dictionaries(
            {
                "cidr": st.just("10.6.0.0/24"),
                "dnsNameservers": st.lists(st.sampled_from(["10.0.0.1", "10.0.0.2"]), max_size=2),
            }
        ).map(lambda subnet: [subnet]),
        "managedSecurityGroups": st.none()
        | st.fixed_dictionaries(
            {"allowAllInClusterTraffic": st.booleans()},
            optional={"allNodesSecurityGroupRules": rules, "workerNodesSecurityGroupRules": rules},
        ),
        "tags": st.lists(st.sampled_from(["a", "b"]), unique=True),
    }
)
strangers = st.lists(
    st.sampled_from(
        [
            ("networks", "network", {"name": NAME}),
            ("networks", "network", {"name": NAME, "description": OTHERS}),
            ("routers", "router", {"name": NAME, "description": OTHERS}),
            ("security-groups", "security_group", {"name": f"{PREFIX}-worker"}),
            ("security-groups", "security_group", {"name": f"{PREFIX}-controlplane", "description": OTHERS}),
        ]
    ),
    max_size=4,
)
meddling = st.lists(st.sampled_from(["rule", "surplus", "interface", "gateway", "tags"]), max_size=3)


def meddle(world: World, how: str) -> None:
    """Somebody else changes what the cluster has."""
    services, mark = world.cloud.services, world.tree()["metadata"]["annotations"]["openstack.windlass.dev/mark"]
    ours = [each for each in services.security_groups.values() if mark in each["description"]]
    [router] = [each for each in services.routers.values() if mark in each["description"]]
    [subnet] = [each for each in services.subnets.values() if mark in each["description"]]
    if how == "interface":
        place = {"subnet_id": subnet["id"]}
        if any(each["device_id"] == router["id"] and each["project_id"] for each in services.ports.values()):
            ask(world, "PUT", f"/routers/{router['id']}/remove_router_interface", place)
    elif how == "gateway":
        ask(world, "PUT", f"/routers/{router['id']}", {"router": {"external_gateway_info": None}})
    elif how == "tags":
        router["tags"] = ["theirs"]
    elif ours:
        of = [each for each in services.security_group_rules.values() if each["security_group_id"] == ours[0]["id"]]
        if how == "rule" and of:
            ask(world, "DELETE", f"/security-group-rules/{of[-1]['id']}")
        elif how == "surplus":
            body = {"security_group_id": ours[0]["id"], "direction": "ingress", "port_range_min": 1}
            body |= {"port_range_max": 1, "protocol": "tcp"}
            if not any(each["port_range_max"] == 1 for each in of):
                ask(world, "POST", "/security-group-rules", {"security_group_rule": body})


def rule_writes(world: World, since: int) -> list[Method]:
    asked = world.cloud.requests[since:]
    return [each.method for each in asked if "security-group-rules" in each.path]  # type: ignore[misc]


@examples(30)
@given(first=specs, second=specs, there=strangers, disturbed=meddling)
def test_clusters_come_to_rest_and_leave_what_is_not_theirs(
    first: Any, second: Any, there: Sequence[Any], disturbed: Sequence[str]
) -> None:
    asyncio.run(_live(first, second, there, disturbed))


async def _live(first: Any, second: Any, there: Sequence[Any], disturbed: Sequence[str]) -> None:
    world = managed(**first)
    if any("description" not in body for *_, body in there):
        whole = world.tree()
        whole["metadata"]["annotations"] = {"openstack.windlass.dev/adopt": "none"}
        world.api.load({**whole, "metadata": {**whole["metadata"], "resourceVersion": None}})
    for path, envelope, body in there:
        ask(world, "POST", f"/{path}", {envelope: body})
    before = world.held()
    await world.process.settle()
    assert world.condition("Ready")[0] == "True", world.tree()["status"]
    for how in disturbed:
        meddle(world, how)
    changed = {name: value for name, value in second.items() if name != "managedSecurityGroups" or value is not None}
    world.change(**changed)
    world.cloud.pass_time(601.0)
    since = len(world.cloud.requests)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True", world.tree()["status"]
    writes = Counter(rule_writes(world, since))
    assert writes["POST"] <= 2, "one request for each group"
    rules_now = [each for each in world.cloud.services.security_group_rules.values() if each["port_range_max"] == 1]
    assert not (rules_now and changed.get("managedSecurityGroups")), "what somebody else has added is gone"
    world.cloud.pass_time(601.0)
    since = len(world.cloud.requests)
    assert (await world.rest()).writes == 0
    assert {each.method for each in world.cloud.requests[since:]} == {"GET"}
    await world.delete()
    await world.process.settle()
    assert world.is_gone
    assert world.held() == before
