"""Machines that people copy and lose, each served by a process of its own: steps of stories."""

from typing import Any

import msgspec

from tests.unit.openstack.clouded import NAMESPACE
from windlass.api.mapi import Machine
from windlass.kube.verbs import PatchType
from windlass.openstack.machine_api.controller import machine_api_controller

from .cases import (
    NAME,
    Fleet,
    MachineProcess,
    Tree,
    machine,
)


class Life(MachineProcess):
    """The process, for one of several Machines."""

    def __init__(self, world: Fleet, name: str = NAME) -> None:
        super().__init__(world)
        self.key = (NAMESPACE, name)

    def make(self, reader: Any) -> Any:
        return machine_api_controller(reader, self.clouds, namespace=NAMESPACE, now=lambda: self.world.now)


async def original(name: str = NAME) -> Fleet:
    world = Fleet()
    world.api.load(machine(world, meta={"name": name}))
    await Life(world, name).settle()
    assert len(world.cloud.services.servers) == 1
    return world


def of(world: Fleet, name: str) -> Tree:
    found = world.api.peek(Machine, name, namespace=NAMESPACE)
    assert found is not None
    tree: Tree = msgspec.json.decode(found.raw)
    return tree


def exported(world: Fleet, name: str, *, named: bool = True) -> Tree:
    """What `kubectl get -o yaml` gives, without what people remove; `named`: with providerID."""
    tree = of(world, NAME)
    kept = {key: tree["metadata"][key] for key in ("labels", "annotations")}
    spec = {key: value for key, value in tree["spec"].items() if named or key != "providerID"}
    return {**tree, "metadata": {**kept, "name": name, "namespace": NAMESPACE}, "spec": spec, "status": {}}


def says(tree: Tree, kind: str = "InstanceReady") -> tuple[str, str]:
    found = next(each for each in tree["status"]["conditions"] if each["type"] == kind)
    return found.get("reason", ""), found.get("message", "")


def writes(world: Fleet, since: int = 0) -> list[str]:
    return [f"{each.method} {each.path}" for each in world.cloud.requests[since:] if each.method != "GET"]


def deletions(world: Fleet) -> list[str]:
    return [each for each in writes(world) if each.startswith("DELETE")]


def annotate(name: str, **annotations: str | None) -> dict[str, Any]:
    return {"name": name, "body": {"metadata": {"annotations": annotations}}}


async def change(world: Fleet, name: str, body: dict[str, Any]) -> None:
    await world.api.patch(Machine, name, body, type=PatchType.MERGE, namespace=NAMESPACE)


async def delete(world: Fleet, name: str) -> None:
    await world.api.delete(Machine, name, namespace=NAMESPACE)
    await Life(world, name).settle()
    assert world.api.peek(Machine, name, namespace=NAMESPACE) is None


async def lose(world: Fleet) -> None:
    """Somebody deletes the Machine by force."""
    await change(world, NAME, {"metadata": {"finalizers": None}})
    await world.api.delete(Machine, NAME, namespace=NAMESPACE)
    assert world.is_gone
