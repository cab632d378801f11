"""A builder that does not start: people read what keeps it, on the pool and in an Event, and it goes on by itself."""

import pytest

from tests.unit.os_build.world import World, claimed
from windlass.api.core import Event
from windlass.api.machineosconfig import MachineOSBuild
from windlass.kube.control.plan import RequeueAfter
from windlass.os_build.builder import Cause, Obstacle
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.failure import OBSTACLES
from windlass.os_build.pool.snapshot import TIMING


@pytest.fixture(params=[False, True], ids=["opted in", "claimed"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param:
        return claimed()
    world = World()
    world.add_pool()
    return world


def said(world: World) -> tuple[str, str]:
    """Reason and message of what the pool says; of a pool with a MachineOSConfig, while that is True."""
    if not world.machine_os_configs:
        return world.says()[1:]
    found = world.conditions()["ImageBuildDegraded"]
    return (found["reason"], found["message"]) if found["status"] == "True" else ("", "")


def warnings(world: World) -> list[tuple[str, str]]:
    return [(each.reason, each.message) for each in map(decoded, world.api.listing(Event)) if each.type == "Warning"]


def decoded(found: object) -> Event:
    event: Event = found.decode()  # type: ignore[attr-defined]
    return event


async def begun(world: World) -> str:
    await world.settle()
    [build] = world.builders.builds
    return build


async def wait(world: World) -> None:
    """Until the process looks again, which is when its patience ends."""
    ending = await world.settle()
    assert isinstance(ending.next, RequeueAfter)
    assert ending.next.seconds <= TIMING.patience
    assert said(world)[0] in ("", "BuildPending")
    assert warnings(world) == []
    world.pass_time(ending.next.seconds)
    await world.settle()


@pytest.mark.parametrize("obstacle", Obstacle)
async def test_what_keeps_a_builder_is_told_with_its_remedy_within_a_minute_and_goes(
    world: World, obstacle: Obstacle
) -> None:
    build = await begun(world)
    world.builders.wait(build, obstacle, "Pod p: why")
    await wait(world)
    reason, message = said(world)
    assert reason == obstacle
    assert f"Build {build} of rendered-worker-1 has not started: Pod p: why. {OBSTACLES[obstacle]}" == message
    assert warnings(world) == [(obstacle, message)]
    version = world.api.version
    await world.settle()
    assert world.api.version == version, "it is said once"
    world.pass_time(86400)
    await world.settle()
    assert world.builders.builds[build].failed is None, "no deadline ends what has not started"
    world.builders.run(build)
    await world.settle()
    assert said(world)[0] in ("", "BuildRunning")
    if world.machine_os_configs:
        [found] = world.api.listing(MachineOSBuild)
        assert [each.type for each in found.decode().status.conditions if each.status == "True"] == ["Building"]


@pytest.mark.parametrize(
    ("event", "obstacle"),
    [
        pytest.param("FailedCreate", Obstacle.REFUSED, id="no Pod is taken"),
        pytest.param("FailedMount", Obstacle.START, id="a Secret is gone"),
    ],
)
async def test_events_of_the_pod_tell_what_it_does_not(world: World, event: str, obstacle: Obstacle) -> None:
    build = await begun(world)
    world.builders.wait(build, None)
    for number, message in enumerate(["earlier", 'secret "push" not found\x1b']):
        world.api.load(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"e{number}", "namespace": NAMESPACE},
                "involvedObject": {"kind": "Pod", "name": f"{build}-pod", "namespace": NAMESPACE},
                "type": "Warning",
                "reason": event,
                "message": message,
                "lastTimestamp": f"2026-11-22T12:00:0{number}Z",
            }
        )
    ending = await world.settle()
    assert isinstance(ending.next, RequeueAfter)
    world.pass_time(ending.next.seconds)
    await world.settle()
    reason, message = said(world)
    assert reason == obstacle
    assert f'has not started: {event}: secret "push" not found. ' in message


@pytest.mark.parametrize(
    ("reason", "at"),
    [
        pytest.param("FailedScheduling", "2026-11-22T12:00:30Z", id="a Node was found since"),
        pytest.param("FailedMount", "2026-11-22T11:55:00Z", id="it did not come again"),
    ],
)
async def test_an_event_of_what_is_over_is_no_trouble(world: World, reason: str, at: str) -> None:
    build = await begun(world)
    world.builders.wait(build, None)
    world.api.load(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": NAMESPACE},
            "involvedObject": {"kind": "Pod", "name": f"{build}-pod", "namespace": NAMESPACE},
            "type": "Warning",
            "reason": reason,
            "message": "no longer",
            "lastTimestamp": at,
        }
    )
    world.pass_time(60)
    await world.settle()
    assert said(world)[0] in ("", "BuildPending")


async def test_a_pod_that_pulls_a_large_image_is_no_trouble(world: World) -> None:
    build = await begun(world)
    world.builders.wait(build, None)
    for _ in range(3):
        ending = await world.settle()
        assert isinstance(ending.next, RequeueAfter), "an Event may come later"
        assert ending.next.seconds <= TIMING.patience
        world.pass_time(300)
    assert said(world)[0] in ("", "BuildPending")
    assert warnings(world) == []


async def test_a_build_that_is_evicted_again_and_again_is_stopped_and_begins_anew_later(world: World) -> None:
    build = await begun(world)
    world.builders.run(build)
    world.builders.doom(build, Cause.EVICTED)
    await world.settle()
    failed = world.builders.builds[build].failed
    assert failed is not None
    assert failed.cause is Cause.EVICTED
    assert len([each for each in world.builders.builds.values() if not each.is_over]) <= 1
