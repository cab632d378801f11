"""Whose the floating IPs of a pool are: pools that are copied, forged, moved, restored, and served twice."""

from typing import Any

import pytest

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.core import Event
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.openstack.cloud.marks import mark_for, place_of
from windlass.openstack.constants import MARK_ANNOTATION, PAUSED_ANNOTATION, TAKE_OVER_ANNOTATION

from ..clouded import NAMESPACE, secret
from .cases import MARK, OWN, POOL, REF, TAG, Pools, Tree, World, claim, pool, tree

READY = "OpenstackFloatingIPPoolReadyCondition"


class OfCopy(Pools):
    """The controller, at work on the pool `copy`."""

    key = (NAMESPACE, "copy")
    root = "1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"


async def served(*trees: Tree, world: World | None = None, **spec: Any) -> World:
    """A pool that has given an address to the claim `a`."""
    world = world or World()
    world.api.load(pool(**spec), claim("a"), *trees)
    await Pools(world).settle()
    assert list(world.given) == ["a"]
    return world


def copy(world: World, mark: str, *, spec: Tree | None = None, confirms: str = "") -> OfCopy:
    """Somebody makes another pool from the manifest of the first, and a claim that asks it."""
    found = pool(**(spec or {}))
    found["metadata"].update(
        name="copy", uid="copy", annotations={MARK_ANNOTATION: mark, TAKE_OVER_ANNOTATION: confirms}
    )
    asks = claim("b")
    asks["spec"]["poolRef"] = {**REF, "name": "copy"}
    world.api.load(found, asks)
    return OfCopy(world)


def again(world: World, **annotations: str) -> None:
    """The pool is created again, without status and finalizer."""
    meta = {**world.pool["metadata"], "uid": "another", "resourceVersion": None, "finalizers": []}
    meta["annotations"] = annotations or meta["annotations"]
    world.api.load({**world.pool, "metadata": meta, "status": {}})


async def tried(process: Pools) -> None:
    for _ in range(8):
        await process.step()
        process.world.cloud.pass_time(5.0)


def marks(world: World) -> set[str]:
    texts = (each["description"] for each in world.cloud.services.floatingips.values())
    return {text.partition("windlass-owner=")[2] for text in texts}


def told(world: World, name: str = POOL) -> tuple[str, str, str]:
    return world.condition(OpenStackFloatingIPPool, name, READY)


def writes(world: World, since: int) -> list[str]:
    return [each.method for each in world.cloud.requests[since:] if each.method != "GET"]


async def gone(world: World, process: Pools) -> None:
    """The pool `copy` is deleted, with its claim."""
    await world.delete(IPAddressClaim, "b")
    if "b" in world.here(IPAddress):
        await world.delete(IPAddress, "b")
    await world.delete(OpenStackFloatingIPPool, "copy")
    await process.settle()
    assert "copy" not in world.here(OpenStackFloatingIPPool)


async def test_a_copy_gives_addresses_of_its_own_and_its_deletion_leaves_those_of_the_original() -> None:
    world = await served()
    process = copy(world, OWN)
    await process.settle()
    assert len(set(world.given.values())) == 2
    await gone(world, process)
    assert (world.addresses, marks(world)) == ([world.given["a"]], {OWN})


@pytest.mark.parametrize(
    "forged",
    [MARK, mark_for(MARK, "older", f"pool/{NAMESPACE}/copy"), mark_for(MARK, "copy", f"pool/{NAMESPACE}/copy")],
    ids=["the root alone", "the root, and its own place", "the root, and its own place and uid"],
)
async def test_a_forged_mark_gives_no_address_of_another_pool_away(forged: str) -> None:
    world = await served(reclaimPolicy="Retain")
    await world.delete(IPAddressClaim, "a")
    await world.delete(IPAddress, "a")
    await Pools(world).settle()
    (free,), before = world.addresses, len(world.cloud.requests)
    process = copy(world, forged)
    await tried(process)
    assert world.given.get("b") != free
    if "/copy" in forged:
        status, reason, message = told(world, "copy")
        assert (status, reason) == ("False", "OwnedByAnother")
        assert f"belongs to OpenStackFloatingIPPool {NAMESPACE}/{POOL}" in message
        assert MARK not in message
        assert writes(world, before) == []
    await gone(world, process)
    assert (world.addresses, marks(world)) == ([free], {OWN})


