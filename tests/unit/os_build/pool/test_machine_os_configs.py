"""Stories of a pool with a MachineOSConfig, on a model of the API server."""

from typing import Any

import pytest

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import API, World, claimed, machine_config, machine_os_config, secret
from windlass.api.core import Event, Secret
from windlass.api.machineconfiguration import GROUP, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import Cause
from windlass.os_build.constants import LAYERING, NAMESPACE, REBUILD, RESULT
from windlass.os_build.machine_os.build import CURRENT
from windlass.os_build.overview import Claims
from windlass.os_build.pool.conditions import VECTOR
from windlass.os_build.pool.snapshot import TIMING
from windlass.os_build.registry.answers import Answer, Found, Gone, Kind, NotAsked

OTHER = "sha256:" + "cd" * 32


@pytest.fixture
def world() -> World:
    return claimed()


def builds(world: World) -> list[Object[MachineOSBuild]]:
    return world.api.listing(MachineOSBuild)


def true(build: Object[MachineOSBuild]) -> list[str]:
    return [each.type for each in build.decode().status.conditions if each.status == "True"]


def config(world: World) -> MachineOSConfig:
    found = world.api.peek(MachineOSConfig, "worker")
    assert found is not None
    return found.decode()


def degraded(world: World) -> tuple[str, str, str]:
    found = world.conditions()["ImageBuildDegraded"]
    return found["status"], found["reason"], found["message"]


async def patch_config(world: World, patch: dict[str, Any]) -> None:
    await world.api.patch(MachineOSConfig, "worker", patch, type=PatchType.MERGE)


async def renders(world: World, name: str, **spec: Any) -> None:
    world.api.load(machine_config(name, **spec))
    await world.patch_pool({"spec": {"configuration": {"name": name}}})


async def built(world: World, *, digest: str = DIGEST) -> Object[MachineOSBuild]:
    """Let the builder that runs succeed; returns the MachineOSBuild that is current then."""
    await world.settle()
    [build] = [each.name for each in world.builders.builds.values() if not each.is_over]
    world.builders.run(build)
    await world.settle()
    world.builders.succeed(build, digest=digest)
    await world.settle()
    return current(world)


def current(world: World) -> Object[MachineOSBuild]:
    reference = config(world).status.machine_os_build
    assert reference is not None
    found = world.api.peek(MachineOSBuild, reference.name)
    assert found is not None
    return found


async def test_a_build_reads_on_its_objects_from_the_first_moment_to_the_last(world: World) -> None:
    await world.settle()
    [build] = builds(world)
    assert true(build) == ["Prepared"]
    assert build.metadata.owner_references[0].uid == "uid-of-config"
    [builder] = world.builders.builds.values()
    assert builder.image == f"registry.example.com/org/os:{build.name}"
    assert config(world).metadata.annotations[CURRENT] == build.name
    world.builders.run(builder.name)
    await world.settle()
    assert true(builds(world)[0]) == ["Building"]
    assert degraded(world) == ("False", "Building", "Build started for pool worker")
    world.pass_time(30)
    world.builders.succeed(builder.name)
    await world.settle()
    [build] = builds(world)
    status = build.decode().status
    assert true(build) == ["Succeeded"]
    assert status.digested_image_push_spec == f"registry.example.com/org/os@{DIGEST}"
    assert status.build_end is not None
    assert status.build_start is not None
    assert status.build_end > status.build_start
    assert config(world).status.current_image_pull_spec == f"registry.example.com/org/os@{DIGEST}"
    assert config(world).status.observed_generation == 1
    assert degraded(world) == ("False", "BuildSuccess", "Build succeeded for pool worker")
    assert world.builders.builds == {}
    assert not set(VECTOR) & set(world.conditions()), "the conditions of opted-in pools are not for these"
    assert not set(RESULT) & set(world.annotations())
    version = world.api.version
    world.restart()
    await world.settle()
    assert world.api.version == version


async def test_what_an_operator_up_to_4_19_has_built_is_current(world: World) -> None:
    """Its status names no build; the registry is not asked, which may not even be reachable."""
    build = await built(world)
    await world.api.patch(
        MachineOSConfig, "worker", {"status": {"machineOSBuild": None}}, type=PatchType.MERGE, subresource="status"
    )
    world.restart()
    await world.settle()
    assert len(world.builders.begun) == 1
    assert current(world).uid == build.uid


