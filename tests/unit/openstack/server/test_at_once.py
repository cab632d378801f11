"""Two OpenStackServers that take one server at the same moment, on the models of the API server and the cloud."""

from random import Random
from typing import Any

import pytest

from tests.unit.openstack.clouded import NAMESPACE, PROJECT, Process, World, server
from tests.unit.openstack.crossing import crossing, together
from tests.unit.openstack.server.lives import (
    Life,
    Tree,
    delete,
    deletions,
    exported,
    of,
    original,
    reason_of,
    restored,
    told,
)
from windlass.api.capo_server import OpenStackServer
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, TAKE_OVER_ANNOTATION

NAMES = ("x", "y")


class Worker(Life):
    """One of several workers of one process, whose objects have marks of their own."""

    def __init__(self, world: World, name: str, clouds: Clouds) -> None:
        Process.__init__(self, world, clouds=clouds)
        self.key = (NAMESPACE, name)


async def both_at_once(world: World, order: int, *, apart: bool = False) -> tuple[str, str]:
    """The names of the one that has the server, and of the other one. `apart`: neither sees what the other asks for."""
    drawn = Random(order)
    clouds = crossing(world, drawn)
    await together(*(Worker(world, name, crossing(world, drawn) if apart else clouds) for name in NAMES))
    keeper, loser = sorted(NAMES, key=lambda name: reason_of(of(world, name)) != "Ready")
    return keeper, loser


def marks_of_ports(world: World) -> set[str]:
    return {each["description"].partition("windlass-owner=")[2] for each in world.cloud.services.ports.values()}


def mark_in(world: World, name: str) -> str:
    return str(of(world, name)["metadata"]["annotations"][MARK_ANNOTATION])


async def taken_over_at_once() -> World:
    """Both are from one backup, and confirmed by a person."""
    world = await original()
    confirmed = {TAKE_OVER_ANNOTATION: f"server/{NAMESPACE}/worker-0"}
    second = exported(world, "y", **confirmed)
    await restored(world, "x", **confirmed)
    world.api.load(second)
    return world


async def adopted_at_once() -> World:
    """Both name a server that a person has made."""
    world = World()
    port = {"network_id": world.network, "name": "of-a-person"}
    _, made = world.cloud.services.handle(PROJECT, Http("network", "POST", "/v2.0/ports", body={"port": port}))
    body = {"name": "of-a-person", "flavorRef": world.flavor, "networks": [{"port": made["port"]["id"]}]}
    _, made = world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    world.cloud.pass_time(5)
    for name in NAMES:
        tree = server(world)
        tree["metadata"] |= {"name": name, "annotations": {ADOPT_ANNOTATION: made["server"]["id"]}}
        world.api.load(tree)
    return world


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("lay_out", [taken_over_at_once, adopted_at_once])
@pytest.mark.parametrize("apart", [False, True], ids=["one process", "two"])
async def test_one_has_the_server_with_its_port_and_the_other_stops_and_makes_nothing(
    lay_out: Any, order: int, apart: bool
) -> None:
    world = await lay_out()
    (had,) = world.cloud.services.servers
    keeper, loser = await both_at_once(world, order, apart=apart)
    assert (of(world, keeper)["status"]["instanceID"], reason_of(of(world, keeper))) == (had, "Ready")
    reason, message = told(of(world, loser))
    whose = f"server {had} belongs to OpenStackServer {NAMESPACE}/{keeper}"
    assert (reason, whose in message) == ("OwnedByAnother", True)
    assert world.held() == {"servers": 1, "ports": 1}
    assert marks_of_ports(world) == {mark_in(world, keeper)}
    await delete(world, loser)
    assert (world.held(), deletions(world)) == ({"servers": 1, "ports": 1}, [])
    await delete(world, keeper)
    assert world.held() == {}


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("lay_out", [taken_over_at_once, adopted_at_once])
async def test_the_one_that_stopped_has_a_server_and_a_port_of_its_own_once_its_remedy_is_followed(
    lay_out: Any, order: int
) -> None:
    world = await lay_out()
    (had,) = world.cloud.services.servers
    keeper, loser = await both_at_once(world, order)
    removed = dict.fromkeys((ADOPT_ANNOTATION, MARK_ANNOTATION, TAKE_OVER_ANNOTATION))
    body: Tree = {"metadata": {"annotations": removed}}
    await world.api.patch(OpenStackServer, loser, body, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world, loser).settle()
    assert reason_of(of(world, loser)) == "Ready"
    assert of(world, loser)["status"]["instanceID"] != had
    assert world.held() == {"servers": 2, "ports": 2}
    await delete(world, loser)
    assert (list(world.cloud.services.servers), world.held()) == ([had], {"servers": 1, "ports": 1})
    assert reason_of(of(world, keeper)) == "Ready"


async def test_a_port_with_its_mark_on_the_server_of_another_is_neither_used_nor_deleted() -> None:
    world = World()
    world.cloud.fault(method="POST", path="^/servers$", status=400, count=1)
    world.api.load(server(world))
    process = Life(world)
    await process.step()
    assert world.held() == {"ports": 1}
    (port,) = world.cloud.services.ports.values()
    body = {"name": "of-a-person", "flavorRef": world.flavor, "networks": [{"port": port["id"]}]}
    world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    await Life(world).settle()
    assert (reason_of(world.server), world.held()) == ("Ready", {"servers": 2, "ports": 2})
    await delete(world, "worker-0")
    assert (world.held(), port["id"] in world.cloud.services.ports) == ({"servers": 1, "ports": 1}, True)
