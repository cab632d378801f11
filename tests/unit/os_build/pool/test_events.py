"""Stories of a MachineOSConfig by their Events: reasons, types, objects and texts are those of the operator."""

from typing import Any

import pytest

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import World, claimed, machine_config, machine_os_config
from windlass.api.core import Event
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import Cause
from windlass.os_build.constants import REBUILD
from windlass.os_build.registry.answers import Found

IMAGE = f"registry.example.com/org/os@{DIGEST}"
BUILD, CONFIG, POOL = "MachineOSBuild", "MachineOSConfig", "MachineConfigPool"
BEGUN = ("BuildStarted", "BuildPreparing", "JobCreated")
RUNS = ("JobStarted", "BuildBuilding")
BUILT = ("JobCompleted", "BuildCompleted", "JobDeleted")


class Told:
    """The Events since the last look."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: set[str] = set()

    def new(self) -> list[Event]:
        found = [each.decode() for each in self._world.api.listing(Event)]
        new = [each for each in found if each.metadata.name not in self._seen]
        self._seen |= {each.metadata.name for each in found}
        return new

    def reasons(self) -> set[str]:
        return {each.reason for each in self.new()}


@pytest.fixture
def world() -> World:
    return claimed()


@pytest.fixture
def told(world: World) -> Told:
    return Told(world)


async def begun(world: World) -> str:
    """The builder that was started."""
    await world.settle()
    [name] = [each.name for each in world.builders.builds.values() if not each.is_over]
    return name


async def running(world: World) -> str:
    name = await begun(world)
    world.builders.run(name)
    await world.settle()
    return name


async def built(world: World) -> str:
    name = await running(world)
    world.pass_time(30)
    world.builders.succeed(name)
    await world.settle()
    return name


async def change(world: World, containerfile: str, generation: int, **spec: Any) -> None:
    patch = {"metadata": {"generation": generation}, "spec": {"containerFile": [{"content": containerfile}], **spec}}
    await world.api.patch(MachineOSConfig, "worker", patch, type=PatchType.MERGE)


async def test_a_build_that_succeeds_tells_each_step_of_its_builder(world: World, told: Told) -> None:
    name = await begun(world)
    [build] = world.api.listing(MachineOSBuild)
    assert {(each.involved_object.kind, each.type, each.reason, each.message) for each in told.new()} == {
        (BUILD, "Normal", "BuildStarted", 'Started build for pool "worker" with config "rendered-worker-1"'),
        (BUILD, "Normal", "BuildPreparing", 'Preparing build: creating build job for pool "worker"'),
        (BUILD, "Normal", "JobCreated", f"Created build job: {name}"),
    }
    world.builders.run(name)
    await world.settle()
    assert {(each.type, each.reason, each.message) for each in told.new()} == {
        ("Normal", "JobStarted", f"Build job started: {name}"),
        ("Normal", "BuildBuilding", "Build is now in progress"),
    }
    world.builders.succeed(name)
    await world.settle()
    events = told.new()
    assert {(each.type, each.reason, each.message) for each in events} == {
        ("Normal", "JobCompleted", f"Build job completed: {name}"),
        ("Normal", "BuildCompleted", f"Build completed successfully, image: {IMAGE}"),
        ("Normal", "JobDeleted", f"Build job deleted: {name}"),
    }
    assert {each.involved_object.uid for each in events} == {build.uid}


async def test_a_build_that_fails_tells_its_config_too(world: World, told: Told) -> None:
    name = await running(world)
    told.new()
    world.builders.fail(name, Cause.STEP, step="RUN exit 7", exit_code=7)
    await world.settle()
    events = {(each.involved_object.kind, each.type, each.reason): each.message for each in told.new()}
    [build] = world.api.listing(MachineOSBuild)
    assert set(events) == {
        (BUILD, "Warning", "JobFailed"),
        (BUILD, "Warning", "BuildFailed"),
        (CONFIG, "Warning", "BuildDegraded"),
    }
    details = f'see MachineOSBuild "{build.name}" status conditions for details'
    assert events[BUILD, "Warning", "JobFailed"] == f'Build job "{name}" failed; {details}'
    assert "in step 'RUN exit 7' with exit code 7" in events[BUILD, "Warning", "BuildFailed"]
    degraded = 'Build for pool "worker" degraded; see MachineOSBuild status conditions for details'
    assert events[CONFIG, "Warning", "BuildDegraded"] == degraded


async def test_an_attempt_that_is_made_again_is_a_failed_job_and_no_failed_build(world: World, told: Told) -> None:
    name = await running(world)
    told.new()
    world.builders.fail(name, Cause.UNREACHABLE)
    await world.settle()
    assert told.reasons() == {"JobFailed"}
    world.pass_time(20)
    assert await begun(world) != name
    assert told.reasons() == set(), "it is the same build"


async def test_a_containerfile_that_no_builder_takes_fails_without_a_job(world: World, told: Told) -> None:
    await change(world, "RUNN", 1)
    await world.settle()
    assert told.reasons() == {"BuildFailed", "BuildDegraded"}


async def test_a_build_after_a_failed_one_has_recovered(world: World, told: Told) -> None:
    await built(world)
    assert "BuildRecovered" not in told.reasons()
    world.pass_time(60)
    await change(world, "RUN exit 7", 2)
    world.builders.fail(await running(world), Cause.STEP)
    await world.settle()
    world.pass_time(60)
    await change(world, "RUN true", 3)
    told.new()
    await built(world)
    [event] = [each for each in told.new() if each.reason == "BuildRecovered"]
    assert (event.involved_object.kind, event.type) == (CONFIG, "Normal")
    assert event.message == 'Build for pool "worker" recovered from degraded state'
    world.pass_time(60)
    await change(world, "RUN echo more", 4)
    await built(world)
    assert "BuildRecovered" not in told.reasons(), "nothing had failed"


async def test_a_builder_that_is_lost_interrupts_its_build(world: World, told: Told) -> None:
    name = await running(world)
    told.new()
    world.builders.lose(name)
    await world.settle()
    [event] = told.new()
    assert (event.involved_object.kind, event.type, event.reason) == (BUILD, "Warning", "BuildInterrupted")
    assert event.message == "Build interrupted: build job was deleted"
    world.pass_time(20)
    await running(world)
    assert told.reasons() == {"JobDeleted"}, "the same build goes on"


async def test_a_changed_spec_is_reconciled_and_the_superseded_build_deleted(world: World, told: Told) -> None:
    await built(world)
    told.new()
    await change(world, "RUN echo a", 2)
    await running(world)
    events = {each.reason: each for each in told.new()}
    assert set(events) == {"ConfigReconciled", *BEGUN, *RUNS}
    assert events["ConfigReconciled"].involved_object.kind == CONFIG
    assert events["ConfigReconciled"].type == "Normal"
    await change(world, "RUN echo b", 3)
    await running(world)
    events = {each.reason: each for each in told.new()}
    assert set(events) == {"ConfigReconciled", "BuildDeleted", "JobDeleted", *BEGUN, *RUNS}
    assert events["BuildDeleted"].message == "Build deleted: build resources removed"


async def test_a_spec_that_goes_back_takes_its_image_and_is_reconciled(world: World, told: Told) -> None:
    await built(world)
    await change(world, "RUN echo a", 2)
    await built(world)
    told.new()
    world.process.registries.found = Found(DIGEST)
    await world.api.patch(
        MachineOSConfig,
        "worker",
        {"metadata": {"generation": 3}, "spec": {"containerFile": None}},
        type=PatchType.MERGE,
    )
    await world.settle()
    assert told.reasons() == {"ConfigReconciled"}


async def test_a_changed_spec_that_cannot_be_built_says_so_once_and_in_the_operators_words(
    world: World, told: Told
) -> None:
    await built(world)
    told.new()
    await change(world, "RUN true", 2, renderedImagePushSpec="registry.example.com/a/b/c:latest")
    await world.settle()
    [event] = told.new()
    assert (event.involved_object.kind, event.type, event.reason) == (CONFIG, "Warning", "ConfigReconcileFailed")
    assert event.message.startswith("Failed to reconcile MachineOSConfig spec change: MachineOSConfig worker: spec.")


async def test_a_new_config_that_cannot_be_built_has_the_reason_itself(told: Told, world: World) -> None:
    await change(world, "RUN true", 1, renderedImagePushSpec="registry.example.com/a/b/c:latest")
    await world.settle()
    assert told.reasons() == {"ConfigurationInvalid"}


async def test_the_annotation_rebuild_is_a_request_and_deletes_the_build(world: World, told: Told) -> None:
    await built(world)
    told.new()
    for _ in range(2):
        patch = {"metadata": {"annotations": {REBUILD: ""}}}
        await world.api.patch(MachineOSConfig, "worker", patch, type=PatchType.MERGE)
        await built(world)
        events = {each.reason: each for each in told.new()}
        assert set(events) == {"RebuildRequested", "BuildDeleted", *BEGUN, *RUNS, *BUILT}
        requested = events["RebuildRequested"]
        assert (requested.involved_object.kind, requested.type) == (CONFIG, "Normal")
        assert requested.message == "Rebuild requested: rebuild annotation applied"


async def test_another_rendered_configuration_is_told_of_the_pool(world: World, told: Told) -> None:
    await built(world)
    told.new()
    world.process.registries.found = Found(DIGEST)
    world.api.load(machine_config("rendered-worker-2"))
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-2"}}})
    await world.settle()
    events = {each.reason: each for each in told.new()}
    assert set(events) == {"PoolConfigChanged", "BuildCompleted"}, "files alone take the image that there is"
    changed = events["PoolConfigChanged"]
    assert (changed.involved_object.kind, changed.type) == (POOL, "Normal")
    assert changed.message == "Rendered config changed from rendered-worker-1 to rendered-worker-2"


async def test_a_config_that_is_deleted_is_told_once_by_its_uid(world: World, told: Told) -> None:
    await built(world)
    told.new()
    await world.api.delete(MachineOSConfig, "worker")
    await world.settle()
    await world.settle()
    [event] = told.new()
    assert (event.involved_object.kind, event.type, event.reason) == (CONFIG, "Normal", "ConfigDeleted")
    assert event.involved_object.uid == "uid-of-config"
    assert event.message == 'MachineOSConfig "worker" deleted, removing associated builds'
    again = machine_os_config()
    again["metadata"]["uid"] = "uid-of-another"
    world.api.load(again)
    await world.settle()
    told.new()
    await world.api.delete(MachineOSConfig, "worker")
    await world.settle()
    [event] = [each for each in told.new() if each.reason == "ConfigDeleted"]
    assert event.involved_object.uid == "uid-of-another"


@pytest.mark.parametrize("until", ["begun", "running", "built", "failed"])
async def test_a_restart_tells_nothing_again(world: World, told: Told, until: str) -> None:
    match until:
        case "begun":
            await begun(world)
        case "running":
            await running(world)
        case "built":
            await built(world)
        case _:
            world.builders.fail(await running(world), Cause.STEP)
            await world.settle()
    told.new()
    world.restart()
    await world.settle()
    assert told.new() == []


async def test_a_pool_without_a_config_has_the_events_of_windlass_alone() -> None:
    world = World()
    world.add_pool()
    told = Told(world)
    await built(world)
    assert told.reasons() == {"BuildStarted", "BuildCompleted"}