async def test_an_address_that_another_pool_has_made_is_not_given_although_the_spec_names_it() -> None:
    world = await served(reclaimPolicy="Retain")
    await world.delete(IPAddressClaim, "a")
    await world.delete(IPAddress, "a")
    await Pools(world).settle()
    (free,) = world.addresses
    process = copy(world, "", spec={"preAllocatedFloatingIPs": [free]})
    await process.settle()
    assert world.given["b"] != free
    assert world.here(OpenStackFloatingIPPool)["copy"]["status"]["failedIPs"] == [free]


@pytest.mark.parametrize("annotation", [OWN, MARK], ids=["this version", "an earlier version"])
async def test_a_moved_pool_keeps_its_addresses_and_its_mark_follows_by_writes_alone(annotation: str) -> None:
    world = await served()
    for each in world.cloud.services.floatingips.values():
        each["description"] = each["description"].replace(OWN, annotation)
    again(world, **{MARK_ANNOTATION: annotation})
    before, given = len(world.cloud.requests), dict(world.given)
    await Pools(world).settle()
    assert set(writes(world, before)) == {"PUT"}
    assert world.given == given
    assert marks(world) == {world.pool["metadata"]["annotations"][MARK_ANNOTATION]} != {annotation}
    assert world.pool["status"]["claimedIPs"] == list(given.values())
    await Pools(world).settle()
    assert told(world)[0] == "True"


async def test_a_pool_whose_addresses_a_newer_one_has_taken_over_stops_and_leaves_them() -> None:
    world = await served()
    newer = mark_for(MARK, "newer", place_of(OWN))
    for each in world.cloud.services.floatingips.values():
        each["description"] = each["description"].replace(OWN, newer)
    world.cloud.pass_time(601.0)
    process, before = Pools(world), len(world.cloud.requests)
    await tried(process)
    status, reason, message = told(world)
    assert (status, reason) == ("False", "OwnedByAnother")
    assert "with another uid, which has taken it over from this one" in message
    await world.delete(OpenStackFloatingIPPool, POOL)
    await tried(process)
    assert writes(world, before) == []
    assert marks(world) == {newer}
    assert [each.decode().reason for each in world.api.listing(Event)] == ["LeftInCloud"]


async def test_under_another_name_it_stops_until_an_annotation_confirms_that_it_takes_over() -> None:
    world = await served(reclaimPolicy="Retain")
    await world.delete(IPAddressClaim, "a")
    await world.delete(IPAddress, "a")
    await Pools(world).settle()
    (free,) = world.addresses
    again(world)
    await world.delete(OpenStackFloatingIPPool, POOL)
    process = copy(world, OWN)
    await tried(process)
    assert told(world, "copy")[:2] == ("False", "OwnedByAnother")
    assert f"annotate this object with {TAKE_OVER_ANNOTATION}={place_of(OWN)}" in told(world, "copy")[2]
    process = copy(world, OWN, confirms=place_of(OWN))
    await process.settle()
    assert world.given["b"] == free
    assert world.addresses == [free]


async def test_what_the_provider_made_for_a_pool_that_is_restored_without_status_is_named_and_not_doubled() -> None:
    world = World()
    kept, free = (world.floating_ip(tags=[TAG], description="by the provider") for _ in range(2))
    ref = {"claimRef": {"name": "a"}, "poolRef": REF, "address": kept, "prefix": 32}
    world.api.load(pool(), claim("a"), tree(IPAddress, "a", ref))
    await Pools(world).settle()
    assert told(world)[0] == "True", "every claim has its address"
    world.api.load(claim("b"))
    await tried(Pools(world))
    status, reason, message = told(world)
    assert (status, reason) == ("False", "OwnedByAnother")
    assert free in message
    assert kept not in message
    assert len(world.addresses) == 2
    whole = world.pool
    whole["metadata"].pop("resourceVersion")
    world.api.load({**whole, "spec": {**whole["spec"], "preAllocatedFloatingIPs": [free]}})
    await Pools(world).settle()
    assert world.given == {"a": kept, "b": free}


