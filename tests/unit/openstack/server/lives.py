"""OpenStackServers that people copy, lose and restore, each served by a process of its own: steps of stories."""

from typing import Any

import msgspec

from tests.unit.openstack.clouded import KEY, NAMESPACE, Process, World, server
from windlass.api.capo_server import OpenStackServer
from windlass.kube.verbs import PatchType
from windlass.openstack.server.controller import server_controller

Tree = dict[str, Any]
NAME = KEY[1]


class Life(Process):
    """The process, for one of several objects."""

    def __init__(self, world: World, name: str = NAME, namespace: str = NAMESPACE) -> None:
        super().__init__(world)
        self.key = (namespace, name)

    def make(self, reader: Any) -> Any:
        return server_controller(reader, self.clouds, now=lambda: self.world.now)


async def original(**spec: Any) -> World:
    world = World()
    world.api.load(server(world, **spec))
    await Life(world).settle()
    assert len(world.cloud.services.servers) == 1
    return world


def of(world: World, name: str, namespace: str = NAMESPACE) -> Tree:
    found = world.api.peek(OpenStackServer, name, namespace=namespace)
    assert found is not None
    tree: Tree = msgspec.json.decode(found.raw)
    return tree


def exported(world: World, name: str, namespace: str = NAMESPACE, **annotations: str) -> Tree:
    """What `kubectl get -o yaml` gives, without what people remove, under another name."""
    tree = of(world, NAME)
    meta = {"name": name, "namespace": namespace, "annotations": {**tree["metadata"]["annotations"], **annotations}}
    return {**tree, "metadata": meta, "status": {}}


def told(tree: Tree, kind: str = "InstanceReady") -> tuple[str, str]:
    found = next(each for each in tree["status"]["conditions"] if each["type"] == kind)
    return found["reason"], found.get("message", "")


def reason_of(tree: Tree) -> str:
    return told(tree)[0]


def deletions(world: World) -> list[str]:
    return [each.path for each in world.cloud.requests if each.method == "DELETE"]


async def delete(world: World, name: str, namespace: str = NAMESPACE) -> None:
    await world.api.delete(OpenStackServer, name, namespace=namespace)
    await Life(world, name, namespace).settle()
    assert world.api.peek(OpenStackServer, name, namespace=namespace) is None


async def restored(world: World, name: str = NAME, **annotations: str) -> Tree:
    """The object is lost with its status, and comes back from a backup, with a new uid."""
    tree = exported(world, name, **annotations)
    await world.api.patch(
        OpenStackServer, NAME, {"metadata": {"finalizers": None}}, type=PatchType.MERGE, namespace=NAMESPACE
    )
    await world.api.delete(OpenStackServer, NAME, namespace=NAMESPACE)
    assert world.api.peek(OpenStackServer, NAME, namespace=NAMESPACE) is None
    world.api.load(tree)
    return tree
