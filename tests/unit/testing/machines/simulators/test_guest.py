"""The simulated kubelets of a real cloud: which Nodes they write, and which they leave alone."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.api import core
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.clock import VirtualLoop
from windlass.testing.machines.simulators.guest import GUEST, Guests, guest_simulator

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

Tree = dict[str, Any]


def server(name: str = "worker-0", *, uuid: str = "1", status: str = "ACTIVE", created: str = "2026-01-01") -> Tree:
    addresses = {
        "net": [
            {"addr": "10.6.0.7", "version": 4, "OS-EXT-IPS:type": "fixed"},
            {"addr": "203.0.113.9", "version": 4, "OS-EXT-IPS:type": "floating"},
        ]
    }
    return {"id": uuid, "name": name, "status": status, "created": created, "addresses": addresses}


def node(name: str, provider_id: str, **annotations: str) -> Tree:
    metadata = {"name": name, "uid": f"uid-of-{name}", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"providerID": provider_id}}


class World:
    """A cluster with Nodes, and a cloud whose servers the test changes."""

    def __init__(self, *nodes: Tree) -> None:
        self.api = MemoryApi(core.Node, clock=lambda: NOW)
        self.api.load(*nodes)
        self.servers: list[Tree] = []

    async def settle(self, *servers: Tree) -> int:
        """The cloud has these servers; returns how many writes that takes until nothing is left to do."""
        self.servers = list(servers)
        guests = Guests("project", lambda: list(self.servers), period=1.0, without=["bastion"])
        controller = guest_simulator(MemoryReader(self.api), guests)
        woken: asyncio.Queue[str] = asyncio.Queue()
        detach = guests.poll.attach(lambda key, *, priority=None: woken.put_nowait(key))
        await guests.named("")
        detach()
        keys = {found.name for found in self.api.listing(core.Node) if list(controller.watches[0].map(found))}
        while not woken.empty():
            keys.add(woken.get_nowait())
        executor = Executor(self.api, permits=Declared(controller.declared), now=lambda: NOW)
        writes = 0
        for key in sorted(keys):
            rest = await controller.reconcile(key, executor=executor, now=lambda: NOW)
            assert not rest.failed, rest
            writes += rest.writes
        return writes

    def node(self, name: str = "worker-0") -> Tree:
        found = self.api.peek(core.Node, name)
        assert found is not None, f"there is no Node {name}"
        return found.tree()

    @property
    def names(self) -> list[str]:
        return [found.name for found in self.api.listing(core.Node)]


def ready(found: Tree) -> str:
    (only,) = [each["status"] for each in found["status"]["conditions"] if each["type"] == "Ready"]
    return str(only)


def in_virtual_time(story: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        loop = VirtualLoop()
        try:
            loop.run_until_complete(story())
        finally:
            loop.close()

    run.__name__ = story.__name__
    return run


@in_virtual_time
async def test_an_active_server_has_a_ready_node_with_its_provider_id_and_addresses() -> None:
    world = World()
    assert await world.settle(server()) == 2
    found = world.node()
    assert found["spec"]["providerID"] == "openstack:///1"
    assert ready(found) == "True"
    assert [(each["type"], each["address"]) for each in found["status"]["addresses"]] == [
        ("InternalIP", "10.6.0.7"),
        ("ExternalIP", "203.0.113.9"),
        ("Hostname", "worker-0"),
    ]
    assert await world.settle(server()) == 0


@in_virtual_time
async def test_a_server_that_is_being_built_has_no_node_yet() -> None:
    world = World()
    assert await world.settle(server(status="BUILD")) == 0
    assert world.names == []


@in_virtual_time
async def test_a_server_without_a_kubelet_has_no_node() -> None:
    world = World()
    await world.settle(server("bastion"), server(uuid="2"))
    assert world.names == ["worker-0"]


@in_virtual_time
async def test_the_kubelet_of_a_server_that_stops_falls_silent_and_comes_back_with_it() -> None:
    world = World()
    await world.settle(server())
    await world.settle(server(status="SHUTOFF"))
    assert ready(world.node()) == "Unknown"
    await world.settle(server())
    assert ready(world.node()) == "True"


@in_virtual_time
async def test_the_node_goes_with_its_server() -> None:
    world = World()
    await world.settle(server(), server("worker-1", uuid="2"))
    await world.settle(server("worker-1", uuid="2"))
    assert world.names == ["worker-1"]


@in_virtual_time
async def test_a_server_that_replaces_another_of_its_name_gets_a_node_of_its_own() -> None:
    world = World()
    await world.settle(server())
    await world.settle(server(uuid="2", created="2026-01-02"))
    assert world.node()["spec"]["providerID"] == "openstack:///2"


@in_virtual_time
async def test_of_two_servers_with_one_name_the_older_has_the_node() -> None:
    world = World()
    await world.settle(server(uuid="2", created="2026-01-02"), server(uuid="1", created="2026-01-01"))
    assert world.node()["spec"]["providerID"] == "openstack:///1"


@pytest.mark.parametrize(
    "annotations", [pytest.param({}, id="nobody here made it"), pytest.param({GUEST: "other"}, id="other project")]
)
def test_nodes_of_others_are_left_alone(annotations: dict[str, str]) -> None:
    @in_virtual_time
    async def story() -> None:
        world = World(node("worker-0", "openstack:///9", **annotations), node("gone", "openstack:///8", **annotations))
        assert await world.settle(server()) == 0
        assert world.names == ["gone", "worker-0"]

    story()