async def test_what_an_annotation_says_is_not_the_pools_is_left_alone() -> None:
    world = World()
    free = world.floating_ip(tags=[TAG])
    found = pool()
    found["metadata"]["annotations"] = {"openstack.windlass.dev/adopt": "none"}
    world.api.load(found, claim("a"))
    await Pools(world).settle()
    assert world.given["a"] != free
    assert len(world.addresses) == 2


class InAnotherNamespace(Pools):
    """The controller, at work on the pool of the same name in the namespace `other`."""

    key = ("other", POOL)
    root = "1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"


def of_the_provider(world: World) -> tuple[str, str, Tree]:
    """A paused pool with an address that leads to a server, and a free one; both without a mark."""
    port = world.ask("POST", "/v2.0/ports", {"port": {"network_id": world.network}})["port"]["id"]
    used, free = (world.floating_ip(tags=[TAG], description="", port_id=each) for each in (port, None))
    found = {**pool(), "status": {"claimedIPs": [used], "availableIPs": [free]}}
    found["metadata"] |= {"annotations": {PAUSED_ANNOTATION: ""}, "creationTimestamp": "2026-11-01T00:00:00Z"}
    return used, free, found


def restored_elsewhere(found: Tree, **annotations: str) -> tuple[Tree, Tree]:
    """A backup of the pool with its status, in the namespace `other`, and the credentials there."""
    meta = {"name": POOL, "namespace": "other", "uid": "restored", "creationTimestamp": "2026-11-02T00:00:00Z"}
    given = secret()
    return {**found, "metadata": {**meta, "annotations": annotations}}, {
        **given,
        "metadata": {**given["metadata"], "namespace": "other"},
    }


@pytest.mark.parametrize("confirmed", [False, True], ids=["", "an annotation confirms that it takes over"])
async def test_addresses_without_a_mark_stay_with_the_oldest_pool_that_has_recorded_them(confirmed: bool) -> None:
    world = World()
    used, free, found = of_the_provider(world)
    annotations = {TAKE_OVER_ANNOTATION: f"pool/{NAMESPACE}/{POOL}"} if confirmed else {}
    if confirmed:  # it has a mark, and its floating IPs do not, because somebody has edited their descriptions
        found["metadata"]["annotations"][MARK_ANNOTATION] = OWN
    world.api.load(found, *restored_elsewhere(found, **annotations))
    before = len(world.cloud.requests)
    await InAnotherNamespace(world).settle()
    await world.api.delete(OpenStackFloatingIPPool, POOL, namespace="other")
    await InAnotherNamespace(world).settle()
    assert world.api.peek(OpenStackFloatingIPPool, POOL, namespace="other") is None
    assert (writes(world, before), world.addresses) == ([], sorted([used, free]))


async def test_the_restored_pool_has_them_where_the_original_does_not_exist() -> None:
    world = World()
    used, free, found = of_the_provider(world)
    world.api.load(*restored_elsewhere(found))
    await InAnotherNamespace(world).settle()
    texts = {each["floating_ip_address"]: each["description"] for each in world.cloud.services.floatingips.values()}
    assert list(texts) == [used], f"{free} is surplus"
    assert place_of(texts[used].partition("windlass-owner=")[2]) == f"pool/other/{POOL}"


async def test_an_address_that_the_user_names_is_given_although_an_older_pool_has_recorded_it() -> None:
    world = World()
    address = world.floating_ip(description="the user's")
    older = {**pool(), "status": {"availableIPs": [address]}}
    older["metadata"] |= {"namespace": "other", "uid": "older", "creationTimestamp": "2026-11-01T00:00:00Z"}
    world.api.load(older, pool(preAllocatedFloatingIPs=[address]), claim("a"))
    await Pools(world).settle()
    assert world.given == {"a": address}


async def test_an_address_with_its_mark_goes_with_its_claim_although_a_pool_that_comes_first_recorded_it() -> None:
    world = await served()
    older = pool()
    older["metadata"].update(name="a-first", uid="older")
    world.api.load({**older, "status": {"claimedIPs": world.addresses}})
    await world.delete(IPAddressClaim, "a")
    await world.delete(IPAddress, "a")
    await Pools(world).settle()
    assert world.addresses == []