async def test_a_build_that_another_builder_began_is_replaced_with_its_job(world: World) -> None:
    """As when the operator's builder is stopped in mid-build."""
    await world.settle()
    [ours] = builds(world)
    job = {"group": "batch", "resource": "jobs", "namespace": NAMESPACE, "name": f"build-{ours.name}"}
    theirs = {"conditions": [], "builder": {"imageBuilderType": "Job", "job": job}}
    await world.api.patch(MachineOSBuild, ours.name, {"status": theirs}, type=PatchType.MERGE, subresource="status")
    world.restart()
    again = await built(world)
    assert (again.name, again.uid != ours.uid) == (ours.name, True)
    assert world.builders.builds == {}


async def test_only_kinds_that_every_cluster_serves_are_required(world: World) -> None:
    """So a process with the open door serves pools that are opted in where there are no MachineOSConfigs."""
    required = {watch.kind.RESOURCE.kind for watch in world.process.controller.watches if not watch.optional}
    assert required == {"MachineConfigPool", "ConfigMap", "Secret"}


async def test_a_closed_door_serves_none(world: World) -> None:
    world.machine_os_configs = False
    world.restart()
    await world.settle()
    assert builds(world) == []
    assert world.builders.begun == []


async def test_files_alone_take_the_image_that_there_is(world: World) -> None:
    first = await built(world)
    world.process.registries.found = Found(DIGEST)
    await renders(world, "rendered-worker-2")
    await world.settle()
    assert len(world.builders.begun) == 1
    assert current(world).name != first.name
    assert true(current(world)) == ["Succeeded"]
    assert current(world).decode().spec.machine_config.name == "rendered-worker-2"
    assert config(world).status.current_image_pull_spec == f"registry.example.com/org/os@{DIGEST}"
    assert len(builds(world)) == 2


async def test_files_alone_are_built_if_the_image_is_gone(world: World) -> None:
    await built(world)
    world.process.registries.found = Gone("manifest unknown")
    await renders(world, "rendered-worker-2")
    await built(world, digest=OTHER)
    assert config(world).status.current_image_pull_spec.endswith(OTHER)


async def test_an_image_is_not_taken_or_built_while_the_registry_does_not_tell(world: World) -> None:
    first = await built(world)
    world.process.registries.found = NotAsked("no route to host")
    await renders(world, "rendered-worker-2")
    await world.settle()
    assert (len(world.builders.begun), current(world).name) == (1, first.name)
    world.process.registries.found = Found(DIGEST)
    await world.settle()
    assert current(world).name != first.name


@pytest.mark.parametrize(
    "spec",
    [{"kernelArguments": ["quiet"]}, {"osImageURL": "registry.example.com/base/os@sha256:" + "1" * 64}],
    ids=lambda spec: next(iter(spec)),
)
async def test_what_the_image_stands_for_is_built_and_earlier_successes_stay(
    world: World, spec: dict[str, Any]
) -> None:
    await built(world)
    await renders(world, "rendered-worker-2", **spec)
    await built(world, digest=OTHER)
    assert [true(each) for each in builds(world)] == [["Succeeded"], ["Succeeded"]]


async def test_a_change_in_mid_build_leaves_one_build_and_one_builder(world: World) -> None:
    await world.settle()
    [first] = builds(world)
    await patch_config(world, {"spec": {"containerFile": [{"content": "RUN true"}]}})
    await world.settle()
    [second] = builds(world)
    assert second.name != first.name
    assert len(world.builders.builds) == 1
    await built(world)


async def test_a_failed_build_stays_until_the_next_change(world: World) -> None:
    await world.settle()
    [builder] = world.builders.builds
    world.builders.fail(builder, Cause.STEP, step="RUN false", exit_code=1, tail="it broke")
    await world.settle()
    [failed] = builds(world)
    assert true(failed) == ["Failed"]
    status, reason, message = degraded(world)
    assert (status, reason) == ("True", "BuildFailed")
    assert message.startswith(f"Failed to build OS image for pool worker (MachineOSBuild: {failed.name}): Failed: ")
    assert "RUN false" in message
    assert list(world.builders.builds) == [builder], "people can look at it"
    await patch_config(world, {"spec": {"containerFile": [{"content": "RUN true"}]}})
    await built(world)
    assert failed.name not in [each.name for each in builds(world)]
    assert degraded(world)[:2] == ("False", "BuildSuccess")


