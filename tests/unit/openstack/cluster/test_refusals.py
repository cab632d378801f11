"""Creating requests for a cluster that are refused: a condition says what, why and the remedy, and it goes on later."""

from typing import Any, Final

import pytest

from .managed import NAME, WHOLE, ask, made, managed

LB: Final = f"{NAME}-kubeapi"
GROUP: Final = "k8s-cluster-ns-one-secgroup"
EVERYTHING: Final[dict[str, Any]] = {
    "disableAPIServerFloatingIP": None,
    "controlPlaneEndpoint": None,
    "apiServerLoadBalancer": {"enabled": True},
}
BALANCED: Final = {
    **WHOLE,
    "ports": 2,
    "floatingips": 1,
    "loadbalancers": 1,
    "listeners": 1,
    "pools": 1,
    "healthmonitors": 1,
}
POSTS: Final = [
    ("networks", "NetworkReady", "NetworkCreateFailed", f"create network {NAME}"),
    ("subnets", "NetworkReady", "SubnetCreateFailed", f"create subnet {NAME}"),
    ("routers", "RouterReady", "RouterCreateFailed", f"create router {NAME}"),
    (
        "security-groups",
        "SecurityGroupsReady",
        "SecurityGroupCreateFailed",
        f"create security group {GROUP}-controlplane",
    ),
    ("security-group-rules", "SecurityGroupsReady", "SecurityGroupCreateFailed", f"create rules {GROUP}-controlplane"),
    ("floatingips", "APIEndpointReady", "APIEndpointConfigFailed", "create floating ip of the API servers"),
    ("lbaas/loadbalancers", "APIEndpointReady", "APIEndpointConfigFailed", f"create load balancer {LB}"),
    ("lbaas/listeners", "APIEndpointReady", "APIEndpointConfigFailed", f"create listener {LB}-6443"),
    ("lbaas/pools", "APIEndpointReady", "APIEndpointConfigFailed", f"create pool {LB}-6443"),
    ("lbaas/healthmonitors", "APIEndpointReady", "APIEndpointConfigFailed", f"create monitor {LB}-6443"),
]
DENIED: Final = {"status": 403, "body": b'{"x": {"message": "it is disallowed by policy"}}'}
USED_UP: Final = {"status": 403, "body": b'{"x": {"message": "Quota exceeded for resources: [\'thing\']."}}'}


async def refused(world: Any) -> None:
    """Long enough for all that does not need the refused request."""
    for _ in range(30):
        await world.process.step()
        world.cloud.pass_time(2.0)


@pytest.mark.parametrize(
    ("refusal", "reason", "why", "remedy"),
    [
        (DENIED, "", "it is disallowed by policy", "Grant the user of the credentials the role"),
        (USED_UP, "QuotaExceeded", "Quota exceeded for resources", "Raise the quota of the project"),
    ],
    ids=["denied", "quota"],
)
@pytest.mark.parametrize(("path", "part", "own_reason", "doing"), POSTS, ids=[row[0] for row in POSTS])
async def test_what_is_refused_is_told_in_its_own_condition_until_it_is_allowed(
    path: str, part: str, own_reason: str, doing: str, refusal: Any, reason: str, why: str, remedy: str
) -> None:
    world = managed(**EVERYTHING)
    fault = world.cloud.fault(method="POST", path=f"^/v2.0/{path}$", count=1000, **refusal)
    await refused(world)
    status, told, message = world.condition(part)
    assert (status, told) == ("False", reason or own_reason)
    assert f"Failed to {doing}: " in message
    assert why in message
    assert remedy in message
    assert world.condition("Ready")[0] == "False"
    assert "initialization" not in world.tree()["status"]
    world.cloud.faults.remove(fault)
    world.cloud.pass_time(700.0)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"
    assert world.held() == BALANCED


async def test_a_security_group_that_cannot_be_put_right_makes_a_cluster_unready_and_leaves_it_provisioned() -> None:
    world = await made()
    rule = next(each for each in world.cloud.services.security_group_rules.values() if each["port_range_min"] == 6443)
    ask(world, "DELETE", f"/security-group-rules/{rule['id']}")
    world.cloud.fault(method="POST", path="/security-group-rules$", count=1000, **DENIED)
    world.cloud.pass_time(601.0)
    await refused(world)
    assert world.condition("SecurityGroupsReady")[:2] == ("False", "SecurityGroupCreateFailed")
    assert world.condition("Ready")[:2] == ("False", "SecurityGroupCreateFailed")
    assert world.condition("NetworkReady")[0] == "True"
    assert world.tree()["status"]["initialization"] == {"provisioned": True}
