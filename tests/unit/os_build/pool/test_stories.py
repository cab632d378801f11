"""Stories of a pool, from opting in to opting out, on a model of the API server and builders stepped by hand."""

from typing import Any

import pytest

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import TARGET, World, config_map, machine_config, secret
from windlass.api.core import ConfigMap, Event, Secret
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.kube.control.plan import RequeueAfter
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import ATTEMPTS, Cause, Phase
from windlass.os_build.constants import (
    BUILDER_CONFIG,
    BUILDER_CONFIG_ALIAS,
    CONTAINERFILES,
    IMAGE,
    IMAGE_ALIAS,
    IMAGE_CONFIG,
    IMAGE_INPUTS,
    LAYERING,
    NAMESPACE,
    OS_IMAGES,
    REBUILD,
    RESULT,
)
from windlass.os_build.registry.answers import Answer, Found, Kind
from windlass.os_build.request import BackendName

IMAGE_OF = f"{TARGET}@{DIGEST}"
OURS = ("BuildPending", "Building", "BuildSuccess", "BuildFailed")


@pytest.fixture
def world() -> World:
    return World()


async def built(world: World, name: str = "worker") -> str:
    """Build the image of the pool; returns the name of the build."""
    await world.settle(name)
    [build] = [each.name for each in world.builders.builds.values() if each.pool == name and not each.is_over]
    world.builders.run(build)
    await world.settle(name)
    world.builders.succeed(build)
    await world.settle(name)
    return build


async def change(world: World, config: str, name: str = "worker") -> None:
    """The Machine Config Operator renders another configuration."""
    world.api.load(machine_config(config))
    await world.patch_pool({"spec": {"configuration": {"name": config}}}, name)


def events(world: World) -> list[str]:
    return [each.decode().reason for each in world.api.listing(Event)]


async def test_pools_that_are_not_opted_in_are_left_alone(world: World) -> None:
    world.add_pool("worker", annotations={})
    world.add_pool("infra", annotations={}, labels={"unrelated": "label"})
    before = world.api.version
    await world.settle()
    assert world.api.version == before
    assert world.builders.begun == []


@pytest.mark.parametrize("where", ["annotations", "labels"])
async def test_conditions_follow_the_build_and_the_result_is_on_the_pool(world: World, where: str) -> None:
    metadata: dict[str, Any] = {"annotations": {}, where: {LAYERING: "anything"}}
    world.add_pool(**metadata)
    await world.settle()
    [build] = world.builders.builds
    assert world.says()[:2] == ("BuildPending", "BuildPending")
    world.builders.run(build)
    await world.settle()
    assert world.says()[:2] == ("Building", "BuildRunning")
    assert world.image() == ""
    world.builders.succeed(build)
    await world.settle()
    assert world.says() == ("BuildSuccess", "BuildSucceeded", f"{IMAGE_OF} is built from rendered-worker-1")
    written = world.annotations()
    assert (written[IMAGE], written[IMAGE_ALIAS], written[IMAGE_CONFIG]) == (IMAGE_OF, IMAGE_OF, "rendered-worker-1")
    assert world.builders.builds == {}
    assert world.pool()["spec"]["configuration"]["source"], "the sources of the operator stay"
    assert world.conditions()["Updated"]["status"] == "True"
    assert sorted(events(world)) == ["BuildCompleted", "BuildStarted"]


async def test_a_build_that_was_never_seen_running_leaves_no_old_condition_true(world: World) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.succeed(build)
    await world.settle()
    assert [each for each in world.true() if each in OURS] == ["BuildSuccess"]


async def test_a_failure_reads_on_the_pool_and_its_builder_stays(world: World) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.fail(build, Cause.STEP, step="RUN dnf install nosuch", exit_code=1, tail="Error: No match")
    await world.settle()
    condition, reason, message = world.says()
    assert (condition, reason) == ("BuildFailed", "StepFailed")
    for part in ("RUN dnf install nosuch", "1", "attempt 1 of 4", "Error: No match"):
        assert part in message
    assert list(world.builders.builds) == [build]
    assert "Degraded" not in world.conditions()
    version = world.api.version
    world.restart()
    await world.settle()
    assert world.api.version == version
    assert world.builders.begun == [build], "the same inputs are not built again"


