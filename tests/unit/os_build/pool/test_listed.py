"""Stories of pools whose images get a list of their contents: it is attached first, and keeps no image back."""

import json

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import TARGET, World
from windlass.api.core import Event

IMAGE_OF = f"{TARGET}@{DIGEST}"


async def built(world: World) -> None:
    world.add_pool()
    await world.settle()
    [build] = world.builders.builds
    world.builders.run(build)
    await world.settle()
    world.builders.succeed(build)
    await world.settle()


def listing() -> World:
    world = World()
    world.sbom = True
    world.restart()
    return world


async def test_it_is_attached_before_the_image_is_recorded() -> None:
    world = listing()
    await built(world)
    [request] = world.process.contents.sent
    assert request.image == IMAGE_OF == world.image()
    tree = json.loads(request.document.content)
    assert tree["name"] == IMAGE_OF
    assert "./etc/motd" in [each["fileName"] for each in tree["files"]]
    assert "motd" not in repr(request.document)


async def test_an_image_without_one_is_taken_and_that_is_told() -> None:
    world = listing()
    world.process.contents.why = "the registry refuses to take a blob (403)"
    await built(world)
    assert world.image() == IMAGE_OF
    told = {each.decode().reason: each.decode().message for each in world.api.listing(Event)}
    assert "the registry refuses to take a blob" in told["ContentsNotAttached"]
    await world.settle()
    assert len(world.process.contents.sent) == 1


async def test_nothing_is_attached_unless_it_is_asked_for() -> None:
    world = World()
    await built(world)
    assert world.image() == IMAGE_OF
    assert world.process.contents.sent == []
