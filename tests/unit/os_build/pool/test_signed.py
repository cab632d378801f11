"""Stories of pools whose images are signed: none is taken without a signature."""

import base64
from typing import Any

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import TARGET, World, claimed, machine_config
from windlass.api.core import Event, Secret
from windlass.api.machineosconfig import MachineOSBuild
from windlass.kube.verbs import PatchType
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.registry.answers import Found

IMAGE_OF = f"{TARGET}@{DIGEST}"
WHY = "the registry refuses to take a blob (403)"


def key(**data: str) -> dict[str, Any]:
    packed = {name.replace("_", "."): base64.b64encode(value.encode()).decode() for name, value in data.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": "signing", "namespace": NAMESPACE},
        "data": packed,
    }


def signing(world: World, *, with_key: bool = True) -> World:
    """The same world with a process that signs."""
    world.signing_key = "signing"
    world.restart()
    if with_key:
        world.api.load(key(cosign_key="a key"))
    return world


async def succeed(world: World, *, digest: str = DIGEST) -> None:
    await world.settle()
    [build] = [each.name for each in world.builders.builds.values() if not each.is_over]
    world.builders.run(build)
    await world.settle()
    world.builders.succeed(build, digest=digest)


def reasons(world: World) -> list[str]:
    return [each.decode().reason for each in world.api.listing(Event)]


async def test_an_image_is_signed_before_it_is_recorded() -> None:
    world = signing(World())
    world.add_pool()
    await succeed(world)
    world.process.signatures.why = WHY
    await world.settle()
    assert world.image() == ""
    assert world.says()[:2] == ("BuildFailed", "SigningFailed")
    assert WHY in world.says()[2]
    assert "SigningFailed" in reasons(world)
    world.process.signatures.why = ""
    world.process.signatures.known.clear()
    await world.settle()
    assert world.image() == IMAGE_OF
    assert world.says()[0] == "BuildSuccess"
    assert [each.image for each in world.process.signatures.sent] == [IMAGE_OF, IMAGE_OF]


async def test_an_image_that_is_signed_is_not_signed_again() -> None:
    world = signing(World())
    world.add_pool()
    await succeed(world)
    for _ in range(3):
        await world.settle()
    assert len(world.process.signatures.sent) == 1


async def test_a_process_that_dies_before_the_result_asks_for_the_signature_again() -> None:
    world = signing(World())
    world.add_pool()
    await succeed(world)
    world.restart()
    await world.settle()
    assert world.image() == IMAGE_OF
    assert len(world.process.signatures.sent) == 1


async def test_a_key_that_is_missing_is_told_and_its_arrival_heals() -> None:
    world = signing(World(), with_key=False)
    world.add_pool()
    await succeed(world)
    await world.settle()
    assert world.says()[:2] == ("BuildFailed", "SigningFailed")
    assert f"Secret {NAMESPACE}/signing, which --signing-key names, does not exist" in world.says()[2]
    assert world.image() == ""
    world.api.load(key(cosign_key="a key"))
    await world.settle()
    assert world.image() == IMAGE_OF


async def test_another_key_signs_the_image_that_the_pool_has() -> None:
    world = signing(World())
    world.add_pool()
    await succeed(world)
    await world.settle()
    patch = {"data": key(cosign_key="another")["data"]}
    await world.api.patch(Secret, "signing", patch, type=PatchType.MERGE, namespace=NAMESPACE)
    await world.settle()
    assert len(world.process.signatures.sent) == 2
    assert world.says()[0] == "BuildSuccess"


async def test_an_image_from_before_is_signed_and_stays_if_it_cannot_be() -> None:
    world = World()
    world.add_pool()
    await succeed(world)
    await world.settle()
    signing(world)
    world.process.signatures.why = WHY
    await world.settle()
    assert world.image() == IMAGE_OF
    assert world.says()[0] == "BuildSuccess"
    assert "SigningFailed" in reasons(world)


async def test_a_machine_os_build_succeeds_with_a_signature_alone() -> None:
    world = signing(claimed())
    await succeed(world)
    world.process.signatures.why = WHY
    await world.settle()
    [build] = world.api.listing(MachineOSBuild)
    assert build.decode().status.digested_image_push_spec == ""
    degraded = world.conditions()["ImageBuildDegraded"]
    assert (degraded["status"], degraded["reason"]) == ("True", "SigningFailed")
    world.process.signatures.why = ""
    world.process.signatures.known.clear()
    await world.settle()
    [build] = world.api.listing(MachineOSBuild)
    assert build.decode().status.digested_image_push_spec == IMAGE_OF
    assert world.conditions()["ImageBuildDegraded"]["status"] == "False"


async def test_an_image_that_there_is_already_is_taken_with_a_signature_alone() -> None:
    world = claimed()
    await succeed(world)
    await world.settle()
    signing(world)
    world.process.registries.found = Found(DIGEST)
    world.process.signatures.why = WHY
    world.api.load(machine_config("rendered-worker-2"))
    await world.patch_pool({"spec": {"configuration": {"name": "rendered-worker-2"}}})
    await world.settle()
    told = [each.decode().status.digested_image_push_spec for each in world.api.listing(MachineOSBuild)]
    assert sorted(told) == ["", IMAGE_OF]
    assert world.conditions()["ImageBuildDegraded"]["reason"] == "SigningFailed"
    world.process.signatures.why = ""
    world.process.signatures.known.clear()
    await world.settle()
    assert {each.decode().status.digested_image_push_spec for each in world.api.listing(MachineOSBuild)} == {IMAGE_OF}


async def test_without_a_key_nothing_is_signed_and_nobody_may() -> None:
    world = World()
    world.add_pool()
    await succeed(world)
    await world.settle()
    assert world.image() == IMAGE_OF
    assert world.process.signatures.sent == []
