"""`windlass os-build describe`: the page of a pool, from a cluster on which the controller has worked."""

import json
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.stream_trees import stream_tree
from tests.unit.os_build.world import TARGET, World, claimed, config_map
from windlass.api.build import Build
from windlass.api.core import ConfigMap, Event, Secret
from windlass.api.machineconfiguration import MachineConfigPool, OSImageStream
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.clock import rfc3339
from windlass.kube.errors import Forbidden, Status
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import ATTEMPTS, Cause, Failed, Obstacle
from windlass.os_build.cli.look import PoolInspection, look
from windlass.os_build.cli.page import as_json, as_text, problems
from windlass.os_build.constants import BUILDER_CONFIG, CONTAINERFILES, LAYERING, NAMESPACE
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.overview import State
from windlass.os_build.pool import situations as of
from windlass.os_build.registry.answers import Answer, Kind
from windlass.testing.builds.openshift import Built

from .cluster import NOW, Cluster

LOG = 'STEP 3/4: RUN false\nError: building at STEP "RUN false": while running runtime: exit status 7'
FAILED = Built(reason="DockerBuildFailed", message="played", log=LOG)
REFUSED = Forbidden(Status("Failure", "you may not", "Forbidden", 403))


async def seen(cluster: Cluster | World) -> PoolInspection:
    sight = await look(cluster.api, "worker")
    assert sight is not None
    return sight


async def page(cluster: Cluster | World) -> str:
    return "\n".join(as_text(await seen(cluster), now=NOW + timedelta(minutes=5), colour=False))


