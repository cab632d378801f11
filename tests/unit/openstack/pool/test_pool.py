"""Pools of floating IPs: who is given which, what is created and what is reclaimed."""

from typing import Any

import pytest

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.verbs import PatchType

from ..clouded import NAMESPACE
from .cases import OWN, POOL, REF, TAG, Pools, World, claim, pool, tree

READY = "OpenstackFloatingIPPoolReadyCondition"


def told(world: World, type: str = READY) -> tuple[str, str, str]:  # noqa: A002
    return world.condition(OpenStackFloatingIPPool, POOL, type)


async def settled(*trees: Any, world: World | None = None) -> World:
    world = world or World()
    world.api.load(*trees)
    await Pools(world).settle()
    return world


async def test_a_claim_is_given_a_new_floating_ip_with_tag_and_owner() -> None:
    world = await settled(pool(), claim("a"))
    (floating,) = world.cloud.services.floatingips.values()
    assert floating["description"] == f"Created by Windlass for IPAddressClaim {NAMESPACE}/a windlass-owner={OWN}"
    assert floating["tags"] == [TAG]
    address = world.here(IPAddress)["a"]
    assert address["spec"] == {
        "address": floating["floating_ip_address"],
        "claimRef": {"name": "a"},
        "poolRef": REF,
        "prefix": 32,
    }
    (owner,) = address["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("IPAddressClaim", "a", True)
    finalizer = "openstackfloatingippool.infrastructure.cluster.x-k8s.io/delete-floating-ip"
    assert address["metadata"]["finalizers"] == [finalizer]
    assert world.here(IPAddressClaim)["a"]["status"]["addressRef"] == {"name": "a"}
    status = world.pool["status"]
    assert status["claimedIPs"] == [floating["floating_ip_address"]]
    assert status["floatingIPNetwork"] == {"id": world.external, "name": "public"}
    assert told(world)[0] == told(world, "Ready")[0] == "True"
    assert told(world, "Progressing")[:2] == ("False", "Success")


async def test_the_users_are_given_first_in_their_order_and_to_the_oldest_claim() -> None:
    world = World()
    users = [world.floating_ip(tags=["mine"]), world.floating_ip()]
    late, early = "2026-11-22T11:00:01Z", "2026-11-22T11:00:00Z"
    claims = [claim("a", creationTimestamp=late), claim("b", creationTimestamp=early), claim("c")]
    claims[2]["metadata"]["creationTimestamp"] = "2026-11-22T11:00:02Z"
    await settled(pool(preAllocatedFloatingIPs=users[::-1]), *claims, world=world)
    assert (world.given["b"], world.given["a"]) == (users[1], users[0])
    assert world.given["c"] not in users
    tags = {each["floating_ip_address"]: each["tags"] for each in world.cloud.services.floatingips.values()}
    assert tags == {users[0]: ["mine"], users[1]: [], world.given["c"]: [TAG]}


async def test_beyond_the_limit_a_claim_waits_until_one_is_released() -> None:
    world = await settled(pool(maxIPs=1), claim("a"), claim("b"))
    assert list(world.given) == ["a"]
    assert told(world) == (
        "False",
        "MaxIPsReached",
        "All 1 floating IPs of spec.maxIPs are claimed; waiting for one: b",
    )
    assert told(world, "Ready")[:2] == ("False", "MaxIPsReached")
    await world.delete(IPAddressClaim, "a")
    await world.delete(IPAddress, "a")
    await Pools(world).settle()
    assert list(world.given) == ["b"]
    assert world.addresses == [world.given["b"]]
    assert told(world)[0] == "True"


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_a_released_address_is_kept_or_deleted_as_the_policy_says(policy: str) -> None:
    world = World()
    user = world.floating_ip()
    await settled(pool(reclaimPolicy=policy, preAllocatedFloatingIPs=[user]), claim("a"), claim("b"), world=world)
    made = world.given["b"]
    for name in ("a", "b"):
        await world.delete(IPAddressClaim, name)
        await world.delete(IPAddress, name)
    await Pools(world).settle()
    assert world.here(IPAddress) == {}
    left = [user] if policy == "Delete" else [user, made]
    assert world.addresses == sorted(left)
    assert world.pool["status"]["availableIPs"] == left
    assert world.pool["status"]["claims"] == []


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_a_deleted_pool_waits_for_its_addresses_and_then_goes(policy: str) -> None:
    world = World()
    user = world.floating_ip()
    await settled(pool(reclaimPolicy=policy, preAllocatedFloatingIPs=[user]), claim("a"), claim("b"), world=world)
    made = world.given["b"]
    await world.delete(OpenStackFloatingIPPool, POOL)
    await Pools(world).settle()
    assert told(world, "Deleting") == ("True", "WaitingForIPAddresses", "Waiting for 2 IPAddresses to go: a, b")
    for name in ("a", "b"):
        await world.delete(IPAddressClaim, name)
        await world.delete(IPAddress, name)
    await Pools(world).settle()
    assert world.here(OpenStackFloatingIPPool) == {}
    assert world.addresses == sorted([user] if policy == "Delete" else [user, made])


async def test_a_pool_that_is_being_deleted_gives_nothing_any_more() -> None:
    world = await settled(pool(), claim("a"))
    await world.delete(OpenStackFloatingIPPool, POOL)
    world.api.load(claim("b"))
    await Pools(world).settle()
    assert list(world.given) == ["a"]
    assert world.addresses == [world.given["a"]]


async def test_an_ip_address_stays_until_its_floating_ip_is_deleted() -> None:
    world = await settled(pool(), claim("a"))
    fault = world.cloud.fault(service="network", method="DELETE", path="/floatingips/", status=503, count=1000)
    await world.delete(IPAddressClaim, "a")
    await world.delete(IPAddress, "a")
    process = Pools(world)
    for _ in range(3):
        await process.step()
        world.cloud.pass_time(2.0)
    assert list(world.here(IPAddress)) == ["a"]
    world.cloud.faults.remove(fault)
    world.cloud.pass_time(301.0)
    await process.settle()
    assert (world.here(IPAddress), world.addresses) == ({}, [])


async def test_one_that_the_user_has_named_since_is_the_users() -> None:
    world = await settled(pool(), claim("a"))
    address = world.given["a"]
    named = {"spec": {"preAllocatedFloatingIPs": [address]}}
    await world.api.patch(OpenStackFloatingIPPool, POOL, named, type=PatchType.MERGE, namespace=NAMESPACE)
    await world.delete(IPAddressClaim, "a")
    await world.delete(IPAddress, "a")
    await world.delete(OpenStackFloatingIPPool, POOL)
    await Pools(world).settle()
    assert world.here(OpenStackFloatingIPPool) == {}
    assert world.addresses == [address]


async def test_a_claim_is_not_told_of_the_ip_address_of_an_earlier_claim_of_its_name() -> None:
    world = World()
    address = world.floating_ip()
    owner = {"apiVersion": IPAddressClaim.RESOURCE.api_version, "kind": "IPAddressClaim", "name": "a", "uid": "earlier"}
    given = {"claimRef": {"name": "a"}, "poolRef": REF, "address": address, "prefix": 32}
    left = tree(IPAddress, "a", given, ownerReferences=[owner])
    await settled(pool(preAllocatedFloatingIPs=[address]), claim("a"), left, world=world)
    assert "addressRef" not in world.here(IPAddressClaim)["a"].get("status", {})


async def test_what_the_provider_made_is_taken_over_with_its_tags() -> None:
    world = World()
    address = world.floating_ip(tags=["mine", TAG], description="Created by somebody")
    theirs = {**pool(), "status": {"claimedIPs": [address], "availableIPs": []}}
    ref = {"claimRef": {"name": "a"}, "poolRef": REF, "address": address, "prefix": 32}
    await settled(theirs, claim("a"), tree(IPAddress, "a", ref), world=world)
    (floating,) = world.cloud.services.floatingips.values()
    assert (floating["description"], floating["tags"]) == (
        f"Created by somebody windlass-owner={OWN}",
        ["mine", TAG],
    )
    assert world.given == {"a": address}


async def test_the_users_gets_no_mark_although_the_provider_has_tagged_it() -> None:
    world = World()
    address = world.floating_ip(tags=[TAG], description="mine")
    await settled(pool(preAllocatedFloatingIPs=[address]), claim("a"), world=world)
    (floating,) = world.cloud.services.floatingips.values()
    assert floating["description"] == "mine"


async def test_the_tag_comes_back_beside_those_of_others() -> None:
    world = await settled(pool(), claim("a"))
    (floating,) = world.cloud.services.floatingips.values()
    floating["tags"] = ["mine"]
    await Pools(world).settle()
    assert floating["tags"] == ["mine", TAG]


async def test_an_address_that_does_not_exist_or_is_in_use_is_given_to_nobody() -> None:
    world = World()
    body = {"port": {"name": "vm", "network_id": world.network}}
    port = world.ask("POST", "/v2.0/ports", body)["port"]["id"]
    used = world.floating_ip(port_id=port)
    await settled(pool(preAllocatedFloatingIPs=[used, "203.0.113.99"]), claim("a"), world=world)
    assert world.given["a"] not in (used, "203.0.113.99")
    assert world.pool["status"]["failedIPs"] == [used, "203.0.113.99"]


async def test_a_floating_ip_that_somebody_deletes_is_told_of_and_its_claim_keeps_it() -> None:
    world = await settled(pool(), claim("a"))
    address = world.given["a"]
    (which,) = world.cloud.services.floatingips
    world.ask("DELETE", f"/v2.0/floatingips/{which}")
    await Pools(world).settle()
    assert world.given == {"a": address}
    assert world.pool["status"]["failedIPs"] == [address]
    assert world.addresses == []


async def test_an_address_kept_for_a_claim_is_that_of_its_late_ip_address_and_not_of_the_next_claim() -> None:
    """The process died after it had recorded a claim; the claim went, and another one came."""
    world = await settled(pool(reclaimPolicy="Retain"), claim("a"))
    address = world.given["a"]
    await world.delete(IPAddressClaim, "a")
    world.api.load(claim("b"))
    await Pools(world).settle()
    assert world.given["a"] == address
    assert world.given["b"] != address


@pytest.mark.parametrize(
    ("others", "named", "message"),
    [
        pytest.param(
            ["other"], None, "the cloud has several external networks (other, public): name one", id="several"
        ),
        pytest.param([], "lost", "spec.floatingIPNetwork matches no external network", id="none"),
    ],
)
async def test_without_one_external_network_nothing_is_created(
    others: list[str], named: str | None, message: str
) -> None:
    world = World()
    for each in others:
        world.cloud.services.external_network(each, cidr="198.51.100.0/24")
    user = world.floating_ip()
    network = {"floatingIPNetwork": {"filter": {"name": named}}} if named else {}
    world.api.load(pool(preAllocatedFloatingIPs=[user], **network), claim("a"), claim("b"))
    await Pools(world).step()
    assert told(world) == ("False", "UnableToFindNetwork", message)
    assert world.given == {"a": user}


async def test_the_network_may_be_named_by_its_id() -> None:
    world = World()
    other = world.cloud.services.external_network("other", cidr="198.51.100.0/24")
    await settled(pool(floatingIPNetwork={"id": other}), claim("a"), world=world)
    assert world.given["a"].startswith("198.51.100.")


async def test_a_paused_pool_gives_nothing() -> None:
    paused = pool()
    paused["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
    world = await settled(paused, claim("a"))
    assert told(world, "Paused")[0] == "True"
    assert world.given == {}
    assert world.cloud.requests == []


async def test_claims_of_other_pools_are_left_alone() -> None:
    theirs = claim("a")
    theirs["spec"] = {"poolRef": {**REF, "apiGroup": "ipam.example.com"}}
    world = await settled(pool(), theirs)
    assert (world.given, world.addresses) == ({}, [])


async def test_a_used_up_quota_is_told_with_its_reason() -> None:
    world = World()
    world.cloud.services.quotas["project"] = {"floatingip": 0}
    world.api.load(pool(), claim("a"))
    await Pools(world).step()
    assert told(world)[:2] == ("False", "QuotaExceeded")
    assert told(world, "Progressing")[:2] == ("True", "TransientError")
