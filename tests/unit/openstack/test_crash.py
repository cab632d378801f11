"""A crash at any write to either side is harmless: one of each resource, and nothing is left behind."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.unit.openstack.clouded import KEY, NAMESPACE, PROJECT, Process, World, server
from windlass.api.capo_server import OpenStackServer
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.testing.crash import Scenario, crash_everywhere
from windlass.testing.memory import MemoryApi

PLAIN: dict[str, Any] = {}
TRUNKS: dict[str, Any] = {"trunk": True, "tags": ["blue"]}
VOLUMES: dict[str, Any] = {
    "rootVolume": {"sizeGiB": 10},
    "additionalBlockDevices": [
        {"name": "etcd", "sizeGiB": 5, "storage": {"type": "Volume"}},
        {"name": "scratch", "sizeGiB": 5, "storage": {"type": "Local"}},
    ],
}


def scenario(spec: dict[str, Any], *, ports: int, actors: Callable[[World], Sequence[Any]]) -> Callable[[], Scenario]:
    def make() -> Scenario:
        world = World()
        wanted = [{"network": {"id": world.network}} for _ in range(ports)]
        world.api.load(server(world, ports=wanted, **spec))

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
        )

    return make


def _more(spec: dict[str, Any], ports: int) -> dict[str, int]:
    volumes = 2 if "rootVolume" in spec else 0
    return {**({"trunks": ports} if spec.get("trunk") else {}), **({"volumes": volumes} if volumes else {})}


def nobody(world: World) -> Sequence[Any]:
    return ()


def deletes(world: World) -> Sequence[Any]:
    """A user deletes the object when it has come to rest."""

    async def delete(api: MemoryApi) -> None:
        found = api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE)
        if found is not None and not found.metadata.deletion_timestamp:
            await api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)

    return (delete,)


@pytest.mark.parametrize(
    ("spec", "ports"),
    [
        pytest.param(PLAIN, 1, id="one port"),
        pytest.param(TRUNKS, 2, id="two ports with trunks and tags"),
        pytest.param(VOLUMES, 1, id="a root volume and disks"),
    ],
)
@pytest.mark.parametrize("actors", [nobody, deletes], ids=["created", "created and deleted"])
async def test_s23_a_crash_at_any_write_leaves_one_of_each(
    spec: dict[str, Any], ports: int, actors: Callable[[World], Sequence[Any]]
) -> None:
    report = await crash_everywhere(scenario(spec, ports=ports, actors=actors))
    assert report.points >= 10
    assert PROJECT
