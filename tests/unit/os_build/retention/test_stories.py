"""What the controller of images does in a whole cluster: to its own images, and to those of others."""

import pytest

from tests.unit.os_build.retention.images_world import (
    REFUSED,
    SILENT,
    THEIRS,
    Images,
    build_name,
    digest_of,
    recorded,
)
from tests.unit.os_build.world import TARGET, config_map, machine_config, pool
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import RequeueAfter
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.constants import CONTAINERFILES, IMAGE, LAYERING
from windlass.os_build.machine_os.conditions import State
from windlass.os_build.request import BackendName
from windlass.os_build.retention.record import BUILT


def three(world: Images) -> tuple[str, str, str]:
    """A pool that has the third of three images."""
    first, second, third = (world.push(number) for number in (1, 2, 3))
    world.add_pool(3, third, history=recorded(third, second, first))
    return first, second, third


async def test_the_image_of_a_pool_is_recorded_and_nothing_else_happens() -> None:
    world = Images()
    image = world.push(1)
    world.add_pool(1, image)
    await world.settle()
    assert world.history() == [digest_of(image)]
    assert world.registry.asked == []


async def test_what_nothing_uses_is_removed_told_and_forgotten() -> None:
    world = Images()
    first, second, third = three(world)
    await world.settle()
    assert sorted(world.registry.deleted) == sorted(map(digest_of, (first, second)))
    assert world.history() == [digest_of(third)]
    [(reason, note)] = world.events()
    assert reason == "ImagesRemoved"
    assert digest_of(first) in note


async def test_so_many_stay_as_are_to_be_kept_and_the_registry_is_not_asked_without_need() -> None:
    world = Images(keep=2)
    three(world)
    await world.settle()
    assert world.registry.asked == []
    world = Images(keep=1)
    first, *_ = three(world)
    await world.settle()
    assert world.registry.deleted == [digest_of(first)]


@pytest.mark.parametrize(
    "key", ["currentImage", "desiredImage", "rollbackImage", "lastAppliedDrain", "a-name-of-a-later-release"]
)
async def test_an_image_that_a_node_names_stays_whatever_the_annotation(key: str) -> None:
    world = Images()
    first, second, _ = three(world)
    world.add_node("worker-0", **{key: first})
    await world.settle()
    assert world.registry.deleted == [digest_of(second)]


@pytest.mark.parametrize("key", ["currentConfig", "desiredConfig"])
async def test_the_image_of_a_configuration_that_a_node_names_stays(key: str) -> None:
    world = Images()
    _, second, _ = three(world)
    world.api.load(machine_config("rendered-worker-1"))
    world.add_node("worker-0", **{key: "rendered-worker-1"})
    await world.settle()
    assert world.registry.deleted == [digest_of(second)]


async def test_an_image_that_a_rolled_out_machine_config_names_stays() -> None:
    """Without a MachineOSConfig an image is rolled out by osImageURL."""
    world = Images()
    first, second, _ = three(world)
    world.api.load(
        machine_config("rendered-infra-7", osImageURL=first), pool("infra", "rendered-infra-7", annotations={})
    )
    await world.settle()
    assert world.registry.deleted == [digest_of(second)]


async def test_an_image_that_a_containerfile_begins_with_stays() -> None:
    world = Images()
    first, second, _ = three(world)
    world.api.load(config_map(CONTAINERFILES, infra=f"FROM configs AS final\nCOPY --from={first} /a /a\n"))
    await world.settle()
    assert world.registry.deleted == [digest_of(second)]


async def test_nothing_is_removed_while_the_pool_is_being_built() -> None:
    world = Images()
    three(world)
    world.builders.builds["build"] = BuildState(
        name="build", backend=BackendName.JOB, pool="worker", inputs="abc", phase=Phase.RUNNING
    )
    ending = await world.settle()
    assert world.registry.asked == []
    assert isinstance(ending.next, RequeueAfter)


