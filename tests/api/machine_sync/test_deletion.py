"""Deletion while Cluster API is authoritative, in the order of the finalizers, on a real API server.

The infrastructure provider and Cluster API core are played by hand, one step at a time, so that the order shows.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.kube.errors import NotFound
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER, MACHINE_API_FINALIZER, SYNC_FINALIZER
from windlass.testing.machines.simulators.instances import InstanceRecord

from .stage import SET, Stage, condition, finalizers, held_by_us

pytestmark = pytest.mark.plane


async def mirrored(stage: Stage, name: str = "w-0") -> None:
    await stage.fleet()
    await stage.machine(name)
    await stage.in_sync(name)


async def deleting(stage: Stage, *sides: str, name: str = "w-0") -> dict[str, Any]:
    """The objects of a machine, once the named sides are being deleted."""
    return await eventually(
        lambda: stage.everything(name),
        lambda found: all(found[side] and "deletionTimestamp" in found[side]["metadata"] for side in sides),
        what=f"{', '.join(sides)} being deleted",
    )


async def core_deletes(stage: Stage, name: str = "w-0") -> None:
    """What Cluster API core does first: the infra machine goes too."""
    await stage.delete(stage.infra_kind, name)


async def provider_finishes(stage: Stage, name: str = "w-0") -> None:
    await stage.take_off(stage.infra_kind, name, stage.example.simulated.machine_finalizer)


async def core_finishes(stage: Stage, name: str = "w-0") -> None:
    await stage.take_off(capi.Machine, name, CLUSTER_API_FINALIZER)


@pytest.mark.parametrize("platform", ["OpenStack", "AWS"])
@pytest.mark.parametrize("first", [capi.Machine, mapi.Machine], ids=["the-machine", "its-mirror"])
async def test_deleting_either_side_takes_everything_along_in_order(stage: Stage, first: Any) -> None:
    async with stage.syncing():
        await mirrored(stage)
        await stage.delete(first, "w-0")
        await deleting(stage, "source", "mirror")
        await core_deletes(stage)
        await stage.all_seen()
        there = await deleting(stage, "source", "mirror", "infra")
        assert held_by_us(there["infra"]), "the provider has not finished"

        await provider_finishes(stage)
        await stage.gone((stage.infra_kind, "w-0"))
        await stage.all_seen()
        there = await stage.everything("w-0")
        assert finalizers(there["source"]) == [CLUSTER_API_FINALIZER, SYNC_FINALIZER]
        assert finalizers(there["mirror"]) == [MACHINE_API_FINALIZER, SYNC_FINALIZER]

        await core_finishes(stage)
        await stage.gone((capi.Machine, "w-0"), (mapi.Machine, "w-0"))


async def test_deleting_a_machine_set_of_the_machine_api_lets_its_mirrors_go_and_keeps_the_machines(
    stage: Stage,
) -> None:
    async with stage.syncing():
        await mirrored(stage)
        await stage.delete(mapi.MachineSet, SET)
        with suppress(NotFound):
            # The garbage collector does so too, in its own time.
            await stage.delete(mapi.Machine, "w-0")
        await stage.gone((mapi.Machine, "w-0"))
        there = await eventually(
            lambda: stage.everything("w-0"), lambda found: not any(map(held_by_us, found.values())), what="let go"
        )
        assert there["source"] is not None
        assert there["infra"] is not None
        assert "deletionTimestamp" not in there["source"]["metadata"]
        told = await stage.told("w-0", "MirrorReleased")
        assert told["message"] == (
            "Its mirror goes with the MachineSet that it belonged to in the Machine API; machine w-0 stays in Cluster "
            "API, and is no longer synchronized."
        )
        await stage.all_seen()
        assert await stage.get(mapi.Machine, "w-0") is None, "a set that is gone gets no new mirrors"


async def test_a_machine_whose_mirror_is_gone_already_is_not_held(stage: Stage) -> None:
    async with stage.syncing():
        await mirrored(stage)
    await stage.patch(mapi.Machine, "w-0", {"metadata": {"finalizers": None}})
    await stage.delete(mapi.Machine, "w-0")
    await stage.delete(capi.Machine, "w-0")
    async with stage.syncing():
        await core_deletes(stage)
        await eventually(
            lambda: stage.everything("w-0"), lambda found: not any(map(held_by_us, found.values())), what="let go"
        )
        await provider_finishes(stage)
        await core_finishes(stage)
        await stage.gone((capi.Machine, "w-0"), (stage.infra_kind, "w-0"))


async def test_a_mirror_whose_machine_is_gone_is_let_go_when_it_is_deleted(stage: Stage) -> None:
    async with stage.syncing():
        await mirrored(stage)
    for kind in (stage.infra_kind, capi.Machine):
        await stage.patch(kind, "w-0", {"metadata": {"finalizers": None}})
        await stage.delete(kind, "w-0")
    await stage.delete(mapi.Machine, "w-0")
    async with stage.syncing():
        await stage.gone((mapi.Machine, "w-0"))
    assert await stage.get(capi.Machine, "w-0") is None


@pytest.mark.parametrize("platform", ["OpenStack", "AWS"])
@pytest.mark.parametrize(
    "first",
    [pytest.param(mapi.Machine, id="ms22-the-machine"), pytest.param(capi.Machine, id="ms23-its-mirror")],
)
async def test_under_the_machine_api_deleting_either_side_takes_everything_along_in_order(
    stage: Stage, first: Any
) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        # A provider that had it before, and that is paused now.
        held = [stage.example.simulated.machine_finalizer, SYNC_FINALIZER]
        await stage.patch(stage.infra_kind, "w-0", {"metadata": {"finalizers": held}})
        await stage.delete(first, "w-0")
        there = await deleting(stage, "source", "mirror", "infra")
        await stage.all_seen()
        there = await deleting(stage, "source", "mirror", "infra")
        assert all(map(held_by_us, there.values())), "the Machine API has not finished"
        await stage.take_off(mapi.Machine, "w-0", MACHINE_API_FINALIZER)
        await stage.gone((stage.infra_kind, "w-0"), (capi.Machine, "w-0"), (mapi.Machine, "w-0"))


async def test_while_its_drain_waits_the_mirror_of_a_machine_of_cluster_api_says_that_it_is_being_deleted(
    stage: Stage,
) -> None:
    async with stage.syncing():
        await mirrored(stage)
        await stage.delete(capi.Machine, "w-0")
        await deleting(stage, "source", "mirror")
        await stage.patch(capi.Machine, "w-0", {"status": {"phase": "Deleting"}}, part="status")
        await stage.mirror_that("w-0", lambda found: found["status"].get("phase") == "Deleting")
        await stage.in_sync("w-0")
        await stage.all_seen()
        assert held_by_us(await stage.get(mapi.Machine, "w-0"))


async def test_while_its_drain_waits_the_mirror_of_a_machine_of_the_machine_api_says_that_it_is_being_deleted(
    stage: Stage,
) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        await stage.delete(mapi.Machine, "w-0")
        await deleting(stage, "source", "mirror")
        await stage.patch(mapi.Machine, "w-0", {"status": {"phase": "Deleting"}}, part="status")
        await eventually(
            lambda: stage.get(capi.Machine, "w-0"),
            lambda found: found is not None and found["status"].get("phase") == "Deleting",
            what="the mirror in Deleting",
        )
        await stage.in_sync("w-0")
        await stage.all_seen()
        there = await stage.everything("w-0")
        assert all(map(held_by_us, there.values())), "the Machine API has not finished"


async def test_a_machine_that_is_made_anew_under_its_name_is_mirrored_anew(stage: Stage) -> None:
    async with stage.syncing():
        await mirrored(stage)
        await stage.patch(capi.Machine, "w-0", {"spec": {"providerID": "openstack:///1"}})
        first = await stage.in_sync("w-0")
        await stage.delete(capi.Machine, "w-0")
        await core_deletes(stage)
        await provider_finishes(stage)
        await core_finishes(stage)
        await stage.gone((capi.Machine, "w-0"), (mapi.Machine, "w-0"), (stage.infra_kind, "w-0"))
        await stage.machine("w-0")
        second = await stage.in_sync("w-0")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["status"]["synchronizedGeneration"] < first["status"]["synchronizedGeneration"]


async def test_an_infra_machine_that_is_deleted_under_a_living_machine_goes_after_its_provider_and_is_missed(
    stage: Stage,
) -> None:
    """Cluster API reports a missing infra machine, but not one that is held although its instance is gone."""
    async with stage.syncing():
        await mirrored(stage)
        await stage.delete(stage.infra_kind, "w-0")
        await stage.all_seen()
        assert held_by_us(await stage.get(stage.infra_kind, "w-0")), "the provider has not deleted the instance"
        await provider_finishes(stage)
        await stage.gone((stage.infra_kind, "w-0"))
        await stage.mirror_that("w-0", lambda found: condition(found).get("status") == "False")
        there = await stage.everything("w-0")
        for side in ("source", "mirror"):
            assert "deletionTimestamp" not in (there[side] or {"metadata": {}})["metadata"]


async def somebody_deletes_the_infra_machine(stage: Stage) -> None:
    await stage.delete(stage.infra_kind, "w-0")


async def somebody_deletes_the_mirror_by_force(stage: Stage) -> None:
    """Then the garbage collector deletes the infra machine, unless that has another owner first."""
    await stage.patch(capi.Machine, "w-0", {"metadata": {"finalizers": None}})
    await stage.delete(capi.Machine, "w-0")
    await eventually(
        lambda: stage.get(stage.infra_kind, "w-0"),
        lambda infra: infra is not None and "deletionTimestamp" in infra["metadata"],
        what="deleted by the garbage collector",
    )


async def the_infra_machine_differs(stage: Stage) -> None:
    value = {stage.example.provider_field: "m1.huge"}
    await stage.patch(mapi.Machine, "w-0", {"spec": {"providerSpec": {"value": value}}})


@pytest.mark.parametrize(
    "happens",
    [somebody_deletes_the_infra_machine, somebody_deletes_the_mirror_by_force, the_infra_machine_differs],
    ids=lambda happens: happens.__name__,
)
async def test_under_the_machine_api_what_an_infra_machine_owns_stays_when_it_is_made_anew(
    stage: Stage, happens: Callable[[Stage], Awaitable[None]]
) -> None:
    """OpenStack's provider, which had it before, keeps the instance in an object that the infra machine owns."""
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        held = [stage.example.simulated.machine_finalizer, SYNC_FINALIZER]
        first = await stage.patch(stage.infra_kind, "w-0", {"metadata": {"finalizers": held}})
        owner = await stage.reference(stage.infra_kind, "w-0", controller=True)
        server = {"metadata": {"name": "server", "ownerReferences": [owner], "finalizers": ["windlass.dev/server"]}}
        await stage.admin.create(InstanceRecord, server, namespace=stage.namespaces.cluster_api)
    # It happens while Machine sync is away: it would give the infra machine to a new mirror before the collector looks.
    await happens(stage)
    async with stage.syncing():
        await eventually(
            lambda: stage.get(stage.infra_kind, "w-0"),
            lambda infra: infra is not None and infra["metadata"]["uid"] != first["metadata"]["uid"],
            what="another infra machine",
        )
        # By now the collector has deleted what the first one owned, or has taken it off that.
        await eventually(
            lambda: stage.get(InstanceRecord, "server"),
            lambda found: (
                found is not None
                and ("deletionTimestamp" in found["metadata"] or not found["metadata"].get("ownerReferences"))
            ),
            what="seen to by the garbage collector",
        )
        left = await stage.get(InstanceRecord, "server")
        assert left is not None
        assert "deletionTimestamp" not in left["metadata"]
        await stage.in_sync("w-0")
