"""No address is given twice, whatever happens in between: crashes at every write, bad weather, two pools at a time."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.model.garbage import collect_garbage
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.constants import MARK_ANNOTATION, POOL_FINALIZER
from windlass.testing.crash import Scenario, crash_everywhere

from ..cloud_faults import FAULTS, OF_CREATION
from ..clouded import NAMESPACE
from .cases import OWN, POOL, All, Pools, World, claim, pool, wanting


async def delete_server(api: Any) -> None:
    await _delete(api, OpenStackServer, "worker-0")


async def delete_pool(api: Any) -> None:
    await _delete(api, OpenStackFloatingIPPool, POOL)


async def _delete(api: Any, kind: type[Any], name: str) -> None:
    found = api.peek(kind, name, namespace=NAMESPACE)
    if found is not None and not found.metadata.deletion_timestamp:
        await api.delete(kind, name, namespace=NAMESPACE)


@pytest.mark.parametrize(
    ("actors", "expected", "least"),
    [
        pytest.param((), {"servers": 1, "ports": 2, "floatingips": 2}, 15, id="given"),
        pytest.param((delete_server,), {"ports": 1, "floatingips": 1}, 22, id="and one released"),
    ],
)
async def test_a_crash_at_any_write_gives_no_address_twice_and_leaves_nothing(
    actors: Sequence[Any], expected: dict[str, int], least: int
) -> None:
    def scenario() -> Scenario:
        world = World(pool(), claim("other"))
        world.api.load(wanting(world))

        async def settle(api: Any, reader: Any, systems: Any) -> None:
            await All(world, api=api, clouds=systems[OPENSTACK]).settle()

        def unowned(trees: Sequence[Any]) -> list[str]:
            twice = [each for each, n in Counter(world.given.values()).items() if n > 1]
            held = world.held()
            return twice or ([] if held == expected else [f"the project has {dict(held)}, not {expected}"])

        return Scenario(
            world.api,
            settle,
            actors=(*actors, collect_garbage),
            systems={OPENSTACK: world.clouds},
            unowned=unowned,
            compared=lambda trees: {
                each["kind"]: each["metadata"]["name"] for each in trees if each["kind"] != "Event"
            },
        )

    report = await crash_everywhere(scenario)
    assert report.points >= least


@pytest.mark.parametrize("fault", OF_CREATION.values(), ids=OF_CREATION.keys())
async def test_a_floating_ip_that_meets_a_fault_is_created_once(fault: dict[str, Any]) -> None:
    world = World(pool(), claim("a"), claim("b"))
    ordered = world.cloud.fault(method="POST", path="^/v2.0/floatingips$", **fault)
    await Pools(world).settle()
    assert ordered.hits == 1
    assert sorted(world.given.values()) == world.addresses
    assert len(world.addresses) == 2


@pytest.mark.parametrize("deleted", [False, True], ids=["a claim waits", "the pool is deleted"])
async def test_a_new_process_waits_for_what_an_earlier_one_may_have_asked_for(deleted: bool) -> None:
    stored = pool()
    stored["metadata"] |= {"finalizers": [POOL_FINALIZER], "annotations": {MARK_ANNOTATION: OWN}}
    world = World(stored, claim("a"))
    if deleted:
        await world.delete(OpenStackFloatingIPPool, POOL)
    process = Pools(world)
    for _ in range(3):
        await process.step()
    assert world.addresses == []
    assert world.posts("/floatingips") == 0
    assert POOL in world.here(OpenStackFloatingIPPool)
    world.cloud.pass_time(32.0)
    await process.settle()
    assert len(world.addresses) == (0 if deleted else 1)
    assert (POOL in world.here(OpenStackFloatingIPPool)) is not deleted


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_released_floating_ip_that_meets_a_fault_is_deleted(fault: dict[str, Any]) -> None:
    world = World(pool(), claim("a"))
    await Pools(world).settle()
    ordered = world.cloud.fault(method="DELETE", path="^/v2.0/floatingips/", **fault)
    await world.delete(IPAddressClaim, "a")
    await collect_garbage(world.api)
    await Pools(world).settle()
    assert ordered.hits == 1
    assert world.addresses == []


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["claim", "release", "step", "restart", "collect"]), st.integers(0, 3)), max_size=25
    ),
    policy=st.sampled_from(["Retain", "Delete"]),
    most=st.sampled_from([None, 1, 2]),
)
async def test_no_address_is_ever_given_twice(steps: list[tuple[str, int]], policy: str, most: int | None) -> None:
    """Claims come and go between the steps of two processes, of which each may die and come back at any time."""
    world = World()
    user = world.floating_ip()
    limit = {} if most is None else {"maxIPs": most}
    world.api.load(pool(reclaimPolicy=policy, preAllocatedFloatingIPs=[user], **limit))
    processes = [Pools(world), Pools(world)]
    for what, number in steps:
        name = f"claim-{number}"
        match what:
            case "claim" if name not in world.here(IPAddressClaim):
                world.api.load(claim(name))
            case "release":
                await _delete(world.api, IPAddressClaim, name)
            case "collect":
                await collect_garbage(world.api)
            case "restart":
                processes[number % 2] = Pools(world)
            case _:
                await processes[number % 2].step()
        addresses = Counter(each["spec"]["address"] for each in world.here(IPAddress).values())
        assert all(n == 1 for n in addresses.values()), addresses
        assert user in world.addresses
    await collect_garbage(world.api)
    for each in processes:
        await each.settle()
    claims = len(world.here(IPAddressClaim))
    room = claims if most is None else min(claims, max(most, 1))
    assert len(world.given) >= room
