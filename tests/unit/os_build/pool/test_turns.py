"""Pools that wait for their turn to build: they say so, and build when others have ended."""

from tests.unit.os_build.world import World, claimed
from windlass.api.machineosconfig import MachineOSBuild
from windlass.kube.control.plan import RequeueAfter
from windlass.os_build.builder import Obstacle


def running(world: World) -> list[str]:
    return sorted(each.pool for each in world.builders.builds.values() if not each.is_over)


async def end(world: World, pool: str) -> None:
    [build] = [each.name for each in world.builders.builds.values() if each.pool == pool and not each.is_over]
    world.builders.succeed(build)
    await world.settle(pool)


async def test_so_many_pools_build_as_may_and_the_next_begins_when_one_has_ended() -> None:
    world = World(max_builds=2)
    for name in ("a", "b", "c", "d"):
        world.add_pool(name)
        await world.settle(name)
        world.pass_time(1)
    assert running(world) == ["a", "b"]
    waits = "The build of rendered-{0}-1 waits for its turn: a, b build{1}"
    assert world.says("c") == ("BuildPending", "Queued", waits.format("c", ""))
    assert world.says("d") == ("BuildPending", "Queued", waits.format("d", ", and 1 pools wait longer"))
    ending = await world.settle("d")
    assert isinstance(ending.next, RequeueAfter)
    await end(world, "a")
    await world.settle("d")
    assert running(world) == ["b"], "c waits longer"
    await world.settle("c", "d")
    assert running(world) == ["b", "c"]
    assert world.says("d")[1] == "Queued"
    for pool in ("b", "c"):
        await end(world, pool)
    await world.settle("d")
    assert running(world) == ["d"]


async def test_a_pool_that_waits_writes_nothing_again() -> None:
    world = World(max_builds=1)
    for name in ("a", "b"):
        world.add_pool(name)
        await world.settle(name)
    version = world.api.version
    await world.settle("b")
    assert world.api.version == version


async def test_a_builder_that_does_not_start_takes_nobodys_turn() -> None:
    world = World(max_builds=1)
    for name in ("a", "b"):
        world.add_pool(name)
    await world.settle("a")
    [build] = world.builders.builds
    world.builders.wait(build, Obstacle.IMAGE, "Pod p: why")
    world.pass_time(20)
    await world.settle("b")
    assert running(world) == ["a", "b"]


async def test_a_new_process_counts_the_builds_of_the_one_before() -> None:
    world = World(max_builds=1)
    for name in ("a", "b"):
        world.add_pool(name)
    await world.settle("b")
    world.restart()
    await world.settle("a")
    assert running(world) == ["b"]


async def test_the_build_of_a_machine_os_config_says_that_it_waits() -> None:
    world = claimed(max_builds=1)
    world.add_pool("infra")
    await world.settle("infra")
    await world.settle("worker")
    assert running(world) == ["infra"]
    [found] = world.api.listing(MachineOSBuild)
    told = {each.type: each.message for each in found.decode().status.conditions if each.status == "True"}
    assert told == {"Prepared": "The build of rendered-worker-1 waits for its turn: infra build"}
    version = world.api.version
    await world.settle("worker")
    assert world.api.version == version
    await end(world, "infra")
    await world.settle("worker")
    assert running(world) == ["worker"]
    [found] = world.api.listing(MachineOSBuild)
    assert [each.message for each in found.decode().status.conditions if each.status == "True"] == [
        "Build Prepared and Pending"
    ]
