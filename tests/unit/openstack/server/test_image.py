"""A server whose image is an Image of the openstack-resource-controller: what is waited for, and what is told."""

from typing import Any

import msgspec
import pytest

from tests.unit.openstack.clouded import NAMESPACE, Process, World, server
from windlass.api import orc
from windlass.api.meta import ObjectMeta
from windlass.kube.control.seen import Absent, NotServedKind, Present, Unreadable
from windlass.openstack.instance.spec import Problem
from windlass.openstack.server.image import image_of

Tree = dict[str, Any]

MADE = {"type": "Progressing", "status": "False", "reason": "Success"}
WORKS = {"type": "Progressing", "status": "True", "reason": "Progressing"}
THERE = {"type": "Available", "status": "True", "reason": "Success"}
ABSENT = {"type": "Available", "status": "False", "reason": "Progressing"}
BROKEN = {"type": "Progressing", "status": "False", "reason": "UnrecoverableError", "message": "quota exceeded"}


def image(*conditions: Tree, which: str | None = None) -> Tree:
    status = {"conditions": list(conditions), **({"id": which} if which else {})}
    meta = {"name": "node", "namespace": NAMESPACE}
    return {"apiVersion": orc.Image.RESOURCE.api_version, "kind": "Image", "metadata": meta, "status": status}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param(image(THERE, MADE, which="i1"), "i1", id="available"),
        pytest.param(image(THERE, MADE), None, id="available, and no ID yet"),
        pytest.param(image(ABSENT, WORKS, which="i1"), None, id="uploading"),
        pytest.param(image(), None, id="not looked at"),
    ],
)
def test_an_image_is_used_once_it_is_available(tree: Tree, expected: str | None) -> None:
    assert image_of(Present(msgspec.convert(tree, orc.Image), msgspec.json.encode(tree)), "ns/node") == expected


BROKEN_IMAGE = image(ABSENT, BROKEN)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Absent(), "does not exist: create it, or name the image by id or filter"),
        (NotServedKind("images is not served"), "install that controller, or name the image by id or filter"),
        (Unreadable(ObjectMeta(name="node"), "status.id: expected a string"), "expected a string"),
        (Present(msgspec.convert(BROKEN_IMAGE, orc.Image), b"{}"), "(UnrecoverableError: quota exceeded)"),
    ],
    ids=["absent", "not served", "malformed", "given up"],
)
def test_what_is_in_the_way_is_told_with_the_remedy(found: Any, says: str) -> None:
    answer = image_of(found, "ns/node")
    assert isinstance(answer, Problem)
    assert (answer.kind, answer.field) == ("Dependency", "image.imageRef")
    assert "Image ns/node of the openstack-resource-controller" in answer.message
    assert says in answer.message


def conditions(world: World) -> dict[str, str]:
    return {each["type"]: f"{each['status']} {each['reason']}" for each in world.server["status"]["conditions"]}


async def test_a_server_waits_for_its_image_and_keeps_it_when_the_image_is_another_one_later() -> None:
    world = World()
    world.api.load(server(world, image={"imageRef": {"name": "node"}}))
    process = Process(world)
    for _ in range(3):
        await process.step()
    assert conditions(world)["InstanceReady"] == "False DependencyFailed"
    world.api.load(image(ABSENT, WORKS))
    world.cloud.pass_time(700)
    await process.settle()
    assert conditions(world)["InstanceReady"] == "Unknown InstanceNotReady"
    assert not world.cloud.services.servers
    assert not world.cloud.services.ports
    world.api.load(image(THERE, MADE, which=world.image))
    await process.settle()
    assert conditions(world)["Ready"] == "True Ready"
    world.api.load(image(THERE, MADE, which="another"))
    await process.settle()
    assert conditions(world)["Ready"] == "True Ready"
    assert world.server["status"]["resolved"]["imageID"] == world.image