async def test_a_bad_containerfile_fails_without_a_builder(world: World) -> None:
    await patch_config(world, {"spec": {"containerFile": [{"content": "RUNN true"}]}})
    await world.settle()
    assert world.builders.begun == []
    assert true(builds(world)[0]) == ["Failed"]
    assert "RUNN" in degraded(world)[2]
    await patch_config(world, {"spec": {"containerFile": [{"content": "RUN true"}]}})
    await built(world)
    assert degraded(world)[0] == "False"


async def test_a_missing_secret_starts_no_builder_and_heals(world: World) -> None:
    await world.api.delete(Secret, "push", namespace=NAMESPACE)
    await world.settle()
    assert world.builders.begun == []
    assert f"Secret {NAMESPACE}/push does not exist" in degraded(world)[2]
    world.api.load(secret("push", {"auths": {}}))
    await built(world)


async def test_refused_credentials_start_no_builder_and_heal(world: World) -> None:
    world.process.registries.answer = Answer(Kind.DENIED, "registry.example.com refuses Secret push")
    await world.settle()
    assert world.builders.begun == []
    assert "refuses Secret push" in degraded(world)[2]
    world.process.registries.answer = Answer(Kind.GRANTED, "")
    await world.api.patch(
        Secret, "push", {"metadata": {"labels": {"a": "b"}}}, type=PatchType.MERGE, namespace=NAMESPACE
    )
    await built(world)


async def test_the_annotation_rebuild_builds_under_the_same_name_and_goes(world: World) -> None:
    first = await built(world)
    await patch_config(world, {"metadata": {"annotations": {REBUILD: ""}}})
    again = await built(world, digest=OTHER)
    assert (again.name, again.uid != first.uid) == (first.name, True)
    assert REBUILD not in config(world).metadata.annotations
    assert config(world).status.current_image_pull_spec.endswith(OTHER)


async def test_a_rebuild_is_a_build_even_if_an_earlier_image_would_serve(world: World) -> None:
    await built(world)
    world.process.registries.found = Found(DIGEST)
    await renders(world, "rendered-worker-2")
    await world.settle()
    await patch_config(world, {"metadata": {"annotations": {REBUILD: ""}}})
    await built(world, digest=OTHER)
    assert config(world).status.current_image_pull_spec.endswith(OTHER)


async def test_a_deleted_build_begins_again_under_its_name(world: World) -> None:
    await world.settle()
    [first] = builds(world)
    [builder] = world.builders.builds
    await world.api.delete(MachineOSBuild, first.name)
    await world.settle()
    [again] = builds(world)
    assert (again.name, again.uid != first.uid) == (first.name, True)
    assert builder not in world.builders.builds
    await built(world)


async def test_going_back_takes_the_earlier_image_or_builds_it_again(world: World) -> None:
    first = await built(world)
    await renders(world, "rendered-worker-2", kernelArguments=["quiet"])
    await built(world, digest=OTHER)
    world.process.registries.found = Found(DIGEST)
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-1"}}})
    await world.settle()
    assert (current(world).uid, len(world.builders.begun)) == (first.uid, 2)
    world.process.registries.found = Gone("manifest unknown")
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-2"}}})
    await built(world, digest=OTHER)
    assert len(world.builders.begun) == 3


async def silence(world: World) -> None:
    """The registry does not tell, until the last second before something is done without its word."""
    world.process.registries.found = NotAsked("no route to host")
    await world.settle()
    for passed in range(0, 290, 10):
        assert (degraded(world)[0] == "True") == (passed > TIMING.patience)
        world.pass_time(10)
        await world.settle()
    assert degraded(world)[1] == "RegistryUnavailable"
    assert "no route to host. If it does not until 2026-11-22T12:05:00Z, " in degraded(world)[2]
    told = [each.decode() for each in world.api.listing(Event)]
    assert [each.reason for each in told if each.type == "Warning"] == ["RegistryUnavailable"]
    world.pass_time(10)


async def test_going_back_builds_anew_if_the_registry_does_not_tell_for_too_long(world: World) -> None:
    first = await built(world)
    await renders(world, "rendered-worker-2", kernelArguments=["quiet"])
    await built(world, digest=OTHER)
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-1"}}})
    await silence(world)
    kept = world.api.peek(MachineOSBuild, first.name)
    assert kept is not None
    assert kept.uid == first.uid
    assert len(world.builders.begun) == 2
    assert config(world).status.current_image_pull_spec.endswith(OTHER)
    again = await built(world)
    assert (again.name, again.uid != first.uid) == (first.name, True)
    assert degraded(world)[0] == "False"


