"""The images of the stream that a pool follows, row by row."""

from typing import Any

import msgspec
import pytest

from tests.unit.os_build.stream_trees import NINE, OF_RELEASE, TEN, stream_tree
from tests.unit.os_build.world import World, machine_config
from tests.unit.os_build.world import pool as pool_tree
from windlass.api.machineconfiguration import MachineConfigPool, OSImageStream
from windlass.os_build.request import OsImages
from windlass.os_build.streams import images_of


def streams(*, status: bool = True) -> OSImageStream:
    return msgspec.convert(stream_tree(status=status), OSImageStream)


def pool(stream: str = "") -> MachineConfigPool:
    spec = {"osImageStream": {"name": stream}} if stream else {}
    return msgspec.convert({"metadata": {"name": "worker"}, "spec": spec}, MachineConfigPool)


@pytest.mark.parametrize(
    ("stream", "there", "images"),
    [
        ("", None, OF_RELEASE),
        ("", streams(status=False), OF_RELEASE),
        ("", streams(), NINE),
        ("rhel-10", streams(), TEN),
        ("rhel-9", streams(), NINE),
    ],
    ids=["older-cluster", "not-read-yet", "default", "named", "named-the-default"],
)
def test_the_images_of_a_stream(stream: str, there: Any, images: OsImages) -> None:
    assert images_of(pool(stream), there, OF_RELEASE) == images
    assert images_of(pool(""), None, OF_RELEASE, unreadable="forbidden") == OF_RELEASE, "nobody needs to know"


@pytest.mark.parametrize(
    ("there", "unreadable", "why"),
    [
        (None, "", "OSImageStream cluster does not exist"),
        (None, "forbidden", "OSImageStream cluster cannot be read: forbidden"),
        (streams(status=False), "", "OSImageStream cluster has no stream yet"),
        (streams(), "", "OSImageStream cluster has rhel-9, rhel-10"),
    ],
    ids=["none", "no-right", "not-read-yet", "unknown"],
)
def test_a_stream_that_there_is_not_has_no_images(there: Any, unreadable: str, why: str) -> None:
    found = images_of(pool("rhel-11"), there, OF_RELEASE, unreadable=unreadable)
    assert (found.base, found.extensions, found.release, found.stream) == ("", "", "5.0.1", "rhel-11")
    assert found.missing == f"spec.osImageStream.name of MachineConfigPool worker is rhel-11, and {why}"


@pytest.mark.parametrize("stream", ["rhel-10", "rhel-11"])
async def test_a_pool_is_built_on_its_stream_or_says_what_is_wrong_with_it(stream: str) -> None:
    world = World(kinds=(OSImageStream,))
    # The operator names an image in each MachineConfig that it renders.
    unnamed = machine_config("rendered-worker-1", osImageURL="")
    world.api.load(unnamed, pool_tree("worker", "rendered-worker-1"), stream_tree())
    await world.patch_pool({"spec": {"osImageStream": {"name": stream}}})
    await world.settle()
    if stream == "rhel-10":
        [order] = world.builders.orders.values()
        assert order.context.base == TEN.base
        return
    true, reason, message = world.says()
    assert (true, reason) == ("BuildFailed", "BaseImageMissing")
    assert "spec.osImageStream.name of MachineConfigPool worker is rhel-11" in message
    assert "OSImageStream cluster has rhel-9, rhel-10" in message
    await world.patch_pool({"spec": {"osImageStream": {"name": "rhel-9"}}})
    await world.settle()
    [order] = world.builders.orders.values()
    assert order.context.base == NINE.base, "it is corrected"


async def test_the_image_of_the_machine_config_counts_more() -> None:
    world = World(kinds=(OSImageStream,))
    world.add_pool()
    world.api.load(stream_tree())
    await world.settle()
    [order] = world.builders.orders.values()
    assert order.context.base.startswith("registry.example.com/base/os@")
