"""Caches that lag while authority moves: at no time may both APIs make machines for one MachineSet, or neither."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.verbs import PatchType
from windlass.model.reader import LaggingReader

from ..moves import (
    Movable,
    a_change_that_a_successor_has_not_seen_is_not_lost,
    cluster_api_stays_paused_after_a_move_that_was_called_off,
    who_has_not_seen_the_move_changes_nothing,
)
from .cases import AUTHORITY, MAPI_SET, NAME, PAUSED, THEIRS
from .world import cluster_api_core, machine_api_core, reconciled, world

SET = Movable(
    name=NAME,
    machine_api=mapi.MachineSet,
    cluster_api=capi.MachineSet,
    reconciled=reconciled,
    machine_api_core=machine_api_core,
    cluster_api_core=(cluster_api_core,),
)


async def test_a_pause_of_an_earlier_move_is_not_taken_for_the_answer_to_this_one() -> None:
    """A successor whose cache of Cluster API is of the time before authority came there."""
    api = world(machine_api=MAPI_SET)
    reader, successor = LaggingReader(api), LaggingReader(api)
    await SET.everybody(api, reader)
    successor.freeze(capi.MachineSet)
    await SET.ask(api, "ClusterAPI")
    await SET.everybody(api, reader)
    assert SET.sides(api) == ("ClusterAPI", False)
    await SET.ask(api, "MachineAPI")
    await reconciled(api, reader, max_rounds=2)
    await reconciled(api, successor)
    assert SET.sides(api) != ("MachineAPI", False)
    successor.release()
    await SET.everybody(api, reader, successor)
    assert SET.sides(api) == ("MachineAPI", True)


async def test_cluster_api_is_not_let_go_for_a_move_that_is_over() -> None:
    """A successor that still sees the Machine API paused in the middle of a move that was called off."""
    await cluster_api_stays_paused_after_a_move_that_was_called_off(world(machine_api=MAPI_SET), SET)


@pytest.mark.parametrize(("first", "then"), [("MachineAPI", "ClusterAPI"), ("ClusterAPI", "MachineAPI")])
async def test_a_successor_that_has_not_seen_that_authority_moved_changes_nothing(first: str, then: str) -> None:
    await who_has_not_seen_the_move_changes_nothing(world(machine_api=MAPI_SET), SET, first=first, then=then)


@pytest.mark.parametrize(("field", "value"), [("spec.replicas", 5), ("metadata.labels.team", "b")])
@pytest.mark.parametrize("authority", ["ClusterAPI", "MachineAPI"])
async def test_what_a_successor_has_not_seen_when_it_moves_authority_is_not_lost(
    authority: str, field: str, value: Any
) -> None:
    await a_change_that_a_successor_has_not_seen_is_not_lost(
        world(machine_api=MAPI_SET), SET, authority=authority, field=field, value=value
    )


async def test_a_set_that_somebody_marks_and_pauses_stays_paused() -> None:
    """Cluster API has been authoritative for a while, so neither is ours."""
    api = world(machine_api=MAPI_SET)
    reader = LaggingReader(api)
    await SET.everybody(api, reader)
    await SET.ask(api, "ClusterAPI")
    await SET.everybody(api, reader)
    marks = {"metadata": {"annotations": {PAUSED: "", AUTHORITY: "MachineAPI"}}}
    await api.patch(capi.MachineSet, NAME, marks, type=PatchType.MERGE, namespace=THEIRS)
    await SET.everybody(api, reader)
    assert SET.sides(api) == ("ClusterAPI", True)
    found = api.peek(capi.MachineSet, NAME, namespace=THEIRS)
    assert found is not None
    assert AUTHORITY not in found.metadata.annotations
