"""Bad weather in the cloud of a Machine of the Machine API: one of each in the end, and no Machine ever fails."""

from typing import Any

import pytest

from tests.unit.openstack.cloud_faults import FAULTS, OF_CREATION
from tests.unit.openstack.machine_api.cases import Fleet, MachineProcess, built, floating_ip, machine

EVERYTHING: dict[str, Any] = {
    "rootVolume": {"diskSize": 10, "sourceUUID": "rhcos"},
    "serverGroupName": "workers",
    "trunk": True,
}
POSTS = ("/v2.0/ports", "/v2.0/trunks", "/volumes", "/servers", "/os-server-groups")
WHOLE = {"servers": 1, "ports": 1, "trunks": 1, "volumes": 1}


@pytest.mark.parametrize("fault", OF_CREATION.values(), ids=OF_CREATION.keys())
async def test_every_kind_of_creating_request_meets_a_fault_and_there_is_one_of_each(fault: dict[str, Any]) -> None:
    world = Fleet()
    faults = [world.cloud.fault(method="POST", path=f"^{path}$", **fault) for path in POSTS]
    world.api.load(machine(world, **EVERYTHING))
    phases: set[str] = set()
    world.api.subscribe(lambda _: phases.add(world.status.get("phase", "")))
    await MachineProcess(world).settle()
    assert [each.hits for each in faults] == [1] * len(POSTS)
    assert world.held() == WHOLE
    assert len(world.cloud.services.server_groups) == 1
    assert world.says("Ready") == "True Ready"
    assert phases <= {"", "Provisioning", "Provisioned"}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_every_kind_of_deleting_request_meets_a_fault_and_nothing_is_left(fault: dict[str, Any]) -> None:
    world = Fleet()
    process = await built(world, **EVERYTHING)
    paths = ("/v2.0/ports/", "/v2.0/trunks/", "/servers/")
    faults = [world.cloud.fault(method="DELETE", path=f"^{path}", **fault) for path in paths]
    await world.delete()
    await process.settle()
    assert [each.hits for each in faults] == [1] * len(paths)
    assert world.held() == {}
    assert world.is_gone


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_floating_ip_that_meets_a_fault_is_led_to_the_server(fault: dict[str, Any]) -> None:
    world = Fleet()
    floating = floating_ip(world)
    ordered = world.cloud.fault(method="PUT", path="^/v2.0/floatingips/", **fault)
    await built(world, floatingIP=floating["floating_ip_address"])
    assert ordered.hits == 1
    (port,) = (each for each in world.cloud.services.ports.values() if each["device_owner"].startswith("compute:"))
    assert world.cloud.services.floatingips[floating["id"]]["port_id"] == port["id"]
    assert world.says("Ready") == "True Ready"
