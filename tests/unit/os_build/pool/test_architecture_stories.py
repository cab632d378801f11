"""Stories of pools whose Nodes are of several architectures: a builder for each, and one list of their images."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.os_build.world import TARGET, World, claimed, machine_config, machine_os_config
from windlass.api.core import Event, Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.plan import RequeueAfter
from windlass.os_build.builder import Cause, Obstacle, Phase
from windlass.os_build.constants import ARCHITECTURES, IMAGE
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.registry.answers import Denied, Found, Gone, NotAsked, Refused, Shown, Unlisted

AMD, ARM, S390 = (f"sha256:{digit * 64}" for digit in "abc")
DIGESTS = {"amd64": AMD, "arm64": ARM, "s390x": S390}
BASE = "sha256:" + "0" * 64
OTHER = "sha256:" + "1" * 64


def mixed(*architectures: str) -> World:
    """An opted-in pool with a Node of each architecture, in a cluster that has others, too."""
    world = World()
    world.add_pool()
    world.add_pool("infra", annotations={})
    world.add_nodes(*architectures)
    world.add_nodes("ppc64le", pool="infra")
    return world


def builds(world: World) -> dict[str, str]:
    """The builders by architecture."""
    return {build.architecture: name for name, build in world.builders.builds.items()}


def succeed(world: World, *architectures: str) -> None:
    for architecture in architectures:
        world.builders.succeed(builds(world)[architecture], digest=DIGESTS[architecture])


async def listed(world: World, *architectures: str) -> str:
    """Build the list; returns the image."""
    await world.settle("worker")
    succeed(world, *architectures)
    await world.settle("worker")
    return world.image()


def pushed(world: World) -> list[Mapping[str, str]]:
    return [dict(each.images) for each in world.process.registries.lists]


def notes(world: World, reason: str) -> list[str]:
    events = (each.decode() for each in world.api.listing(Event))
    return [event.message for event in events if event.reason == reason]


async def test_each_architecture_has_a_builder_on_its_nodes_and_one_list_names_their_images() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    names = builds(world)
    assert sorted(names) == ["amd64", "arm64"]
    orders = {architecture: world.builders.orders[name] for architecture, name in names.items()}
    assert {name: order.request.architecture for name, order in orders.items()} == {"amd64": "amd64", "arm64": "arm64"}
    tags = {architecture: order.image.removeprefix(f"{TARGET}:") for architecture, order in orders.items()}
    base = tags["amd64"].removesuffix("-amd64")
    assert tags == {"amd64": f"{base}-amd64", "arm64": f"{base}-arm64"}
    assert world.says()[2].endswith("amd64: pending, arm64: pending")
    succeed(world, "arm64")
    await world.settle("worker")
    assert world.says()[:2] == ("Building", "BuildRunning")
    assert world.says()[2].endswith("amd64: pending, arm64: succeeded")
    assert (pushed(world), world.image()) == ([], "")
    succeed(world, "amd64")
    await world.settle("worker")
    assert pushed(world) == [{"amd64": AMD, "arm64": ARM}]
    [wanted] = world.process.registries.lists
    assert wanted.tag == f"{base}-amd64-arm64", "an earlier image keeps its tag"
    assert world.says()[:2] == ("BuildSuccess", "BuildSucceeded")
    assert world.image() not in (f"{TARGET}@{AMD}", f"{TARGET}@{ARM}", "")
    assert world.builders.builds == {}
    assert notes(world, "BuildCompleted")[0].endswith("is built from rendered-worker-1 for amd64, arm64")


async def test_a_pool_of_one_architecture_in_a_cluster_of_it_is_built_as_ever() -> None:
    plain, one = World(), World()
    for world in (plain, one):
        world.add_pool()
    one.add_nodes("amd64")
    for world in (plain, one):
        await world.settle("worker")
    [left], [right] = plain.builders.orders.values(), one.builders.orders.values()
    assert left == right
    assert (right.part_of, right.request.architecture) == ("", "")


async def test_a_pool_of_one_architecture_in_a_mixed_cluster_has_one_builder_on_its_nodes_and_no_list() -> None:
    plain, world = World(), mixed("arm64")
    plain.add_pool()
    await plain.settle("worker")
    await world.settle("worker")
    [order] = world.builders.orders.values()
    assert order.request.architecture == "arm64"
    assert list(world.builders.builds) == list(plain.builders.builds), "its name is the same"
    world.process.registries.shown[ARM] = Shown(ARM, ("arm64",))
    succeed(world, "arm64")
    await world.settle("worker")
    assert world.image() == f"{TARGET}@{ARM}"
    assert pushed(world) == []


async def test_an_image_for_another_architecture_than_its_nodes_is_never_recorded() -> None:
    world = mixed("arm64")
    await world.settle("worker")
    world.process.registries.shown[ARM] = Shown(ARM, ("amd64",))
    succeed(world, "arm64")
    await world.settle("worker")
    condition, reason, message = world.says()
    assert (condition, reason, world.image()) == ("BuildFailed", "WrongArchitecture", "")
    assert message.startswith("On arm64, the image is for another architecture")
    assert f"{TARGET}@{ARM} is for amd64" in message


@pytest.mark.parametrize("fails", ["amd64", "arm64"])
async def test_one_that_fails_fails_the_image_and_is_named(fails: str) -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    world.builders.run(builds(world)["amd64"])
    world.builders.run(builds(world)["arm64"])
    world.builders.fail(builds(world)[fails], Cause.STEP, step="RUN make", exit_code=2)
    await world.settle("worker")
    condition, reason, message = world.says()
    assert (condition, reason) == ("BuildFailed", "StepFailed")
    assert message.startswith(f"On {fails}, the build failed in step 'RUN make' with exit code 2 (attempt 1 of 4)")
    assert notes(world, "BuildFailed")[0].startswith(f"On {fails}, ")
    assert len(world.builders.builds) == 2, "the other one goes on"


async def test_the_next_attempt_builds_the_missing_architecture_alone() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    succeed(world, "amd64")
    world.builders.fail(builds(world)["arm64"], Cause.DISK)
    await world.settle("worker")
    assert world.says()[:2] == ("BuildPending", "Retrying")
    assert "On arm64, " in world.says()[2]
    world.pass_time(16)
    await world.settle("worker")
    assert [each.architecture for each in world.builders.builds.values()] == ["amd64", "arm64"]
    assert world.builders.begun[2:] == [f"{world.builders.begun[1]}-2"]
    succeed(world, "arm64")
    await world.settle("worker")
    assert pushed(world) == [{"amd64": AMD, "arm64": ARM}]


async def test_after_the_last_attempt_the_missing_architecture_alone_begins_anew() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    succeed(world, "amd64")
    for pause in (15, 60, 240, 1800):
        world.builders.fail(builds(world)["arm64"], Cause.UNREACHABLE)
        await world.settle("worker")
        world.pass_time(pause + 1)
        await world.settle("worker")
    succeed(world, "arm64")
    await world.settle("worker")
    assert world.says()[0] == "BuildSuccess"
    assert [each for each in world.builders.begun if "amd64" in each] == world.builders.begun[:1]


async def test_one_that_is_lost_is_built_again_alone() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    succeed(world, "amd64")
    world.builders.lose(builds(world)["arm64"])
    await world.settle("worker")
    world.pass_time(11)
    await world.settle("worker")
    assert world.builders.begun.count(builds(world)["amd64"]) == 1
    assert world.builders.begun.count(builds(world)["arm64"]) == 2


async def test_one_that_does_not_start_is_told_although_the_other_runs() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    world.builders.run(builds(world)["amd64"])
    world.builders.wait(builds(world)["arm64"], Obstacle.UNSCHEDULABLE, "0/3 nodes match the node selector")
    world.pass_time(46)
    await world.settle("worker")
    assert world.says()[1] == "BuilderUnschedulable"
    assert "0/3 nodes match" in world.says()[2]
    assert "arm64" in world.says()[2]


async def test_a_node_of_another_architecture_has_the_image_built_anew_and_says_why() -> None:
    world = mixed("amd64")
    await world.settle("worker")
    world.process.registries.shown[AMD] = Shown(AMD, ("amd64",))
    succeed(world, "amd64")
    await world.settle("worker")
    assert world.image() == f"{TARGET}@{AMD}"
    world.add_nodes("arm64")
    await world.settle("worker")
    assert sorted(builds(world)) == ["amd64", "arm64"]
    assert world.says()[2].endswith("; the image that there is is not for arm64")
    assert world.image() == f"{TARGET}@{AMD}", "the image that nodes have stays until there is another one"
    image = await listed(world, "amd64", "arm64")
    assert image.startswith(f"{TARGET}@sha256:")
    assert pushed(world) == [{"amd64": AMD, "arm64": ARM}]


async def test_nodes_that_go_and_come_back_have_nothing_built() -> None:
    world = mixed("amd64", "arm64")
    image = await listed(world, "amd64", "arm64")
    begun = list(world.builders.begun)
    await world.api.delete(Node, "worker-arm64")
    await world.settle("worker")
    assert world.says()[0] == "BuildSuccess"
    world.add_nodes("arm64")
    await world.settle("worker")
    assert (world.image(), world.builders.begun) == (image, begun)


@pytest.mark.parametrize("answer", [NotAsked("it does not answer"), Gone("it is gone"), Denied("not you")])
async def test_an_image_that_the_registry_does_not_show_is_not_built_again(answer: Any) -> None:
    world = mixed("amd64")
    await world.settle("worker")
    world.process.registries.shown[AMD] = Shown(AMD, ("amd64",))
    succeed(world, "amd64")
    await world.settle("worker")
    world.restart()
    world.process.registries.shown[AMD] = answer
    world.add_nodes("arm64")
    ending = await world.settle("worker")
    assert (world.says()[0], world.builders.builds) == ("BuildSuccess", {})
    if not isinstance(answer, Gone):
        assert isinstance(ending.next, RequeueAfter), "the registry is asked again"
        world.process.registries.shown[AMD] = Shown(AMD, ("amd64",))
        await world.settle("worker")
        assert sorted(builds(world)) == ["amd64", "arm64"]


async def test_a_node_that_joins_in_mid_build_adds_its_architecture() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    succeed(world, "amd64")
    world.add_nodes("s390x")
    await world.settle("worker")
    assert sorted(builds(world)) == ["amd64", "arm64", "s390x"]
    succeed(world, "arm64", "s390x")
    await world.settle("worker")
    assert pushed(world) == [DIGESTS]
    assert len(world.builders.begun) == 3


async def test_the_last_node_of_an_architecture_that_goes_in_mid_build_leaves_one_builder() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    await world.api.delete(Node, "worker-arm64")
    await world.settle("worker")
    [build] = world.builders.builds.values()
    assert (build.architecture, build.part_of) == ("amd64", "")


async def test_an_annotation_names_architectures_of_nodes_that_are_still_to_come() -> None:
    world = World()
    world.add_pool()
    world.add_nodes("amd64")
    await world.patch_pool({"metadata": {"annotations": {ARCHITECTURES: "arm64"}}})
    await world.settle("worker")
    assert sorted(builds(world)) == ["amd64", "arm64"]


async def test_a_base_image_that_is_not_for_an_architecture_is_told_before_any_build() -> None:
    world = mixed("amd64", "arm64")
    world.process.registries.shown[BASE] = Shown(BASE, ("amd64", "s390x"))
    ending = await world.settle("worker")
    condition, reason, message = world.says()
    assert (condition, reason, world.builders.begun) == ("BuildFailed", "WrongArchitecture", [])
    assert message.startswith(
        f"the base image registry.example.com/base/os@{BASE} of rendered-worker-1 is for amd64, s390x"
    )
    assert "and pool worker needs arm64: " in message
    assert isinstance(ending.next, RequeueAfter)
    world.restart()
    world.process.registries.shown[BASE] = Shown(BASE, ("amd64", "arm64"))
    await world.settle("worker")
    assert sorted(builds(world)) == ["amd64", "arm64"]


async def test_so_is_an_image_with_packages() -> None:
    world = mixed("amd64", "arm64")
    world.apply_by = ApplyBy.IGNITION
    packages = "registry.example.com/base/extensions"
    spec = {"extensions": ["usbguard"], "baseOSExtensionsContainerImage": f"{packages}@{OTHER}"}
    world.api.load(machine_config("rendered-worker-1", **spec))
    world.restart()
    world.process.registries.shown |= {
        BASE: Shown(BASE, ("amd64", "arm64")),
        OTHER: Shown(OTHER, ("arm64",)),
    }
    await world.settle("worker")
    condition, reason, message = world.says()
    assert (condition, reason, world.builders.begun) == ("BuildFailed", "WrongArchitecture", [])
    assert message.startswith(f"the extensions image {packages}@{OTHER} of rendered-worker-1 is for arm64, and pool")
    world.restart()
    world.process.registries.shown[OTHER] = Shown(OTHER, ("amd64", "arm64"))
    await world.settle("worker")
    assert sorted(builds(world)) == ["amd64", "arm64"]


async def test_an_image_that_is_gone_before_its_list_is_pushed_is_built_again_alone() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    succeed(world, "amd64", "arm64")
    world.process.registries.joined = Unlisted("arm64", "it is not in the registry")
    await world.settle("worker")
    assert world.builders.begun.count(builds(world)["arm64"]) == 2
    assert world.builders.begun.count(builds(world)["amd64"]) == 1
    world.process.registries.joined = None
    world.pass_time(60)
    succeed(world, "arm64")
    await world.settle("worker")
    assert pushed(world) == [{"amd64": AMD, "arm64": ARM}] * 2, "the same digest, and another occasion"
    assert world.says()[0] == "BuildSuccess"


async def test_an_image_for_another_architecture_than_its_builder_fails_the_list() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    succeed(world, "amd64", "arm64")
    world.process.registries.joined = Unlisted("arm64", "os@sha256:b, built on arm64, is for amd64", "amd64")
    await world.settle("worker")
    condition, reason, message = world.says()
    assert (condition, reason, world.image()) == ("BuildFailed", "WrongArchitecture", "")
    assert message.startswith("On arm64, the image is for another architecture")
    assert "built on arm64, is for amd64" in message


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Refused("the registry takes no list"), "ImageRefused"),
        (Denied("the registry does not take the list"), "PushDenied"),
        (NotAsked("no answer within 9 s"), "RegistryUnavailable"),
    ],
)
async def test_a_list_that_is_not_taken_is_told_and_pushed_again(answer: Any, reason: str) -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    succeed(world, "amd64", "arm64")
    world.process.registries.joined = answer
    await world.settle("worker")
    if isinstance(answer, NotAsked):
        assert world.says()[:2] == ("Building", "BuildRunning"), "it may pass in a moment"
        world.pass_time(46)
        world.process.registries.forget()
    ending = await world.settle("worker")
    assert world.says()[:2] == ("BuildFailed", reason)
    assert answer.text in world.says()[2]
    assert isinstance(ending.next, RequeueAfter)
    world.process.registries.joined = None
    world.process.registries.forget()
    await world.settle("worker")
    assert world.says()[0] == "BuildSuccess"
    assert len(world.builders.begun) == 2


async def test_a_restart_in_any_state_builds_nothing_twice() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    world.restart()
    await world.settle("worker")
    succeed(world, "arm64")
    world.restart()
    await world.settle("worker")
    succeed(world, "amd64")
    world.restart()
    await world.settle("worker")
    assert world.says()[0] == "BuildSuccess"
    world.restart()
    await world.settle("worker")
    assert len(world.builders.begun) == 2


def mixed_claim(**spec: Any) -> World:
    world = claimed()
    world.add_pool("infra", annotations={})
    world.add_nodes("amd64", "arm64")
    if spec:
        world.api.load(machine_os_config(**spec))
    return world


def image_of_config(world: World) -> str:
    found = world.api.peek(MachineOSConfig, "worker")
    assert found is not None
    return found.decode().status.current_image_pull_spec


async def test_the_list_of_a_machine_os_config_is_pushed_under_the_name_of_its_build() -> None:
    world = mixed_claim()
    await world.settle("worker")
    [build] = world.api.listing(MachineOSBuild)
    tags = {name: order.image.rpartition(":")[2] for name, order in world.builders.orders.items()}
    assert sorted(tags.values()) == [f"{build.name}-amd64", f"{build.name}-arm64"]
    world.process.registries.found = Found(AMD)
    await listed(world, "amd64", "arm64")
    [wanted] = world.process.registries.lists
    assert wanted.tag == build.name
    assert image_of_config(world).startswith(f"{TARGET}@sha256:")


async def test_a_containerfile_of_a_machine_os_config_counts_for_its_architecture() -> None:
    entries = [{"containerfileArch": name, "content": f"RUN echo {name}"} for name in ("AMD64", "ARM64")]
    world = mixed_claim(containerFile=entries)
    await world.settle("worker")
    text = {order.request.architecture: order.context.containerfile for order in world.builders.orders.values()}
    assert "RUN echo AMD64" in text["amd64"]
    assert "RUN echo ARM64" not in text["amd64"]
    assert "RUN echo ARM64" in text["arm64"]


async def test_a_machine_os_config_without_a_containerfile_for_an_architecture_is_told() -> None:
    world = mixed_claim(containerFile=[{"containerfileArch": "AMD64", "content": "RUN true"}])
    await world.settle("worker")
    message = world.conditions()["ImageBuildDegraded"]["message"]
    assert "add an entry with containerfileArch ARM64 or NoArch" in message
    assert world.builders.begun == []


@pytest.mark.parametrize("known", [True, False], ids=["the registry shows it", "the registry does not tell"])
async def test_the_image_of_a_machine_os_config_is_built_anew_for_another_architecture(known: bool) -> None:
    world = claimed()
    world.add_nodes("amd64")
    await world.settle("worker")
    [name] = world.builders.builds
    world.builders.succeed(name, digest=AMD)
    await world.settle("worker")
    assert image_of_config(world) == f"{TARGET}@{AMD}"
    if known:
        world.process.registries.shown[AMD] = Shown(AMD, ("amd64",))
    world.add_nodes("arm64")
    await world.settle("worker")
    assert image_of_config(world) == f"{TARGET}@{AMD}", "nodes keep theirs"
    assert sorted(builds(world)) == (["amd64", "arm64"] if known else [])
    if known:
        [note] = notes(world, "ArchitectureMissing")
        assert note == "Building the image again: its image is not for arm64, and Nodes of the pool are"
        world.process.registries.found = Found(AMD)
        await listed(world, "amd64", "arm64")
        assert image_of_config(world) not in (f"{TARGET}@{AMD}", "")


async def test_a_failure_of_one_architecture_reads_on_the_machine_os_build() -> None:
    world = mixed_claim()
    await world.settle("worker")
    world.builders.fail(builds(world)["arm64"], Cause.STEP, step="RUN make", exit_code=2)
    await world.settle("worker")
    [build] = world.api.listing(MachineOSBuild)
    conditions = {each.type: each for each in build.decode().status.conditions}
    assert conditions["Failed"].status == "True"
    assert conditions["Failed"].message.startswith("On arm64, the build failed in step 'RUN make'")


async def test_opting_out_removes_the_builders_of_all_architectures() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    await world.patch_pool({"metadata": {"annotations": None}})
    await world.settle("worker")
    assert world.builders.builds == {}


async def test_a_pool_that_is_gone_leaves_no_builder_of_any_architecture() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    await world.api.delete(MachineConfigPool, "worker")
    await world.settle("worker")
    assert world.builders.builds == {}
    assert IMAGE not in world.annotations("infra")


async def test_an_overdue_builder_alone_is_cancelled() -> None:
    world = mixed("amd64", "arm64")
    await world.settle("worker")
    for name in builds(world).values():
        world.builders.run(name)
    world.builders.doom(builds(world)["arm64"], Cause.EVICTED)
    await world.settle("worker")
    phases = {build.architecture: build.phase for build in world.builders.builds.values()}
    assert phases == {"amd64": Phase.RUNNING, "arm64": Phase.FAILED}


async def test_an_image_that_lacks_an_architecture_is_not_taken_for_another_configuration() -> None:
    world = claimed()
    world.add_nodes("amd64")
    await world.settle("worker")
    [name] = world.builders.builds
    world.builders.succeed(name, digest=AMD)
    world.process.registries.found = Found(AMD)
    await world.settle("worker")
    world.process.registries.shown[AMD] = Shown(AMD, ("amd64",))
    world.add_nodes("arm64")
    # Only a file is another one: an image for all Nodes would be taken.
    world.api.load(machine_config("rendered-worker-2"))
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-2"}}})
    await world.settle("worker")
    assert sorted(builds(world)) == ["amd64", "arm64"]
