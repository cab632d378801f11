"""Authority moves, and MachineSets are scaled, with the admission policies in force: whoever must write still may.

Here the user is not exempt, as on a cluster; the controllers of both APIs are, and Windlass as its ServiceAccount.
"""

from functools import partial
from typing import Any

import pytest

from tests.explore import in_turn
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.errors import ApiError
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from ..api.machine_sync.examples import Tree
from .ground import Ground, assert_one_instance
from .history import recorded

pytestmark = pytest.mark.plane

MIRROR = "Changing .spec is not allowed. This is because status.authoritativeAPI is set to Machine API."


async def refused(ground: Ground, kind: type[KubernetesObject], name: str, body: Tree) -> str:
    """Why the user may not write this; empty if they may. The write is then done."""
    try:
        await ground.stage.patch(kind, name, body)
    except ApiError as error:
        return str(error)
    return ""


def other_domain(number: int) -> Tree:
    return {"spec": {"failureDomain": f"elsewhere-{number}"}}


@pytest.mark.parametrize("platform", in_turn("AWS", "GCP", "OpenStack"))
async def test_a_machine_changes_hands_and_back_and_its_mirror_is_nobodys_to_write(policed: Ground) -> None:
    name = policed.name("w-0")
    tries: list[int] = []

    async def writing_the_mirror() -> str:
        tries.append(1)
        return await refused(policed, capi.Machine, name, other_domain(len(tries)))

    async with policed.syncing(), recorded(policed.stage) as history:
        await policed.machine(name, MACHINE_API)
        await policed.settled(name, MACHINE_API)
        # Policies act a moment after they were made.
        await eventually(writing_the_mirror, lambda said: MIRROR in said, what="the policies in force")
        await policed.settled(name, MACHINE_API)

        await policed.hand_over(mapi.Machine, name, CLUSTER_API)
        await policed.settled(name, CLUSTER_API)
        stolen = {"spec": {"providerID": "stolen"}}
        await eventually(
            lambda: refused(policed, mapi.Machine, name, stolen),
            lambda said: "You may only modify spec.authoritativeAPI" in said,
            what="the other policies in force",
        )
        await policed.settled(name, CLUSTER_API)
        await policed.hand_over(mapi.Machine, name, MACHINE_API)
        await policed.settled(name, MACHINE_API)
        await policed.stage.delete(mapi.Machine, name)
        await policed.gone(name)
    assert history.two_authorities() == []
    assert_one_instance(await policed.instance(name), hands=[MACHINE_API, CLUSTER_API, MACHINE_API], alive=False)


async def test_a_set_changes_hands_and_is_scaled_on_either_side(policed: Ground) -> None:
    name = policed.name("ms")
    async with policed.syncing():
        await policed.machine_set(name, MACHINE_API, replicas=1)
        await policed.set_settled(name, MACHINE_API, replicas=1)
        kinds: tuple[tuple[str, Any, Any], ...] = (
            (CLUSTER_API, capi.MachineSet, mapi.MachineSet),
            (MACHINE_API, mapi.MachineSet, capi.MachineSet),
        )
        for replicas, (target, authority, mirror) in enumerate(kinds, start=2):
            await policed.hand_over(mapi.MachineSet, name, target)
            await policed.set_settled(name, target, replicas=replicas - 1)
            await eventually(
                partial(refused, policed, mirror, name, {"spec": {"replicas": 7}}),
                lambda said: "not allowed" in said,
                what="the policies in force",
            )
            await policed.scale(authority, name, replicas)
            await policed.set_settled(name, target, replicas=replicas)
        machines = await policed.machines(prefix=name)
        for machine in machines:
            await policed.hand_over(mapi.Machine, machine, MACHINE_API)
            await policed.settled(machine, MACHINE_API)
        await policed.stage.delete(mapi.MachineSet, name)
        await policed.gone(*machines)
    assert len(machines) == 3
