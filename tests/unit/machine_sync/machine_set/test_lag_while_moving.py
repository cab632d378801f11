"""Caches that lag while authority moves: at no time may both APIs make machines for one MachineSet, or neither."""

import pytest

from windlass.api import capi, mapi
from windlass.kube.verbs import PatchType
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.reader import LaggingReader, MemoryReader

from .cases import AUTHORITY, MAPI_SET, NAME, OURS, PAUSED, THEIRS
from .world import capi_of, cluster_api_core, machine_api_core, mapi_of, reconciled, world


async def everybody(api: MemoryApi, *readers: MemoryReader) -> None:
    for _ in range(6):
        for reader in readers:
            await reconciled(api, reader)
        await machine_api_core(api)
        await cluster_api_core(api)


async def ask(api: MemoryApi, authority: str) -> None:
    body = {"spec": {"authoritativeAPI": authority}}
    await api.patch(mapi.MachineSet, NAME, body, type=PatchType.MERGE, namespace=OURS)


def sides(api: MemoryApi) -> tuple[str, bool]:
    """Who is authoritative, and whether Cluster API is paused."""
    machine_set, twin = mapi_of(api), capi_of(api)
    assert machine_set is not None
    assert twin is not None
    return machine_set["status"]["authoritativeAPI"], PAUSED in twin["metadata"].get("annotations", {})


async def test_a_pause_of_an_earlier_move_is_not_taken_for_the_answer_to_this_one() -> None:
    """A successor whose cache of Cluster API is of the time before authority came there."""
    api = world(machine_api=MAPI_SET)
    reader, successor = LaggingReader(api), LaggingReader(api)
    await everybody(api, reader)
    successor.freeze(capi.MachineSet)
    await ask(api, "ClusterAPI")
    await everybody(api, reader)
    assert sides(api) == ("ClusterAPI", False)
    await ask(api, "MachineAPI")
    await reconciled(api, reader, max_rounds=2)
    await reconciled(api, successor)
    assert sides(api) != ("MachineAPI", False)
    successor.release()
    await everybody(api, reader, successor)
    assert sides(api) == ("MachineAPI", True)


async def test_cluster_api_is_not_let_go_for_a_move_that_is_over() -> None:
    """A successor that still sees the Machine API paused in the middle of a move that was called off."""
    api = world(machine_api=MAPI_SET)
    reader, successor = LaggingReader(api), LaggingReader(api)
    await everybody(api, reader)
    await ask(api, "ClusterAPI")
    await reconciled(api, reader)
    await machine_api_core(api)
    assert sides(api) == ("Migrating", True)
    successor.freeze(mapi.MachineSet)
    await ask(api, "MachineAPI")
    await everybody(api, reader)
    assert sides(api) == ("MachineAPI", True)
    await reconciled(api, successor)
    assert sides(api) == ("MachineAPI", True)


@pytest.mark.parametrize(("first", "then"), [("MachineAPI", "ClusterAPI"), ("ClusterAPI", "MachineAPI")])
async def test_a_successor_that_has_not_seen_that_authority_moved_changes_nothing(first: str, then: str) -> None:
    api = world(machine_api=MAPI_SET)
    reader, successor = LaggingReader(api), LaggingReader(api)
    for authority in ("ClusterAPI", first):
        await ask(api, authority)
        await everybody(api, reader)
    successor.freeze(mapi.MachineSet)
    await ask(api, then)
    await everybody(api, reader)
    assert sides(api) == (then, then == "MachineAPI")
    before = api.version
    await reconciled(api, successor)
    assert api.version == before, [str(change) for change in api.changes_since(before)]


async def test_a_set_that_was_left_marked_as_a_mirror_is_let_go() -> None:
    """Cluster API is authoritative, and somebody has put back what says that it is not."""
    api = world(machine_api=MAPI_SET)
    reader = LaggingReader(api)
    await everybody(api, reader)
    await ask(api, "ClusterAPI")
    await everybody(api, reader)
    marks = {"metadata": {"annotations": {PAUSED: "", AUTHORITY: "MachineAPI"}}}
    await api.patch(capi.MachineSet, NAME, marks, type=PatchType.MERGE, namespace=THEIRS)
    await everybody(api, reader)
    assert sides(api) == ("ClusterAPI", False)
