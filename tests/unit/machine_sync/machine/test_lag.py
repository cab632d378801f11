"""Caches that lag: an infra machine is seen after its Machine, a mirror after it was made, a MachineSet after both."""

import pytest

from windlass.api import capi, capo, capo_cluster, mapi
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader

from ..moves import (
    Movable,
    a_change_that_a_successor_has_not_seen_is_not_lost,
    cluster_api_stays_paused_after_a_move_that_was_called_off,
    who_has_not_seen_the_move_changes_nothing,
)
from ..trees import said
from .actors import cluster_api_core, machine_api_controllers, provider
from .cases import CAPI_MACHINE, INFRA, MAPI_MACHINE, MAPI_SET, SYNC, Tree, changed
from .world import NAME, OURS, THEIRS, at_rest, mapi_of, reconciled, typed, world


async def test_an_infra_machine_that_is_seen_late_does_not_make_synchronized_flap() -> None:
    made = {"metadata": {"name": NAME, "namespace": OURS}, "spec": {"authoritativeAPI": "ClusterAPI"}}
    api = world(infra_machine=None, machine_api=made)
    reader = LaggingReader(api)
    reader.freeze(capo.OpenStackMachine)
    api.load(typed(capo.OpenStackMachine, INFRA))
    for _ in range(3):
        await reconciled(api, reader)
    assert said(api, mapi.Machine) == ["True"]
    reader.release()
    await reconciled(api, reader)
    assert said(api, mapi.Machine) == ["True"]


async def test_an_infra_cluster_that_is_seen_late_does_not_either() -> None:
    api = await at_rest()
    await api.delete(capo_cluster.OpenStackCluster, "c", namespace=THEIRS)
    reader = LaggingReader(api)
    reader.freeze(capo_cluster.OpenStackCluster)
    api.load(typed(capo_cluster.OpenStackCluster, {"metadata": {"name": "c", "namespace": THEIRS, "uid": "anew"}}))
    await reconciled(api, reader)
    assert said(api, mapi.Machine) == ["True"]


async def test_a_machine_that_is_seen_late_is_not_said_to_be_missing() -> None:
    mirrored = mapi_of(await at_rest())
    api = world(cluster_api=None, machine_api=mirrored)
    reader = LaggingReader(api)
    reader.freeze(capi.Machine)
    api.load(typed(capi.Machine, CAPI_MACHINE))
    await reconciled(api, reader)
    assert said(api, mapi.Machine) == ["True"]


async def test_a_mirror_that_is_seen_late_is_not_made_twice_nor_reported() -> None:
    api = world()
    reader = LaggingReader(api)
    reader.freeze(mapi.Machine)
    await reconciled(api, LaggingReader(api))
    uid = (mapi_of(api) or {})["metadata"]["uid"]
    for _ in range(3):
        await reconciled(api, reader)
    assert (mapi_of(api) or {})["metadata"]["uid"] == uid
    assert said(api, mapi.Machine) == ["True"]
    assert [tree for tree in api.dump() if tree["kind"] == "Event"] == []


async def test_a_machine_whose_end_is_seen_late_gets_no_new_mirror() -> None:
    """Somebody took all finalizers off both; only the mirror's end has been seen so far."""
    api = await at_rest()
    reader = LaggingReader(api)
    reader.freeze(capi.Machine, capo.OpenStackMachine)
    for kind, namespace in ((mapi.Machine, OURS), (capi.Machine, THEIRS)):
        nothing: Tree = {"metadata": {"finalizers": None}}
        await api.patch(kind, NAME, nothing, type=PatchType.MERGE, namespace=namespace)
        await api.delete(kind, NAME, namespace=namespace)
    for _ in range(2):
        await reconciled(api, reader)
    assert mapi_of(api) is None


@pytest.mark.parametrize("lagging", [mapi.Machine, mapi.MachineSet, capi.MachineSet, capo.OpenStackMachine])
async def test_a_deletion_is_right_whatever_is_seen_late(lagging: type) -> None:
    """The mirror's MachineSet goes, and its mirrors with it: the machine stays, however late anything is seen.

    A cache that still shows the MachineSet must not make this look like the deletion of one mirror, which takes the
    machine and its instance along.
    """
    api = await at_rest()
    reader = LaggingReader(api)
    reader.freeze(lagging)
    await api.delete(mapi.MachineSet, MAPI_SET["metadata"]["name"], namespace=OURS)
    await api.delete(mapi.Machine, NAME, namespace=OURS)
    for _ in range(2):
        await reconciled(api, reader)
    reader.release()
    for _ in range(2):
        await reconciled(api, reader)
    source = api.peek(capi.Machine, NAME, namespace=THEIRS)
    assert source is not None
    assert not source.deleting
    assert mapi_of(api) is None


async def test_a_machine_made_anew_under_its_name_is_not_taken_for_the_old_one() -> None:
    """The cache still shows the old infra machine, whose finalizers nobody may add to the new one by mistake."""
    api = await at_rest()
    reader = LaggingReader(api)
    reader.freeze(capo.OpenStackMachine)
    bare: Tree = {"metadata": {"finalizers": []}}
    await api.patch(capo.OpenStackMachine, "w-0-infra", bare, type=PatchType.MERGE, namespace=THEIRS)
    await api.delete(capo.OpenStackMachine, "w-0-infra", namespace=THEIRS)
    api.load(typed(capo.OpenStackMachine, changed(INFRA, metadata__uid="anew", spec__flavor="m1.huge")))
    api.load(typed(capi.Machine, changed(CAPI_MACHINE, metadata__resourceVersion="", metadata__generation=8)))
    await reconciled(api, reader)
    reader.release()
    for _ in range(2):
        rest = await reconciled(api, reader)
    assert not rest.failed
    mirror = mapi_of(api)
    assert mirror is not None
    assert mirror["spec"]["providerSpec"]["value"]["flavor"] == "m1.huge"