async def test_a_change_of_files_takes_what_nodes_run_if_the_registry_does_not_tell_for_too_long(world: World) -> None:
    await built(world)
    await renders(world, "rendered-worker-2")
    await silence(world)
    assert "the image that nodes run is taken" in degraded(world)[2]
    await world.settle()
    assert current(world).decode().spec.machine_config.name == "rendered-worker-2"
    assert config(world).status.current_image_pull_spec.endswith(DIGEST)
    assert len(world.builders.begun) == 1
    assert degraded(world)[0] == "False"


async def test_a_registry_that_tells_in_between_is_waited_for_anew(world: World) -> None:
    await built(world)
    await renders(world, "rendered-worker-2", kernelArguments=["quiet"])
    await built(world, digest=OTHER)
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-1"}}})
    await silence(world)
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-2"}}})
    await world.settle()
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-1"}}})
    await world.settle()
    assert len(world.builders.begun) == 2
    assert degraded(world)[0] == "False"


async def test_going_back_takes_no_image_of_a_build_that_is_being_deleted(world: World) -> None:
    """Its image may go with it."""
    first = await built(world)
    await renders(world, "rendered-worker-2", kernelArguments=["quiet"])
    await built(world, digest=OTHER)
    held = {"metadata": {"finalizers": ["example.com/image"]}}
    await world.api.patch(MachineOSBuild, first.name, held, type=PatchType.MERGE)
    await world.api.delete(MachineOSBuild, first.name)
    world.process.registries.found = Found(DIGEST)
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-1"}}})
    await world.settle()
    assert config(world).status.current_image_pull_spec.endswith(OTHER)
    await world.api.patch(MachineOSBuild, first.name, {"metadata": {"finalizers": None}}, type=PatchType.MERGE)
    again = await built(world)
    assert (again.name, again.uid != first.uid) == (first.name, True)


async def test_a_build_of_a_pool_that_is_deleted_is_interrupted(world: World) -> None:
    await world.settle()
    world.builders.run(*world.builders.builds)
    await world.settle()
    await world.api.delete(MachineConfigPool, "worker")
    await world.settle("worker")
    assert [true(each) for each in builds(world)] == [["Interrupted"]]
    assert world.builders.builds == {}
    version = world.api.version
    await world.settle("worker")
    assert world.api.version == version


async def test_another_target_is_built(world: World) -> None:
    await built(world)
    await patch_config(world, {"spec": {"renderedImagePushSpec": "registry.example.com/other/os:latest"}})
    await built(world)
    assert config(world).status.current_image_pull_spec == f"registry.example.com/other/os@{DIGEST}"


async def test_a_deleted_config_leaves_no_builder(world: World) -> None:
    await world.settle()
    assert len(world.builders.builds) == 1
    await world.api.delete(MachineOSConfig, "worker")
    await world.settle()
    assert world.builders.builds == {}


async def test_a_target_that_the_api_would_refuse_is_refused_at_once(world: World) -> None:
    await patch_config(world, {"spec": {"renderedImagePushSpec": "registry.example.com/a/b/c:latest"}})
    await world.settle()
    assert (builds(world), world.builders.begun) == ([], [])
    [event] = [each.decode() for each in world.api.listing(Event)]
    assert event.involved_object.kind == "MachineOSConfig"
    assert "renderedImagePushSpec" in event.message


async def test_builds_of_others_are_left_alone(world: World) -> None:
    foreign = {
        "apiVersion": API,
        "kind": "MachineOSBuild",
        "metadata": {"name": "infra-1", "labels": {f"{GROUP}/machine-os-config": "infra"}},
        "spec": {"machineConfig": {"name": "rendered-infra-1"}, "machineOSConfig": {"name": "infra"}},
    }
    world.api.load(foreign)
    await built(world)
    assert world.api.peek(MachineOSBuild, "infra-1") is not None


async def test_what_the_infrastructure_lost_stays_one_build(world: World) -> None:
    await world.settle()
    [build] = builds(world)
    [builder] = world.builders.builds
    world.builders.run(builder)
    await world.settle()
    world.builders.lose(builder)
    await world.settle()
    world.pass_time(10)
    await world.settle()
    assert true(builds(world)[0]) == ["Building"]
    assert (await built(world)).uid == build.uid