@pytest.mark.parametrize(
    "blocking", ["RenderDegraded", "NodeDegraded", "PinnedImageSetsDegraded", "PoolSynchronizerDegraded"]
)
async def test_a_degraded_pool_starts_no_build_and_says_why(world: World, blocking: str) -> None:
    world.add_pool()
    degraded = {"type": blocking, "status": "True", "reason": "", "message": "node-1 is broken"}
    await world.patch_pool({"status": {"conditions": [degraded]}}, subresource="status")
    await world.settle()
    assert world.builders.begun == []
    assert world.says() == ("", "PoolDegraded", f"No build starts while {blocking} is True: node-1 is broken")
    healed = [{**each, "status": "False"} if each["type"] == blocking else each for each in world.conditions().values()]
    await world.patch_pool({"status": {"conditions": healed}}, subresource="status")
    await world.settle()
    assert len(world.builders.begun) == 1


async def test_degraded_alone_holds_nothing_back_and_stays(world: World) -> None:
    """Deviation: upstream's first builder started none. A failed build may be the cause of `Degraded`."""
    world.add_pool()
    degraded = {"type": "Degraded", "status": "True", "reason": "", "message": ""}
    await world.patch_pool({"status": {"conditions": [degraded]}}, subresource="status")
    await built(world)
    assert world.conditions()["Degraded"]["status"] == "True"


@pytest.mark.parametrize("phase", ["resting", "pending", "running", "succeeded", "failed", "built"])
@pytest.mark.parametrize("end", ["opt-out", "deletion"])
async def test_nothing_is_left_in_any_phase(phase: str, end: str) -> None:
    world = World(debounce=60.0 if phase == "resting" else 0.0)
    world.add_pool()
    await world.settle()
    for build in list(world.builders.builds):
        if phase == "running":
            world.builders.run(build)
        elif phase == "failed":
            world.builders.fail(build)
        elif phase in ("succeeded", "built"):
            world.builders.succeed(build)
        if phase != "succeeded":
            await world.settle()
    if end == "opt-out":
        await world.patch_pool({"metadata": {"annotations": {LAYERING: None}}})
    else:
        await world.api.delete(MachineConfigPool, "worker")
    await world.settle("worker")
    assert world.builders.builds == {}
    if end == "opt-out":
        assert not set(RESULT) & set(world.annotations())
        assert set(world.conditions()) == {"Updated"}