@pytest.mark.parametrize("served", [False, True])
async def test_images_of_another_cluster_in_the_same_repository_stay(served: bool) -> None:
    """Objects of another cluster were restored here: the record names its images."""
    world = Images(served=served)
    theirs = [world.push(number, cluster=THEIRS) for number in (1, 2)]
    ours = world.push(3)
    world.add_pool(3, ours, history=recorded(ours, *reversed(theirs)))
    if served:
        world.add_config(3, ours)
        for number, image in enumerate((*theirs, ours), start=1):
            world.add_build(number, image)
    await world.settle()
    assert world.registry.deleted == []
    assert len(world.builds()) == (3 if served else 0)


async def test_two_clusters_with_equal_objects_and_one_repository_leave_each_other_alone() -> None:
    ours = Images()
    theirs = Images(cluster=THEIRS, registries=ours.registries)
    images = {}
    for world in (ours, theirs):
        images[world.cluster] = [world.push(number) for number in (1, 2)]
        first, second = images[world.cluster]
        world.add_pool(2, second, history=recorded(second, first))
    await ours.settle()
    assert ours.registry.deleted == [digest_of(images["uid-of-ours"][0])]
    await theirs.settle()
    assert ours.registry.deleted == [digest_of(images["uid-of-ours"][0]), digest_of(images[THEIRS][0])]


async def test_an_image_of_a_foreign_repository_that_somebody_wrote_into_the_record_is_not_even_asked_for() -> None:
    world = Images()
    image = world.push(1)
    foreign = f"registry.example.com/prod/database@{digest_of(image)}"
    world.add_pool(1, image, history=recorded(image, foreign))
    await world.settle()
    assert world.registry.asked == []
    assert list(world.registries.repositories) == [TARGET]


async def test_a_tag_of_a_person_keeps_an_image() -> None:
    world = Images()
    first, second, _ = three(world)
    world.registry.tagged["golden"] = digest_of(first)
    await world.settle()
    assert world.registry.deleted == [digest_of(second)]


async def test_what_is_attached_to_an_image_goes_with_it() -> None:
    world = Images(keep=1)
    first, second, _ = three(world)
    signature = world.registry.push(digest_of(first).replace(":", "-") + ".sig", labels={})
    other = world.registry.push(digest_of(second).replace(":", "-") + ".sig", labels={})
    await world.settle()
    assert world.registry.deleted == [digest_of(first), signature]
    assert other in world.registry.manifests


async def test_a_list_of_contents_goes_with_its_image() -> None:
    world = Images(keep=1)
    first, *_ = three(world)
    artifact = world.registry.push("x", labels={})
    shared = world.registry.push("shared", labels={})
    del world.registry.tagged["x"]
    listing = world.registry.push_list(digest_of(first).replace(":", "-"), artifact, shared)
    await world.settle()
    assert world.registry.deleted == [digest_of(first), listing, artifact]


async def test_a_registry_that_removes_nothing_is_told_once_and_left_alone() -> None:
    world = Images()
    three(world)
    world.registry.refuses = REFUSED
    for number in range(5):
        await world.settle()
        patch = {"metadata": {"annotations": {"touched": str(number)}}}
        await world.api.patch(MachineConfigPool, "worker", patch, type=PatchType.MERGE)
    assert [reason for reason, _ in world.events()] == ["ImagesNotRemoved"]
    assert "allow that in its settings" in world.events()[0][1]
    assert len([each for each in world.registry.asked if each.startswith("DELETE")]) == 2
    assert len(world.history()) == 3


async def test_a_registry_that_does_not_answer_loses_nothing() -> None:
    world = Images()
    three(world)
    world.registry.silent = SILENT
    ending = await world.settle()
    assert isinstance(ending.next, RequeueAfter)
    assert len(world.history()) == 3
    world.registry.silent = None
    await world.settle()
    assert len(world.registry.deleted) == 2


async def test_a_process_that_dies_after_the_removal_forgets_the_image_when_it_is_back() -> None:
    world = Images()
    first, _, third = three(world)
    await world.registry.delete(digest_of(first))
    world.restart()
    await world.settle()
    assert world.history() == [digest_of(third)]


