"""Clusters of Cluster API's own provider that are restored without status: the cloud has all of them, without marks."""

from typing import Any

from windlass.openstack.cluster.names import GROUP_OF_PROVIDER, of_provider

from ..clouded import PROJECT, pause_of
from .cases import Tree, World
from .endpoints import BALANCED
from .managed import managed

WHOLE: Tree = {**BALANCED, "managedSubnets": [{"cidr": "10.6.0.0/24"}], "network": None, "tags": None}
DESCRIBED = ("networks", "subnets", "routers", "ports", "floatingips", "loadbalancers")


async def restored(**spec: Any) -> World:
    """A cluster that was complete, and that a new process sees for the first time."""
    world = managed(**{**WHOLE, **spec})
    await world.process.settle()
    assert world.condition("Ready")[0] == "True", world.tree()["status"]
    forget(world)
    return world


def forget(world: World) -> None:
    """All is as the provider would have left it, and the object is restored."""
    services = world.cloud.services
    for kind in DESCRIBED:
        for each in getattr(services, kind).values():
            if "windlass-owner=" in each["description"]:
                each["description"] = of_provider("ns-one")
    for each in services.security_groups.values():
        if "windlass-owner=" in each["description"]:
            each["description"] = GROUP_OF_PROVIDER
    again(world, annotations={})


def again(world: World, **meta: Any) -> None:
    """The object is created again from its manifest, without status and finalizers."""
    whole = world.tree()
    kept = {name: each for name, each in whole["metadata"].items() if name not in ("resourceVersion", "finalizers")}
    world.api.load({**whole, "metadata": {**kept, "uid": "another", **meta}, "status": {}})
    world._process = None


def writes(world: World, since: int = 0) -> list[str]:
    return [f"{each.method} {each.path}" for each in world.cloud.requests[since:] if each.method != "GET"]


def one(world: World, kind: str) -> Tree:
    """The only one of its kind that the project has, beside what the test has laid out."""
    all_of: dict[str, Tree] = getattr(world.cloud.services, kind)
    laid_out = world.cloud.services._laid_out
    (found,) = [each for each in all_of.values() if each["project_id"] == PROJECT and each["id"] not in laid_out]
    return found


async def tried(world: World) -> None:
    """What can be done is done, as far as a person need not act."""
    for _ in range(20):
        ending = await world.process.step()
        world.cloud.pass_time(min(pause_of(ending) or 1.0, 10.0))
