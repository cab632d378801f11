"""How often the cloud is asked for a cluster with a network, groups and a load balancer of its own."""

from collections import Counter
from typing import Any, Final

import pytest

from ..clouded import pause_of
from .cases import World
from .endpoints import BALANCED, ask
from .managed import managed

CREATION: Final = 31
AT_REST: Final = 9
"""The most requests until it is Ready, and at each look at rest."""
WHOLE: Final[dict[str, Any]] = {**BALANCED, "managedSubnets": [{"cidr": "10.6.0.0/24"}], "tags": None, "network": None}
LISTS: Final = Counter(["networks", "subnets", "routers", "security-groups", "floatingips", "ports", "loadbalancers"])


async def until_ready(world: World) -> int:
    """The requests until it is Ready."""
    for _ in range(100):
        ending = await world.process.step()
        if world.condition("Ready")[0] == "True":
            return len(world.cloud.requests)
        world.cloud.pass_time(pause_of(ending) or 0.5)
    raise AssertionError(world.tree()["status"])


async def at_rest(world: World) -> Counter[str]:
    """What is asked for at the next look: the last parts of the paths."""
    before = len(world.cloud.requests)
    world.cloud.pass_time(601.0)
    assert (await world.rest()).writes == 0
    return Counter(each.path.rpartition("/")[2] for each in world.cloud.requests[before:])


async def test_a_cluster_is_made_with_few_requests() -> None:
    world = managed(**WHOLE)
    assert await until_ready(world) <= CREATION
    changes = [each for each in world.cloud.requests if each.method != "GET"]
    assert len(changes) == 14, "two groups with rules, four parts of the load balancer, a floating IP that is led to it"
    assert len(world.cloud.requests) == 31, "two of what the spec names, five of Octavia, its parts, and the address"
    looks = [each.path.rpartition("/")[2] for each in world.cloud.requests if each.method == "GET"]
    assert Counter(looks) & LISTS == LISTS - Counter(["ports"]), "one list of each kind, for what has no mark"


async def test_a_slow_octavia_costs_one_request_a_look() -> None:
    world = managed(**WHOLE)
    world.cloud.services.balance = 60.0
    await world.process.step()
    before = len(world.cloud.requests)
    for _ in range(10):
        world.cloud.pass_time(5.0)
        await world.process.step()
    assert len(world.cloud.requests) - before == 10


async def test_a_cluster_at_rest_is_looked_at_with_few_requests() -> None:
    world = managed(**WHOLE)
    await until_ready(world)
    every = [await at_rest(world) for _ in range(8)]
    assert all(each.total() <= AT_REST for each in every), every
    assert every[0] == LISTS + Counter(["networks", "os-availability-zone"])  # the external one, and the zones


@pytest.mark.parametrize("path", ["listeners", "healthmonitors"])
async def test_what_somebody_else_removes_from_the_load_balancer_costs_a_look_at_its_parts_and_comes_back(
    path: str,
) -> None:
    world = managed(**WHOLE)
    await until_ready(world)
    await at_rest(world)
    (gone,) = getattr(world.cloud.services, path)
    ask(world, "DELETE", f"/v2.0/lbaas/{path}/{gone}")
    world.cloud.pass_time(601.0)
    await world.process.settle()
    (back,) = getattr(world.cloud.services, path)
    assert back != gone
    assert (await at_rest(world)).total() <= AT_REST


async def test_a_new_process_looks_before_it_makes_anything() -> None:
    world = managed(**WHOLE)
    await world.process.step()
    made = dict(world.held())
    world.cloud.services.balance = 100.0
    world.cloud.pass_time(100.0)
    before = len(world.cloud.requests)
    process = type(world.process)(world)
    await process.step()
    asked = Counter(each.path.rpartition("/")[2] for each in world.cloud.requests[before:] if each.method == "GET")
    assert asked >= LISTS
    world.cloud.pass_time(40.0)
    await process.step()
    before = len(world.cloud.requests)
    world.cloud.pass_time(31.0)
    await process.step()
    asked = Counter(each.path.rpartition("/")[2] for each in world.cloud.requests[before:] if each.method == "GET")
    assert asked >= LISTS, "what another process has made is not known by our answers"
    await process.settle()
    assert {kind: world.held()[kind] for kind in made} == made
    assert world.condition("Ready")[0] == "True"


async def test_an_address_that_the_spec_names_is_looked_for() -> None:
    world = managed(**WHOLE)
    (public,) = [each["id"] for each in world.cloud.services.networks.values() if each["router:external"]]
    mine = ask(world, "POST", "/v2.0/floatingips", {"floatingip": {"floating_network_id": public}})["floatingip"]
    world.change(apiServerFloatingIP=mine["floating_ip_address"])
    await until_ready(world)
    (floating,) = world.cloud.services.floatingips.values()
    assert (floating["id"], bool(floating["port_id"])) == (mine["id"], True)