async def test_a_pool_that_changes_while_the_registry_is_looked_at_loses_nothing() -> None:
    """It may have gone back to an image that was about to be removed."""
    world = Images()
    first, *_ = three(world)

    async def goes_back() -> None:
        world.registry.before_tags = None
        patch = {"metadata": {"annotations": {IMAGE: first}}}
        await world.api.patch(MachineConfigPool, "worker", patch, type=PatchType.MERGE)

    world.registry.before_tags = goes_back
    await world.settle()
    assert digest_of(first) not in world.registry.deleted


async def test_a_node_that_gets_an_image_while_the_registry_is_looked_at_keeps_it() -> None:
    world = Images()
    first, second, _ = three(world)

    async def rolls_back() -> None:
        world.registry.before_tags = None
        world.add_node("worker-0", desiredImage=first)

    world.registry.before_tags = rolls_back
    await world.settle()
    assert world.registry.deleted == [digest_of(second)]


async def test_a_node_that_cannot_be_read_keeps_everything() -> None:
    world = Images()
    three(world)
    world.api.load({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "odd"}, "spec": {"taints": "none"}})
    ending = await world.settle()
    assert world.registry.deleted == []
    assert isinstance(ending.next, RequeueAfter)
    assert world.api.listing(Node)


async def test_a_pool_that_is_opted_out_forgets_and_removes_nothing() -> None:
    world = Images()
    three(world)
    patch = {"metadata": {"annotations": {LAYERING: None}}}
    await world.api.patch(MachineConfigPool, "worker", patch, type=PatchType.MERGE)
    await world.settle()
    assert world.registry.asked == []
    found = world.api.peek(MachineConfigPool, "worker")
    assert found is not None
    assert BUILT not in found.metadata.annotations


async def test_machine_os_builds_go_with_their_images() -> None:
    world = Images(served=True)
    images = [world.push(number) for number in (1, 2, 3)]
    world.add_pool(3, images[2])
    world.add_config(3, images[2])
    for number, image in enumerate(images, start=1):
        world.add_build(number, image)
    world.add_build(4, "", state=State.FAILED)
    world.add_node("worker-0", currentImage=images[1])
    await world.settle()
    assert world.registry.deleted == [digest_of(images[0])]
    assert world.builds() == [build_name(2), build_name(3), build_name(4)]


async def test_a_pool_whose_machine_os_config_another_process_serves_is_left_alone() -> None:
    world = Images()
    image = world.push(1)
    world.add_pool(1, image, history=recorded(image, world.push(2, tag="build-worker-" + "b" * 32)))
    world.add_config(1, image)
    await world.settle()
    assert world.registry.asked == []


async def test_the_images_of_a_list_go_with_it_if_nothing_else_uses_them() -> None:
    world = Images()
    current = world.push(2)
    unique = "a" * 32
    one = world.push(1, tag=f"build-worker-amd64-{unique}", of="one")
    other = world.push(1, tag=f"build-worker-arm64-{unique}-2", of="other")
    tagged = world.push(1, tag=f"build-worker-s390x-{unique}", of="third")
    world.registry.tagged["golden"] = digest_of(tagged)
    listing = world.registry.push_list(
        f"build-worker-{unique}-amd64-arm64-s390x", *map(digest_of, (one, other, tagged))
    )
    world.add_pool(2, current, history=recorded(current, f"{TARGET}@{listing}"))
    await world.settle()
    assert world.registry.deleted == [listing, digest_of(one), digest_of(other)]


async def test_a_list_stays_of_which_one_image_is_not_of_this_cluster() -> None:
    world = Images()
    current, ours, theirs = world.push(2), world.push(1), world.push(1, cluster=THEIRS, tag="theirs")
    listing = world.registry.push_list("build-worker-" + "a" * 32 + "-amd64-arm64", digest_of(ours), digest_of(theirs))
    world.add_pool(2, current, history=recorded(current, f"{TARGET}@{listing}"))
    await world.settle()
    assert world.registry.deleted == []
