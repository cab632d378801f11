"""A crash at any write to either side is harmless: one of each resource, and nothing is left behind."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import pytest

from tests.unit.openstack.clouded import KEY, MARK, NAMESPACE, PROJECT, Process, World, server
from windlass.api.capo_server import OpenStackServer
from windlass.model import MemoryApi
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.cloud.wire import Http, Method
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, SERVER_FINALIZER
from windlass.testing.crash import Crashed, CrashPoint, MortalApi, MortalCarrier, Scenario, When, crash_everywhere

T = TypeVar("T")

PLAIN: dict[str, Any] = {}
TRUNKS: dict[str, Any] = {"trunk": True, "tags": ["blue"]}
POST: Method = "POST"
VOLUMES: dict[str, Any] = {
    "rootVolume": {"sizeGiB": 10},
    "additionalBlockDevices": [
        {"name": "etcd", "sizeGiB": 5, "storage": {"type": "Volume"}},
        {"name": "scratch", "sizeGiB": 5, "storage": {"type": "Local"}},
    ],
}
EVERYTHING = {**TRUNKS, **VOLUMES}


def building(world: World, spec: dict[str, Any], ports: int) -> dict[str, Any]:
    """An OpenStackServer whose server is to be made."""
    return server(world, ports=[{"network": {"id": world.network}} for _ in range(ports)], **spec)


def adopting(world: World, spec: dict[str, Any], ports: int) -> dict[str, Any]:
    """An OpenStackServer that takes over a server which exists, with its ports."""
    _, port = world.cloud.services.handle(
        PROJECT, Http("network", POST, "/v2.0/ports", body={"port": {"network_id": world.network, "name": "old"}})
    )
    body = {"name": "old", "flavorRef": world.flavor, "networks": [{"port": port["port"]["id"]}]}
    _, made = world.cloud.services.handle(PROJECT, Http("compute", POST, "/servers", body={"server": body}))
    world.cloud.pass_time(5)
    tree = building(world, spec, ports)
    tree["metadata"]["annotations"] = {ADOPT_ANNOTATION: made["server"]["id"]}
    return tree


def of_machine(world: World, spec: dict[str, Any], ports: int) -> dict[str, Any]:
    """The same, as an OpenStackMachine makes it: with mark and finalizer."""
    tree = adopting(world, spec, ports)
    tree["metadata"]["annotations"][MARK_ANNOTATION] = MARK
    tree["metadata"]["finalizers"] = [SERVER_FINALIZER]
    return tree


def scenario(
    spec: dict[str, Any],
    *,
    ports: int,
    actors: Callable[[World], Sequence[Any]],
    tree: Callable[[World, dict[str, Any], int], dict[str, Any]] = building,
) -> Callable[[], Scenario]:
    def make() -> Scenario:
        world = World()
        world.api.load(tree(world, spec, ports))

        async def settle(api: Any, reader: Any, systems: Any) -> None:
            await Process(world, api=api, clouds=systems[OPENSTACK]).settle()

        def unowned(trees: Sequence[Any]) -> list[str]:
            owned = any(tree["kind"] == "OpenStackServer" for tree in trees)
            expected = {"servers": 1, "ports": ports, **_more(spec, ports)} if owned else {}
            held = world.held()
            return [] if held == expected else [f"the project has {dict(held)}, not {expected}"]

        return Scenario(
            world.api,
            settle,
            actors=actors(world),
            systems={OPENSTACK: world.clouds},
            unowned=unowned,
            moment=lambda: world.now,
        )

    return make


def _more(spec: dict[str, Any], ports: int) -> dict[str, int]:
    volumes = 2 if "rootVolume" in spec else 0
    return {**({"trunks": ports} if spec.get("trunk") else {}), **({"volumes": volumes} if volumes else {})}


def nobody(world: World) -> Sequence[Any]:
    return ()


def deletes(world: World) -> Sequence[Any]:
    """A user deletes the object when it has come to rest."""

    return (delete,)


async def delete(api: MemoryApi) -> None:
    found = api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE)
    if found is not None and not found.metadata.deletion_timestamp:
        await api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "ports"),
    [
        pytest.param(PLAIN, 1, id="one port"),
        pytest.param(TRUNKS, 2, id="two ports with trunks and tags"),
        pytest.param(VOLUMES, 1, id="a root volume and disks"),
    ],
)
@pytest.mark.parametrize("actors", [nobody, deletes], ids=["created", "created and deleted"])
async def test_a_crash_at_any_write_leaves_one_of_each(
    spec: dict[str, Any], ports: int, actors: Callable[[World], Sequence[Any]]
) -> None:
    report = await crash_everywhere(scenario(spec, ports=ports, actors=actors))
    assert report.points >= 10


@pytest.mark.parametrize("actors", [nobody, deletes], ids=["adopted", "adopted and deleted"])
async def test_a_crash_while_a_server_is_adopted_creates_nothing(actors: Callable[[World], Sequence[Any]]) -> None:
    report = await crash_everywhere(scenario(PLAIN, ports=1, actors=actors, tree=adopting))
    assert report.points >= 6


class Interruption(CrashPoint):
    """Somebody does something right after the n-th write; the process lives on."""

    def __init__(self, number: int, act: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.at = number
        self.act = act

    async def write(self, what: str, do: Callable[[], Awaitable[T]]) -> T:
        answer = await super().write(what, do)
        if len(self.writes) == self.at:
            await self.act()
        return answer


@pytest.mark.parametrize(
    ("tree", "least"), [pytest.param(building, 12, id="created"), pytest.param(of_machine, 4, id="adopted")]
)
async def test_a_deletion_at_any_moment_of_making_leaves_nothing(
    tree: Callable[[World, dict[str, Any], int], dict[str, Any]], least: int
) -> None:
    number = 0
    while True:
        number += 1
        world = World()
        world.api.load(tree(world, EVERYTHING, 2))
        point = Interruption(number, partial(delete, world.api))
        clouds: Any = MortalCarrier(world.clouds(), point)
        await Process(world, api=MortalApi(world.api, point), clouds=clouds).settle()
        if len(point.writes) < number:
            break
        assert world.held() == {}, f"deleted after {point.writes[:number]}"
        assert world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is None
    assert number > least


@pytest.mark.parametrize("when", When)
async def test_a_crash_at_any_moment_of_creating_and_a_deletion_before_the_restart_leave_nothing(when: When) -> None:
    number = 0
    while True:
        number += 1
        world, point = World(), CrashPoint(number, when)
        world.api.load(building(world, EVERYTHING, 2))
        clouds: Any = MortalCarrier(world.clouds(), point)
        with suppress(Crashed):
            await Process(world, api=MortalApi(world.api, point), clouds=clouds).settle()
        if not point.reached:
            break
        await delete(world.api)
        await Process(world).settle()
        assert world.held() == {}, str(point)
        assert world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is None
    assert number > 12