async def test_an_unrelated_change_of_a_built_pool_writes_nothing(world: World) -> None:
    world.add_pool()
    await built(world)
    await world.patch_pool({"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}})
    version, begun = world.api.version, list(world.builders.begun)
    await world.settle()
    assert (world.api.version, world.builders.begun) == (version, begun)


async def test_nine_configurations_in_a_row_are_each_built(world: World) -> None:
    world.add_pool()
    await built(world)
    for number in range(2, 10):
        await change(world, f"rendered-worker-{number}")
        await built(world)
        assert world.annotations()[IMAGE_CONFIG] == f"rendered-worker-{number}"
    assert len(world.builders.begun) == 9
    assert world.pool()["spec"]["configuration"]["source"]


async def test_two_pools_do_not_know_of_each_other(world: World) -> None:
    world.add_pool("worker")
    world.add_pool("infra")
    await world.settle()
    of_pool = {build.pool: build.name for build in world.builders.builds.values()}
    world.builders.fail(of_pool["worker"])
    world.builders.succeed(of_pool["infra"])
    await world.settle()
    assert (world.says("worker")[0], world.says("infra")[0]) == ("BuildFailed", "BuildSuccess")


async def test_changes_in_mid_build_leave_one_builder_and_make_one_image(world: World) -> None:
    world.add_pool()
    await world.settle()
    [first] = world.builders.builds
    world.builders.run(first)
    for number in (2, 3):
        await change(world, f"rendered-worker-{number}")
        await world.settle()
        assert len(world.builders.builds) == 1
    await built(world)
    assert world.annotations()[IMAGE_CONFIG] == "rendered-worker-3"
    assert first not in world.builders.builds


async def test_a_failure_does_not_stick_to_other_inputs(world: World) -> None:
    world.add_pool()
    await world.settle()
    [failed] = world.builders.builds
    world.builders.fail(failed)
    await world.settle()
    world.api.load(config_map(CONTAINERFILES, worker="RUN true"))
    await built(world)
    assert world.says()[0] == "BuildSuccess"
    assert failed not in world.builders.builds


async def test_a_change_while_the_process_was_down_is_built(world: World) -> None:
    world.add_pool()
    await built(world)
    await change(world, "rendered-worker-2")
    world.restart()
    await built(world)
    assert world.annotations()[IMAGE_CONFIG] == "rendered-worker-2"


@pytest.mark.parametrize("ended", [False, True], ids=["it still runs", "it ended meanwhile"])
async def test_a_restarted_process_goes_on_with_the_build_that_runs(world: World, ended: bool) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.run(build)
    if ended:
        world.builders.succeed(build)
    world.restart()
    await world.settle()
    assert world.builders.begun == [build]
    assert world.says()[0] == ("BuildSuccess" if ended else "Building")


async def test_a_transient_failure_is_tried_again_three_times_and_then_each_half_hour(world: World) -> None:
    world.add_pool()
    for attempt in range(1, ATTEMPTS + 1):
        await world.settle()
        [build] = [each for each in world.builders.builds.values() if not each.is_over]
        assert build.attempt == attempt
        world.builders.fail(build.name, Cause.UNREACHABLE, tail="connection refused")
        ending = await world.settle()
        condition, reason, message = world.says()
        if attempt < ATTEMPTS:
            assert (condition, reason) == ("BuildPending", "Retrying")
            assert f"Attempt {attempt + 1} of 4" in message
            assert isinstance(ending.next, RequeueAfter)
            world.pass_time(ending.next.seconds)
    assert (condition, reason) == ("BuildFailed", "RegistryUnavailable")
    assert "connection refused" in message
    assert "It is built again at 2026-11-22T12:35:15Z." in message
    for outages in range(1, 4):
        ending = await world.settle()
        assert isinstance(ending.next, RequeueAfter)
        world.pass_time(ending.next.seconds - 1)
        await world.settle()
        assert len(world.builders.begun) == ATTEMPTS + outages - 1
        world.pass_time(1)
        await world.settle()
        assert (len(world.builders.begun), len(world.builders.builds)) == (ATTEMPTS + outages, ATTEMPTS)
        [build] = [each for each in world.builders.builds.values() if not each.is_over]
        world.builders.fail(build.name, Cause.UNREACHABLE)
    await world.settle()
    world.pass_time(1800)
    await built(world)
    assert world.says()[0] == "BuildSuccess"


async def test_what_the_infrastructure_lost_begins_again_and_counts_as_no_attempt(world: World) -> None:
    world.add_pool()
    await world.settle()
    for pause in (10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800, 1800):
        [build] = world.builders.builds
        world.builders.lose(build)
        await world.settle()
        assert world.says()[:2] == ("BuildPending", "BuildInterrupted")
        world.pass_time(pause - 1)
        await world.settle()
        assert [each.phase for each in world.builders.builds.values()] == [Phase.INTERRUPTED]
        world.pass_time(1)
        await world.settle()
        assert [each.phase for each in world.builders.builds.values()] == [Phase.PENDING]
    assert {each.attempt for each in world.builders.builds.values()} == {1}


async def test_a_build_that_is_lost_after_a_success_waits_no_longer_than_the_first(world: World) -> None:
    world.add_pool()
    await world.settle()

    async def lose(pause: float) -> None:
        [build] = world.builders.builds
        world.builders.lose(build)
        await world.settle()
        world.pass_time(pause)
        await world.settle()
        assert [each.phase for each in world.builders.builds.values()] == [Phase.PENDING]

    await lose(10)
    await lose(20)
    await built(world)
    # Somebody removes the result, and the same is built again.
    await world.patch_pool({"metadata": {"annotations": dict.fromkeys(RESULT)}})
    await world.settle()
    await lose(10)


@pytest.mark.parametrize(
    ("kind", "reason"), [(Kind.DENIED, "PushDenied"), (Kind.UNKNOWN, "RepositoryUnknown")], ids=["denied", "unknown"]
)
async def test_refused_credentials_start_no_builder_until_the_secret_changes(
    world: World, kind: Kind, reason: str
) -> None:
    world.add_pool()
    world.process.registries.answer = Answer(kind, "registry.example.com refuses Secret push")
    await world.settle()
    assert world.says() == ("BuildFailed", reason, "registry.example.com refuses Secret push")
    await world.settle()
    assert (world.builders.begun, len(world.process.registries.probes)) == ([], 1)
    world.process.registries.answer = Answer(Kind.GRANTED, "")
    renewed = secret("push", {"auths": {"registry.example.com": {"auth": "bmV3OnA="}}})
    await world.api.patch(Secret, "push", {"data": renewed["data"]}, type=PatchType.MERGE, namespace=NAMESPACE)
    await built(world)
    assert world.says()[0] == "BuildSuccess"


async def test_a_registry_that_cannot_be_asked_holds_nothing_back(world: World) -> None:
    world.add_pool()
    world.process.registries.answer = Answer(Kind.NOT_ASKED, "no route")
    await built(world)


@pytest.mark.parametrize("cause", [Cause.PUSH_DENIED, Cause.PULL_DENIED, Cause.STEP])
async def test_other_credentials_heal_what_they_can_and_a_touch_of_their_secret_heals_nothing(
    world: World, cause: Cause
) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.fail(build, cause)
    await world.settle()
    touched = {"metadata": {"labels": {"a": "b"}}}
    await world.api.patch(Secret, "pull", touched, type=PatchType.MERGE, namespace=NAMESPACE)
    await world.settle()
    assert len(world.builders.begun) == 1
    renewed = secret("pull", {"auths": {"registry.example.com": {"auth": "bmV3OnA="}}})
    await world.api.patch(Secret, "pull", {"data": renewed["data"]}, type=PatchType.MERGE, namespace=NAMESPACE)
    await world.settle()
    assert (len(world.builders.begun) == 2) == (cause != Cause.STEP)


async def test_credentials_that_a_builder_does_not_read_are_refused_before_it_starts(world: World) -> None:
    world.add_pool()
    entry = {"username": "u", "password": "p"}
    written = secret("push", {"auths": {"registry.example.com": entry, "quay.io": {"auth": "dTpw"}}})
    await world.api.patch(Secret, "push", {"data": written["data"]}, type=PatchType.MERGE, namespace=NAMESPACE)
    await world.settle()
    assert world.builders.begun == []
    assert world.says()[1] == "SecretInvalid"
    assert f"Secret {NAMESPACE}/push, which ConfigMap" in world.says()[2]
    assert "the entry registry.example.com has no auth" in world.says()[2]
    written = secret("push", {"auths": {"registry.example.com": {**entry, "auth": "dTpw"}}})
    await world.api.patch(Secret, "push", {"data": written["data"]}, type=PatchType.MERGE, namespace=NAMESPACE)
    await built(world)


async def test_the_annotation_rebuild_builds_the_same_again_and_its_removal_does_not(world: World) -> None:
    world.add_pool()
    first = await built(world)
    await world.patch_pool({"metadata": {"annotations": {REBUILD: "monday"}}})
    again = await built(world)
    assert again != first
    recorded = world.annotations()[IMAGE_INPUTS]
    await world.patch_pool({"metadata": {"annotations": {REBUILD: None}}})
    await world.settle()
    assert (world.builders.begun, world.annotations()[IMAGE_INPUTS]) == ([first, again], recorded)


async def test_a_failed_build_is_built_again_on_request(world: World) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.fail(build)
    await world.settle()
    await world.patch_pool({"metadata": {"annotations": {REBUILD: "now"}}})
    await built(world)
    assert build not in world.builders.builds


async def test_another_backend_takes_over_a_build_that_runs(world: World) -> None:
    world.add_pool()
    await world.settle()
    await world.api.patch(
        ConfigMap, BUILDER_CONFIG, {"data": {"imageBuilderType": "Job"}}, type=PatchType.MERGE, namespace=NAMESPACE
    )
    await world.settle()
    assert [each.backend for each in world.builders.builds.values()] == [BackendName.JOB]


async def test_a_changed_target_is_built(world: World) -> None:
    world.add_pool()
    await built(world)
    other = {"data": {"finalImagePullspec": "registry.example.com/other/os"}}
    await world.api.patch(ConfigMap, BUILDER_CONFIG, other, type=PatchType.MERGE, namespace=NAMESPACE)
    await built(world)
    assert world.image() == f"registry.example.com/other/os@{DIGEST}"


async def test_changes_rest_before_they_are_built() -> None:
    world = World(debounce=5.0)
    world.add_pool()
    ending = await world.settle()
    assert world.says()[:2] == ("BuildPending", "Resting")
    assert ending.next == RequeueAfter(5.0, "start the build")
    world.pass_time(3)
    await change(world, "rendered-worker-2")
    await world.settle()
    world.pass_time(3)
    await world.settle()
    assert world.builders.begun == [], "the second change began a rest of its own"
    world.pass_time(2)
    await built(world)
    assert world.annotations()[IMAGE_CONFIG] == "rendered-worker-2"


async def test_a_build_over_its_deadlines_is_cancelled(world: World) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.run(build)
    await world.settle()
    world.pass_time(2459)
    await world.settle()
    assert world.builders.builds[build].phase == Phase.RUNNING
    world.pass_time(2)
    await world.settle()
    assert world.says()[:2] == ("BuildFailed", "DeadlineExceeded")


async def test_a_digest_that_the_backend_does_not_tell_comes_from_the_registry(world: World) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.succeed(build, digest="")
    await world.settle()
    condition, reason, message = world.says()
    assert (condition, reason) == ("Building", "DigestUnknown")
    assert "does not answer" in message
    world.process.registries.found = Found(DIGEST)
    await world.settle()
    assert world.image() == IMAGE_OF


async def test_a_pool_of_a_machine_os_config_is_left_to_its_controller(world: World) -> None:
    world.add_pool()
    await world.settle()
    claim = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineOSConfig",
        "metadata": {"name": "worker"},
        "spec": {"machineConfigPool": {"name": "worker"}},
    }
    world.api.load(claim)
    await world.settle()
    assert world.builders.builds == {}
    assert set(world.conditions()) == {"Updated"}


BAD: list[Any] = [
    pytest.param(
        {}, 'missing required key "baseImagePullSecretName" in configmap machine-os-builder-config', id="no key"
    ),
    pytest.param(
        {"baseImagePullSecretName": "pull", "finalImagePushSecretName": "push", "finalImagePullspec": "org/os"},
        "has no host",
        id="no host",
    ),
    pytest.param(
        {
            "baseImagePullSecretName": "pull",
            "finalImagePushSecretName": "nosuch",
            "finalImagePullspec": TARGET,
        },
        f"Secret {NAMESPACE}/nosuch does not exist, which finalImagePushSecretName",
        id="no secret",
    ),
    pytest.param(
        {
            "baseImagePullSecretName": "pull",
            "finalImagePushSecretName": "push",
            "finalImagePullspec": TARGET,
            "imageBuilderType": "kaniko",
        },
        "imageBuilderType in ConfigMap openshift-machine-config-operator/machine-os-builder-config is 'kaniko'",
        id="unknown backend",
    ),
    pytest.param(
        {
            "baseImagePullSecretName": "pull",
            "finalImagePushSecretName": "push",
            "finalImagePullspec": TARGET,
            "imageBuilderType": "local",
        },
        "start it with --local-builds DIR",
        id="a backend that is off",
    ),
]


@pytest.mark.parametrize(("data", "text"), BAD)
async def test_bad_input_is_said_once_and_a_fix_suffices(world: World, data: dict[str, str], text: str) -> None:
    world.add_pool()
    good = world.api.peek(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)
    assert good is not None
    world.api.load(config_map(BUILDER_CONFIG, **data))
    await world.settle()
    assert world.says()[0] == "BuildFailed"
    assert text in world.says()[2]
    version = world.api.version
    await world.settle()
    assert world.api.version == version
    world.api.load(good.tree())
    await built(world)


async def test_the_older_config_map_is_read_only_if_the_other_is_missing(world: World) -> None:
    world.add_pool()
    data = {
        "baseImagePullSecretName": "pull",
        "finalImagePushSecretName": "push",
        "finalImagePullspec": "old.example.com/a/b",
    }
    world.api.load(config_map(BUILDER_CONFIG_ALIAS, **data))
    await built(world)
    assert world.image().startswith(TARGET)
    await world.api.delete(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE)
    await built(world)
    assert world.image().startswith("old.example.com/a/b@")


async def test_a_pool_without_a_rendered_config_only_waits(world: World) -> None:
    world.add_pool()
    await world.patch_pool({"spec": {"configuration": {"name": ""}}})
    await world.settle()
    assert world.says()[:2] == ("", "NotRendered")


async def test_a_config_that_cannot_be_built_is_read_once(world: World) -> None:
    world.add_pool()
    await world.api.patch(
        MachineConfig,
        "rendered-worker-1",
        {"spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "not/absolute"}]}}}},
        type=PatchType.MERGE,
    )
    await world.settle()
    assert world.says()[0] == "BuildFailed"
    assert "not/absolute" in world.says()[2]
    await world.api.delete(MachineConfig, "rendered-worker-1")
    await world.settle()
    assert "not/absolute" in world.says()[2], "the same inputs give the same problem: they are not read again"


async def test_a_removed_result_is_built_again(world: World) -> None:
    world.add_pool()
    await built(world)
    await world.patch_pool({"metadata": {"annotations": {IMAGE: None}}})
    await built(world)
    assert world.image() == IMAGE_OF


async def test_a_config_that_comes_later_is_looked_for_again(world: World) -> None:
    world.add_pool()
    await world.api.delete(MachineConfig, "rendered-worker-1")
    ending = await world.settle()
    assert world.says()[:2] == ("BuildFailed", "MachineConfigMissing")
    assert ending.next == RequeueAfter(10.0, "look for rendered-worker-1 again")
    world.api.load(machine_config("rendered-worker-1"))
    await built(world)


async def test_a_base_image_that_is_named_later_suffices(world: World) -> None:
    world.add_pool()
    await world.api.patch(MachineConfig, "rendered-worker-1", {"spec": {"osImageURL": ""}}, type=PatchType.MERGE)
    await world.settle()
    assert world.says()[:2] == ("BuildFailed", "BaseImageMissing")
    world.api.load(config_map(OS_IMAGES, baseOSContainerImage="registry.example.com/base/os:1"))
    await built(world)


async def test_the_image_of_a_paused_pool_is_built(world: World) -> None:
    world.add_pool()
    await world.patch_pool({"spec": {"paused": True}})
    await built(world)
    assert world.image() == IMAGE_OF
