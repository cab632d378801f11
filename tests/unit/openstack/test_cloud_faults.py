"""Bad weather in the cloud: each creating request meets each fault once, and there is one of each in the end."""

from typing import Any

import pytest

from tests.unit.openstack.cloud_faults import FAULTS, OF_CREATION
from tests.unit.openstack.clouded import KEY, NAMESPACE, Process, World, server
from windlass.api.capo_server import OpenStackServer

POSTS = ("/v2.0/ports", "/v2.0/trunks", "/volumes", "/servers")
EVERYTHING = {"trunk": True, "tags": ["blue"], "rootVolume": {"sizeGiB": 10}}


@pytest.mark.parametrize("fault", OF_CREATION.values(), ids=OF_CREATION.keys())
async def test_every_kind_of_creating_request_meets_a_fault_and_there_is_one_of_each(fault: dict[str, Any]) -> None:
    world = World()
    faults = [world.cloud.fault(method="POST", path=f"^{path}$", **fault) for path in POSTS]
    world.api.load(server(world, **EVERYTHING))
    await Process(world).settle()
    assert [each.hits for each in faults] == [1, 1, 1, 1]
    assert world.held() == {"servers": 1, "ports": 1, "trunks": 1, "volumes": 1}
    status = world.server["status"]
    assert status["instanceState"] == "ACTIVE"
    assert _condition(status, "Ready")["status"] == "True"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_every_kind_of_deleting_request_meets_a_fault_and_nothing_is_left(fault: dict[str, Any]) -> None:
    world = World()
    world.api.load(server(world, **EVERYTHING))
    process = Process(world)
    await process.settle()
    paths = ("/v2.0/ports/", "/v2.0/trunks/", "/servers/")
    faults = [world.cloud.fault(method="DELETE", path=f"^{path}", **fault) for path in paths]
    await world.api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)
    await process.settle()
    assert [each.hits for each in faults] == [1, 1, 1]
    assert world.held() == {}
    assert world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is None


async def test_a_service_that_asks_for_a_pause_is_left_alone_for_so_long() -> None:
    world = World()
    world.cloud.fault(method="POST", path="^/v2.0/ports$", status=429, headers={"retry-after": "30"})
    world.api.load(server(world))
    process = Process(world)
    ending = await process.step()
    assert ending.error is None or ending.next
    asked = len(world.cloud.requests)
    for _ in range(5):
        world.cloud.pass_time(5)
        await process.step()
    assert [each for each in world.cloud.requests[asked:] if each.service == "network"] == []
    progressing = _condition(world.server["status"], "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("True", "TransientError")
    assert "Next attempt at 2026-11-22T12:00:3" in progressing["message"]
    await process.settle()
    assert world.held() == {"servers": 1, "ports": 1}


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(each for each in status["conditions"] if each["type"] == kind)