async def test_a_superseded_build_goes_and_earlier_successes_stay(world: World) -> None:
    first = await built(world)
    await renders(world, "rendered-worker-2", kernelArguments=["quiet"])
    await world.settle()
    [second] = [each for each in builds(world) if each.name != first.name]
    await renders(world, "rendered-worker-3", kernelArguments=["debug"])
    await world.settle()
    assert second.name not in [each.name for each in builds(world)]
    third = await built(world, digest=OTHER)
    assert {each.name for each in builds(world)} == {first.name, third.name}
    assert [true(each) for each in builds(world)] == [["Succeeded"], ["Succeeded"]]


async def test_a_config_names_its_build_again_while_that_runs(world: World) -> None:
    """As after a crash between the two writes."""
    await world.settle()
    [builder] = world.builders.builds
    world.builders.run(builder)
    await world.settle()
    await patch_config(world, {"metadata": {"annotations": {CURRENT: None}}})
    await world.settle()
    [build] = builds(world)
    assert config(world).metadata.annotations[CURRENT] == build.name
    assert true(build) == ["Building"]


@pytest.mark.parametrize("ended", [False, True], ids=["it still runs", "it ended meanwhile"])
async def test_a_restarted_process_goes_on_with_the_build_that_runs(world: World, ended: bool) -> None:
    await world.settle()
    [builder] = world.builders.builds
    world.builders.run(builder)
    if ended:
        world.builders.succeed(builder)
    world.restart()
    await world.settle()
    assert world.builders.begun == [builder]
    if not ended:
        assert true(builds(world)[0]) == ["Building"]
        world.builders.succeed(builder)
        await world.settle()
    assert config(world).status.current_image_pull_spec.endswith(DIGEST)


async def test_the_image_of_a_paused_pool_is_built_and_shown(world: World) -> None:
    await world.patch_pool({"spec": {"paused": True}})
    await built(world)
    assert degraded(world)[:2] == ("False", "BuildSuccess")


async def test_a_pool_that_was_opted_in_before_keeps_nothing_of_that(world: World) -> None:
    await world.api.delete(MachineOSConfig, "worker")
    await world.patch_pool({"metadata": {"annotations": {LAYERING: ""}}})
    await world.settle()
    [builder] = world.builders.builds
    world.builders.succeed(builder)
    await world.settle()
    assert set(RESULT) <= set(world.annotations())
    world.api.load(machine_os_config())
    await built(world)
    assert not set(VECTOR) & set(world.conditions())
    assert not set(RESULT) & set(world.annotations())
    assert degraded(world)[0] == "False"


@pytest.mark.parametrize("first", ["another", "worker"])
async def test_of_several_machine_os_configs_of_a_pool_that_of_its_name_is_served_and_the_others_are_named(
    first: str,
) -> None:
    world = World(machine_os_configs=True)
    world.api.load(secret("global-pull-secret-copy", {"auths": {}}))
    found = {name: {**machine_os_config(), "metadata": {"name": name, "uid": name}} for name in ("worker", "another")}
    for name in (first, *(each for each in found if each != first)):
        world.api.load(found[name])
    world.add_pool(annotations={})
    for _ in range(2):
        await world.settle()
        [build] = builds(world)
        assert build.name.startswith("worker-")
        world.restart()
    [said] = [each.decode() for each in world.api.listing(Event) if each.decode().reason == "MachineOSConfigIgnored"]
    assert said.message.startswith("MachineOSConfig worker is served for pool worker, and another ignored")
    rows = Claims.of([each.decode() for each in world.api.listing(MachineOSConfig)], None)
    assert rows.configs["worker"].metadata.name == "worker"


async def test_a_machine_os_config_that_comes_later_takes_no_pool_from_an_older_one() -> None:
    world = World(machine_os_configs=True)
    world.api.load(secret("global-pull-secret-copy", {"auths": {}}))
    for name, then in (("older", "2026-01-01T00:00:00Z"), ("newer", "2026-01-02T00:00:00Z")):
        metadata = {"name": name, "uid": name, "creationTimestamp": then}
        world.api.load({**machine_os_config(), "metadata": metadata})
    world.add_pool(annotations={})
    await world.settle()
    assert [each.name.partition("-")[0] for each in builds(world)] == ["older"]
