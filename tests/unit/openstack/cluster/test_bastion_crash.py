"""A crash at any write for a bastion is harmless, and so is any bad weather: one of each, and nothing is left."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import pytest

from windlass.openstack.cloud.requests import OPENSTACK
from windlass.testing.crash import Scenario, comparable, crash_everywhere

from ..cloud_faults import FAULTS
from .bastioned import BASTION, WHOLE, WITHOUT, Process, World
from .managed import delete

_HOLDER: Final = re.compile("/[0-9a-f]{16}/(?=server/)")
"""In marks: a digest of the uid, which is another one in each run."""


def change(world: World, bastion: Any) -> Any:
    """A user changes the bastion, once."""
    done: list[bool] = []

    async def act(_: Any) -> None:
        if not done and world.server is not None and world.ready[0] == "True":
            done.append(True)
            world.change(bastion=bastion)

    return act


BIGGER = {**BASTION, "spec": {**BASTION["spec"], "flavor": "m1.medium"}}
OFF = {**BASTION, "enabled": False}


def scenario(bastion: Any, *actors: Any) -> Scenario:
    """A cluster that is there gets a bastion. That its network survives crashes has tests of its own."""
    world, made = World(bastion=OFF), list[bool]()

    async def settle(api: Any, reader: Any, systems: Any) -> None:
        if not made:
            made.append(True)
            await Process(world).settle()
            world.change(bastion=BASTION)
            if bastion or actors:  # that it is made in spite of crashes is the first row
                await Process(world).settle()
        await Process(world, api=api, clouds=systems[OPENSTACK]).settle()

    def unowned(trees: Sequence[Any]) -> list[str]:
        kinds = {tree["kind"] for tree in trees}
        expected = {} if "OpenStackCluster" not in kinds else WHOLE if "OpenStackServer" in kinds else WITHOUT
        held = world.held()
        return [] if held == expected else [f"the project has {dict(held)}, not {expected}"]

    return Scenario(
        world.api,
        settle,
        actors=(*([change(world, bastion)] if bastion else []), *actors),
        systems={OPENSTACK: world.clouds},
        unowned=unowned,
        compared=lambda trees: comparable([json.loads(_HOLDER.sub("/holder/", json.dumps(each))) for each in trees]),
    )


@pytest.mark.parametrize(
    ("bastion", "actors", "least"),
    [
        pytest.param(None, (), 12, id="created"),
        pytest.param(BIGGER, (), 20, id="changed"),
        pytest.param(OFF, (), 16, id="switched off"),
        pytest.param(None, (delete,), 20, id="deleted with the cluster"),
    ],
)
async def test_a_crash_at_any_write_leaves_one_of_each(bastion: Any, actors: Any, least: int) -> None:
    report = await crash_everywhere(lambda: scenario(bastion, *actors))
    assert report.points >= least


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_requests_for_the_address_meet_a_fault_and_there_is_one(fault: dict[str, Any]) -> None:
    world = World()
    faults = [world.cloud.fault(method=each, path="^/v2.0/floatingips", **fault) for each in ("POST", "PUT")]
    process = Process(world)
    await process.settle()
    assert [each.hits for each in faults] == [1, 1]
    assert world.held() == WHOLE
    assert world.leads_to_the_server()
    assert world.ready[0] == world.condition("Ready")[0] == "True"
    fault_of_deletion = world.cloud.fault(method="DELETE", path="^/v2.0/floatingips", **fault)
    world.change(bastion=OFF)
    await process.settle()
    assert fault_of_deletion.hits == 1
    assert world.held() == WITHOUT
