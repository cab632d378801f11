"""A crash at any write of a cluster is harmless, and so is any bad weather: one of each, and nothing is left."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from windlass.openstack.cloud.requests import OPENSTACK
from windlass.testing.crash import Crashed, CrashPoint, MortalApi, MortalCarrier, Scenario, When, crash_everywhere

from ..cloud_faults import FAULTS, OF_CREATION
from .cases import Process, World
from .managed import WHOLE, delete, made, managed

POSTS = ("networks", "subnets", "routers", "security-groups", "security-group-rules")


def scenario(*actors: Any) -> Scenario:
    world = managed()

    async def settle(api: Any, reader: Any, systems: Any) -> None:
        await Process(world, api=api, clouds=systems[OPENSTACK]).settle()

    def unowned(trees: Sequence[Any]) -> list[str]:
        expected = WHOLE if any(tree["kind"] == "OpenStackCluster" for tree in trees) else {}
        held = world.held()
        return [] if held == expected else [f"the project has {dict(held)}, not {expected}"]

    return Scenario(world.api, settle, actors=actors, systems={OPENSTACK: world.clouds}, unowned=unowned)


@pytest.mark.parametrize(("actors", "least"), [((), 26), ((delete,), 40)], ids=["created", "created and deleted"])
async def test_a_crash_at_any_write_leaves_one_of_each(actors: tuple[Any, ...], least: int) -> None:
    report = await crash_everywhere(lambda: scenario(*actors))
    assert report.points >= least


@pytest.mark.parametrize("when", When)
async def test_a_crash_at_any_moment_of_creating_and_a_deletion_before_the_restart_leave_nothing(when: When) -> None:
    number = 0
    while True:
        number += 1
        world, point = managed(), CrashPoint(number, when)
        clouds: Any = MortalCarrier(world.clouds(), point)
        with suppress(Crashed):
            await Process(world, api=MortalApi(world.api, point), clouds=clouds).settle()
        if not point.reached:
            break
        await delete(world.api)
        await Process(world).settle()
        assert world.held() == {}, str(point)
        assert world.is_gone, str(point)
    assert number > 12


@pytest.mark.parametrize("fault", OF_CREATION.values(), ids=OF_CREATION.keys())
async def test_every_kind_of_creating_request_meets_a_fault_and_there_is_one_of_each(fault: dict[str, Any]) -> None:
    world = managed()
    faults = [world.cloud.fault(method="POST", path=f"^/v2.0/{path}$", **fault) for path in POSTS]
    faults.append(world.cloud.fault(method="PUT", path="/add_router_interface$", **fault))
    await world.process.settle()
    assert [each.hits for each in faults] == [1] * len(faults)
    assert world.held() == WHOLE
    assert world.condition("Ready")[0] == "True"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_every_kind_of_deleting_request_meets_a_fault_and_nothing_is_left(fault: dict[str, Any]) -> None:
    world = await made()
    paths = ("networks", "routers", "security-groups")
    faults = [world.cloud.fault(method="DELETE", path=f"^/v2.0/{path}/", **fault) for path in paths]
    faults.append(world.cloud.fault(method="PUT", path="/remove_router_interface$", **fault))
    await world.delete()
    await world.process.settle()
    assert [each.hits for each in faults] == [1] * len(faults)
    assert world.held() == {}
    assert world.is_gone


async def test_an_outage_for_minutes_is_told_in_the_condition_and_leaves_a_provisioned_cluster_alone() -> None:
    world: World = await made()
    fault = world.cloud.fault(service="network", status=503, count=1000)
    world.cloud.pass_time(601.0)
    await world.rest()
    assert world.condition("Ready")[0] == "True"
    assert world.condition("Progressing")[:2] == ("True", "TransientError")
    for _ in range(12):
        world.cloud.pass_time(60.0)
        await world.rest()
    assert world.condition("NetworkReady")[:2] == ("False", "OpenStackError")
    assert world.tree()["status"]["initialization"] == {"provisioned": True}
    world.cloud.faults.remove(fault)
    world.cloud.pass_time(601.0)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"
    assert world.held() == WHOLE