@pytest.mark.parametrize("vanishing", [mapi.Machine, capo.OpenStackMachine])
async def test_an_object_that_goes_while_we_write_to_it_is_no_fault_to_report(vanishing: type) -> None:
    """It went a moment too early for us, which is what we were about to allow anyway."""
    api = await at_rest()
    name, namespace = ("w-0-infra", THEIRS) if vanishing is capo.OpenStackMachine else (NAME, OURS)
    for kind, where, place in ((capo.OpenStackMachine, "w-0-infra", THEIRS), (capi.Machine, NAME, THEIRS)):
        held: Tree = {"metadata": {"finalizers": [SYNC]}}
        await api.patch(kind, where, held, type=PatchType.MERGE, namespace=place)
        await api.delete(kind, where, namespace=place)

    async def go() -> None:
        await api.patch(vanishing, name, {"metadata": {"finalizers": None}}, type=PatchType.MERGE, namespace=namespace)
        if api.peek(vanishing, name, namespace=namespace) is not None:
            await api.delete(vanishing, name, namespace=namespace)

    api.conflict_by(go, "patch", vanishing)
    reader = LaggingReader(api)
    for _ in range(3):
        await reconciled(api, reader)
    assert [tree for tree in api.dump() if tree["kind"] in ("Event", "Machine", "OpenStackMachine")] == []
    assert said(api, mapi.Machine) == ["True"]


MACHINE = Movable(
    name=NAME,
    machine_api=mapi.Machine,
    cluster_api=capi.Machine,
    reconciled=reconciled,
    machine_api_core=machine_api_controllers,
    cluster_api_core=(cluster_api_core, provider),
)


def alone() -> MemoryApi:
    """A Machine of the Machine API that nobody has mirrored yet."""
    return world(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None)


async def test_a_pause_of_an_earlier_move_is_not_taken_for_the_answer_to_this_one() -> None:
    """A successor whose cache of Cluster API is of the time before authority came there."""
    api = alone()
    reader, successor = LaggingReader(api), LaggingReader(api)
    await MACHINE.everybody(api, reader)
    successor.freeze(capi.Machine, capo.OpenStackMachine)
    await MACHINE.ask(api, "ClusterAPI")
    await MACHINE.everybody(api, reader)
    assert MACHINE.sides(api) == ("ClusterAPI", False)
    await MACHINE.ask(api, "MachineAPI")
    await reconciled(api, reader, max_rounds=1)
    assert MACHINE.sides(api) == ("Migrating", False)
    await reconciled(api, successor)
    assert MACHINE.sides(api) != ("MachineAPI", False)
    await MACHINE.everybody(api, reader, successor)
    assert MACHINE.sides(api) == ("MachineAPI", True)


async def test_cluster_api_is_not_let_go_for_a_move_that_is_over() -> None:
    """A successor that still sees the Machine API paused in the middle of a move that was called off."""
    await cluster_api_stays_paused_after_a_move_that_was_called_off(alone(), MACHINE)


@pytest.mark.parametrize(("first", "then"), [("MachineAPI", "ClusterAPI"), ("ClusterAPI", "MachineAPI")])
async def test_a_successor_that_has_not_seen_that_authority_moved_changes_nothing(first: str, then: str) -> None:
    await who_has_not_seen_the_move_changes_nothing(alone(), MACHINE, first=first, then=then)


@pytest.mark.parametrize(("field", "value"), [("spec.providerID", "openstack:///2"), ("metadata.labels.team", "b")])
@pytest.mark.parametrize("authority", ["ClusterAPI", "MachineAPI"])
async def test_what_a_successor_has_not_seen_when_it_moves_authority_is_not_lost(
    authority: str, field: str, value: str
) -> None:
    await a_change_that_a_successor_has_not_seen_is_not_lost(
        alone(), MACHINE, authority=authority, field=field, value=value
    )


async def test_a_mirror_of_a_later_generation_than_was_seen_is_not_written_over() -> None:
    api = await at_rest()
    reader = LaggingReader(api)
    reader.freeze(capi.Machine)
    later: Tree = {"spec": {"providerID": "openstack:///2"}}
    await api.patch(capi.Machine, NAME, later, type=PatchType.MERGE, namespace=THEIRS)
    await reconciled(api, LaggingReader(api))
    before = api.version
    await reconciled(api, reader)
    assert api.version == before, [str(change) for change in api.changes_since(before)]


async def test_an_infra_machine_that_its_provider_acts_on_is_not_taken_for_a_mirrors() -> None:
    """A successor has seen the infra machine let go, and neither of the Machines that say why."""
    api = alone()
    reader, successor = LaggingReader(api), LaggingReader(api)
    await MACHINE.everybody(api, reader)
    successor.freeze(mapi.Machine, capi.Machine)
    await MACHINE.ask(api, "ClusterAPI")
    await MACHINE.everybody(api, reader)
    before = api.version
    await reconciled(api, successor)
    assert api.version == before, [str(change) for change in api.changes_since(before)]
