"""What a stopped object tells people to do leads to what it promises, and no Event claims what did not happen."""

import pytest

from tests.unit.openstack.clouded import NAMESPACE, PROJECT, World, server
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, TAKE_OVER_ANNOTATION

from .lives import NAME, Life, Tree, delete, deletions, exported, of, original, restored, told


async def with_the_status_of_the_original(world: World, name: str) -> None:
    world.api.load({**exported(world, name), "status": of(world, NAME)["status"]})
    await Life(world, name).settle()


async def annotate(world: World, name: str, **annotations: str | None) -> None:
    change = {"metadata": {"annotations": annotations}}
    await world.api.patch(OpenStackServer, name, change, type=PatchType.MERGE, namespace=NAMESPACE)


def events_of(world: World, name: str) -> list[str]:
    return [each.decode().reason for each in world.api.listing(Event) if each.decode().involved_object.name == name]


async def test_a_copy_whose_status_names_the_server_of_the_original_has_its_own_once_it_is_created_without_it() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await with_the_status_of_the_original(world, "copy")
    reason, message = told(of(world, "copy"))
    assert reason == "OwnedByAnother"
    assert "delete this object, which leaves the cloud as it is, and create it without its status" in message
    copy = exported(world, "copy")
    await delete(world, "copy")
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    world.api.load(copy)
    await Life(world, "copy").settle()
    assert told(of(world, "copy"))[0] == "Ready"
    assert len(world.cloud.services.servers) == 2


async def test_the_deletion_of_a_copy_without_its_mark_says_that_the_server_was_left() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await with_the_status_of_the_original(world, "copy")
    await annotate(world, "copy", **{MARK_ANNOTATION: None})
    await Life(world, "copy").settle()
    await delete(world, "copy")
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert "LeftInCloud" in events_of(world, "copy")
    assert "Successfuldeleteserver" not in events_of(world, "copy")


@pytest.mark.parametrize("named", ["web-1", "openstack:///0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"])
async def test_an_id_that_the_project_does_not_have_is_told_with_the_annotation_and_can_be_corrected(
    named: str,
) -> None:
    world = World()
    tree = server(world)
    tree["metadata"].setdefault("annotations", {})[ADOPT_ANNOTATION] = named
    world.api.load(tree)
    process = Life(world)
    for _ in range(3):
        await process.step()
    assert f"Looking for server {named}, which the annotation {ADOPT_ANNOTATION} names" in progress(world.server)
    await process.settle()
    reason, message = told(world.server)
    assert reason == "InstanceNotFound"
    assert message.startswith(f"The annotation {ADOPT_ANNOTATION} names server {named}, which the project does not")
    await annotate(world, NAME, **{ADOPT_ANNOTATION: None})
    await process.settle()
    assert told(world.server)[0] == "Ready"


def progress(tree: Tree) -> str:
    return told(tree, "Progressing")[1]


async def test_the_server_of_a_machine_says_that_it_is_to_be_annotated_and_not_its_machine() -> None:
    world = World()
    body = {"name": NAME, "flavorRef": world.flavor, "networks": []}
    world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    tree = server(world)
    kind = OpenStackMachine.RESOURCE
    owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": NAME, "uid": "u"}
    tree["metadata"]["ownerReferences"] = [owner]
    world.api.load(tree)
    await Life(world).settle()
    reason, message = told(world.server)
    assert reason == "OwnedByAnother"
    assert f"annotate OpenStackServer {NAMESPACE}/{NAME} with {ADOPT_ANNOTATION}=ID" in message
    assert f"annotate OpenStackServer {NAMESPACE}/{NAME} with {ADOPT_ANNOTATION}=none" in message


async def test_a_confirmation_that_does_not_fit_is_told() -> None:
    world = await original()
    await restored(world, "elsewhere", **{TAKE_OVER_ANNOTATION: "server/wrong/one"})
    await Life(world, "elsewhere").settle()
    reason, message = told(of(world, "elsewhere"))
    fits = f"{TAKE_OVER_ANNOTATION}=server/{NAMESPACE}/{NAME} in place of server/wrong/one"
    assert (reason, fits in message) == ("OwnedByAnother", True)
    await annotate(world, "elsewhere", **{TAKE_OVER_ANNOTATION: f"server/{NAMESPACE}/{NAME}"})
    await Life(world, "elsewhere").settle()
    assert told(of(world, "elsewhere"))[0] == "Ready"


async def test_a_confirmation_of_what_an_object_here_has_is_told_to_do_nothing() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    at = f"server/{NAMESPACE}/{NAME}"
    world.api.load(exported(world, "copy", **{ADOPT_ANNOTATION: had, TAKE_OVER_ANNOTATION: at}))
    await Life(world, "copy").settle()
    assert f"which exists here, so the annotation {TAKE_OVER_ANNOTATION} does nothing" in told(of(world, "copy"))[1]
    assert list(world.cloud.services.servers) == [had]