def words(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


async def reasons(cluster: Cluster) -> list[str]:
    return [each.reason for each in problems(await seen(cluster))]


@pytest.mark.parametrize("apply_by", ApplyBy)
async def test_a_built_pool_says_its_image_and_has_no_problem(apply_by: ApplyBy) -> None:
    cluster = Cluster(apply_by=apply_by)
    await cluster.end(Built(digest=DIGEST))
    said = words(await page(cluster))
    assert f"Image: {TARGET}@{DIGEST}, of rendered-worker-1" in said
    assert {"Builders: <none>", "Problems: <none>", "Configuration: rendered-worker-1"} <= {*said}
    assert {"Pull Secret: pull", "Push Secret: push", "Backend: openshift (the default here)"} <= {*said}
    assert any(line.startswith("BuildSuccess True BuildSucceeded 5m") for line in said)
    assert any("Normal BuildCompleted Image" in line for line in said)


async def test_a_failed_build_says_step_exit_code_log_and_remedy() -> None:
    cluster = Cluster()
    await cluster.end(FAILED)
    said = words(await page(cluster))
    assert "Failure: StepFailed: build failed in step 'RUN false' with exit code 7" in said
    assert any(line.startswith("Phase: Failed, attempt 1 of 4") for line in said)
    assert sum("Error: building at STEP" in line for line in said) == 1
    [problem] = problems(await seen(cluster))
    assert problem.reason == "StepFailed"
    assert "Correct the command" in problem.text


async def test_a_failure_that_may_pass_says_when_attempts_begin_anew_as_the_condition_does() -> None:
    cluster = Cluster()
    await cluster.end(FAILED)
    sight = await seen(cluster)
    last = structs.replace(sight.builds[0], attempt=ATTEMPTS, failed=Failed(cause=Cause.DISK))
    sight.situation = of.Broken(last, NOW + timedelta(minutes=30))
    [problem] = problems(sight)
    assert problem.reason == "DiskFull"
    assert problem.text.endswith(f"It is built again at {rfc3339(NOW + timedelta(minutes=30))}.")


async def test_a_failure_that_is_tried_again_is_a_problem_until_then() -> None:
    cluster = Cluster()
    unreachable = (
        "Error: initializing source docker://r.example.com/os:v1: received unexpected HTTP status: 503 Service"
    )
    await cluster.end(Built(reason="DockerBuildFailed", message="played", log=unreachable))
    sight = await seen(cluster)
    assert isinstance(sight.situation, of.Retrying)
    [problem] = problems(sight)
    assert problem.reason == "RegistryUnavailable"
    assert problem.text.startswith("Attempt 2 of 4 begins at ")
    assert "Check that the builder reaches the registry" in problem.text


async def test_a_pool_that_asks_for_another_image_keeps_the_one_it_has() -> None:
    cluster = Cluster()
    await cluster.end(Built(digest=DIGEST))
    cluster.api.load(config_map(CONTAINERFILES, worker="RUN one\nRUN two\n" * 4))
    said = words(await page(cluster))
    assert f"Image: {TARGET}@{DIGEST}, of rendered-worker-1 (the pool asks for another one)" in said
    assert "Containerfile: 8 lines" in said
    assert said.count("| RUN one") + said.count("| RUN two") == 5


async def test_what_keeps_a_pool_from_its_image_is_a_problem_with_its_remedy() -> None:
    cluster = Cluster()
    await cluster.api.delete(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)
    [problem] = problems(await seen(cluster))
    assert problem.reason == "ConfigurationMissing"
    assert "create it with the keys" in problem.text


async def test_a_secret_that_is_missing_is_a_problem_once_the_controller_has_said_so() -> None:
    cluster = Cluster()
    await cluster.api.delete(Secret, "push", namespace=NAMESPACE)
    assert await reasons(cluster) == ["Unseen"]
    await cluster.reconcile()
    assert await reasons(cluster) == ["SecretMissing"]


async def test_what_a_registry_answered_the_controller_is_a_problem_although_none_is_asked_here() -> None:
    cluster = Cluster()
    cluster.registries.answer = Answer(Kind.DENIED, "registry.example.com refuses")
    await cluster.reconcile()
    assert await reasons(cluster) == ["PushDenied"]


async def test_a_condition_that_keeps_builds_back_is_a_problem_and_among_the_conditions() -> None:
    cluster = Cluster()
    degraded = {"type": "RenderDegraded", "status": "True", "reason": "X", "message": "unknown field"}
    await cluster.api.patch(
        MachineConfigPool,
        "worker",
        {"status": {"conditions": [degraded]}},
        type=PatchType.MERGE,
        subresource="status",
    )
    sight = await seen(cluster)
    assert [(each.reason, each.text) for each in problems(sight)] == [
        ("PoolDegraded", "no build starts while RenderDegraded is True: unknown field")
    ]
    assert "RenderDegraded True X" in " ".join(words(await page(cluster)))


async def test_a_pool_that_is_not_opted_in_says_how_to() -> None:
    cluster = Cluster(annotations={})
    [problem] = problems(await seen(cluster))
    assert problem.text.endswith(f"kubectl annotate machineconfigpool worker {LAYERING}=")


async def test_a_pool_of_a_machine_os_config_shows_its_build_from_its_begin_to_its_failure() -> None:
    world = claimed()
    said = words(await page(world))
    assert {"State: unseen", "MachineOSConfig:", "Name: worker", "Build: -"} <= {*said}
    assert [each.reason for each in problems(await seen(world))] == ["Unseen"]
    await world.settle()
    [build] = world.api.listing(MachineOSBuild)
    [builder] = world.builders.builds
    said = words(await page(world))
    assert {f"Build: {build.name}", "State: Prepared", "Configuration: rendered-worker-1"} <= {*said}
    world.builders.run(builder)
    await world.settle()
    world.pass_time(60)
    world.builders.fail(builder, step="RUN false", exit_code=7)
    await world.settle()
    said = words(await page(world))
    assert {"State: Failed", "Image: -", "Ended: 2026-11-22T12:01:00Z, 24h ago"} <= {*said}
    assert any(line.startswith("ImageBuildDegraded True BuildFailed") for line in said)
    assert any("Warning BuildFailed The build failed" in line for line in said), "Events of the MachineOSBuild"
    [problem] = problems(await seen(world))
    assert "build failed in step 'RUN false' with exit code 7" in problem.text


async def test_a_pool_of_a_machine_os_config_shows_the_image_that_nodes_get() -> None:
    world = claimed()
    await world.settle()
    world.builders.succeed(*world.builders.builds)
    await world.settle()
    image = f"registry.example.com/org/os@{DIGEST}"
    said = words(await page(world))
    assert {"State: Succeeded", f"Image: {image}", f"Pushed: {image}", "Problems: <none>"} <= {*said}
    tree = json.loads(as_json(await seen(world)))["machineOSConfig"]
    assert (tree["name"], tree["image"], tree["build"]["state"]) == ("worker", image, "Succeeded")


async def test_a_machine_os_config_that_asks_for_what_cannot_be_is_a_problem_and_told_on_the_pool() -> None:
    world = claimed()
    spec = {"spec": {"renderedImagePushSpec": "registry.example.com/a/b/c:latest"}}
    await world.api.patch(MachineOSConfig, "worker", spec, type=PatchType.MERGE)
    await world.settle()
    [problem] = problems(await seen(world))
    assert problem.text.startswith("MachineOSConfig worker: spec.renderedImagePushSpec is")
    degraded = world.conditions()["ImageBuildDegraded"]
    assert (degraded["status"], degraded["reason"]) == ("True", "ConfigurationInvalid")
    assert degraded["message"] == problem.text


async def test_what_keeps_a_builder_from_its_start_is_a_problem() -> None:
    world = claimed()
    await world.settle()
    [build] = world.builders.builds
    world.builders.wait(build, Obstacle.IMAGE, "Pod p: ErrImagePull: why")
    world.pass_time(60)
    await world.settle()
    [problem] = problems(await seen(world))
    assert problem.reason == "BuilderImageUnavailable"
    assert "ErrImagePull: why" in problem.text


async def test_what_the_api_server_refused_for_a_machine_os_config_is_a_problem() -> None:
    world = claimed()
    world.api.fail_next("create", MachineOSBuild, REFUSED)
    await world.settle()
    [problem] = problems(await seen(world))
    assert problem.reason == "BuilderRefused"
    assert "you may not" in problem.text


async def test_a_machine_os_config_that_cannot_be_read_is_named() -> None:
    world = claimed()
    await world.settle()
    world.api.fail_next("get", MachineOSBuild, REFUSED)
    sight = await seen(world)
    assert [subject for subject, _ in sight.troubles] == ["its MachineOSConfig with its MachineOSBuild"]
    assert (sight.row.state, sight.row.claimed_by) == (State.PENDING, "worker")


async def test_without_openshifts_builds_jobs_are_the_default() -> None:
    cluster = Cluster()
    cluster.api.uninstall(Build)
    assert "Backend: job (the default here)" in words(await page(cluster))


async def test_builds_on_the_machine_of_a_controller_are_not_called_a_problem() -> None:
    cluster = Cluster()
    await cluster.reconcile()
    patch = {"data": {"imageBuilderType": "local"}}
    await cluster.api.patch(ConfigMap, BUILDER_CONFIG, patch, type=PatchType.MERGE, namespace=NAMESPACE)
    assert await reasons(cluster) == []
    assert "Backend: local" in words(await page(cluster))


@pytest.mark.parametrize(
    ("kind", "missing"),
    [(ConfigMap, ["what it asks for"]), (Event, ["its Events"]), (Secret, []), (MachineOSConfig, [])],
)
async def test_what_may_not_be_read_is_left_out_and_named(kind: Any, missing: list[str]) -> None:
    cluster = Cluster()
    await cluster.end(FAILED)
    cluster.api.fail_next("list", kind, REFUSED, times=2)
    sight = await seen(cluster)
    assert [subject for subject, _ in sight.troubles] == missing
    assert sight.row.state is State.FAILED


async def test_programs_get_all_of_it() -> None:
    cluster = Cluster()
    await cluster.end(FAILED)
    tree = json.loads(as_json(await seen(cluster)))
    assert (tree["pool"], tree["state"], tree["upToDate"]) == ("worker", "failed", False)
    assert tree["request"]["target"] == TARGET
    assert tree["builds"][0]["failure"]["exitCode"] == 7
    assert tree["builds"][0]["inputs"] == tree["inputs"]
    assert [each["type"] for each in tree["conditions"]] == ["BuildPending", "Building", "BuildSuccess", "BuildFailed"]
    assert tree["problems"][0]["reason"] == "StepFailed"
    assert tree["events"][-1]["reason"] == "BuildFailed"
    assert tree["unavailable"] == []


@pytest.mark.parametrize("named", ["", "rhel-10", "rhel-11"], ids=["default", "named", "unknown"])
async def test_the_stream_of_a_pool_is_shown(named: str) -> None:
    world = World(kinds=(OSImageStream,))
    world.api.load(stream_tree())
    world.add_pool()
    if named:
        await world.patch_pool({"spec": {"osImageStream": {"name": named}}})
    await world.settle()
    shown = named or "rhel-9"
    assert f"Stream: {shown}" in words(await page(world))
    assert json.loads(as_json(await seen(world)))["request"]["stream"] == shown


async def test_where_there_are_no_streams_none_is_shown() -> None:
    assert "Stream" not in await page(Cluster())


async def test_there_is_no_page_of_a_pool_that_does_not_exist() -> None:
    assert await look(Cluster().api, "nobody") is None
