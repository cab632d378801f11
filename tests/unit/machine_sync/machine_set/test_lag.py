"""Caches that lag: what they show is history, and what they do not show may exist."""

from typing import Any

import pytest

from windlass.api import capi, capo, mapi
from windlass.kube.verbs import PatchType
from windlass.model.reader import LaggingReader, MemoryReader

from ..trees import said
from .cases import BEHIND_CLUSTER_API, CAPI_SET, GONE, MAPI_SET, NAME, OURS, SYNC, TEMPLATE, THEIRS, changed
from .world import at_rest, capi_of, mapi_of, reconciled, templates_of, typed, world


@pytest.mark.parametrize("kinds", [(capi.MachineSet,), (capo.OpenStackMachineTemplate,)])
async def test_a_mirror_that_is_seen_late_is_not_made_twice_nor_reported(kinds: tuple[Any, ...]) -> None:
    api = await at_rest()
    late = world()
    reader = LaggingReader(late)
    reader.freeze(*kinds)
    late.load(*api.dump())
    for _ in range(3):
        await reconciled(late, reader)
    assert said(late, mapi.MachineSet) == ["True"]
    assert len(templates_of(late)) == 2


async def test_a_template_that_is_seen_late_is_not_said_to_be_missing() -> None:
    api = world(machine_api=BEHIND_CLUSTER_API, cluster_api=CAPI_SET, templates=())
    reader = LaggingReader(api)
    reader.freeze(capo.OpenStackMachineTemplate)
    api.load(typed(capo.OpenStackMachineTemplate, TEMPLATE))
    await reconciled(api, reader)
    assert said(api, mapi.MachineSet) == ["True"]


async def test_a_mirror_of_history_that_is_being_deleted_does_not_take_todays_set_along() -> None:
    """The mirror was deleted, gone and recreated since the cache looked."""
    mirrored = await at_rest()
    gone = changed(CAPI_SET, metadata={**CAPI_SET["metadata"], **GONE, "uid": "before"})
    api = world(machine_api=mapi_of(mirrored), cluster_api=gone)
    reader = LaggingReader(api)
    reader.freeze(capi.MachineSet)
    fresh = capi_of(mirrored)
    assert fresh is not None
    api.load(typed(capi.MachineSet, fresh), *mirrored.dump())
    await reconciled(api, reader)
    found = mapi_of(api)
    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]


async def test_a_mirror_that_is_let_go_knows_of_a_deletion_that_the_cache_has_not_seen() -> None:
    api = world(machine_api=BEHIND_CLUSTER_API)
    await reconciled(api, MemoryReader(api))
    (made,) = [name for name in templates_of(api) if name.startswith("ms-")]
    reader = LaggingReader(api)
    reader.freeze(capi.MachineSet)
    await api.delete(capi.MachineSet, NAME, namespace=THEIRS)
    await api.delete(mapi.MachineSet, NAME, namespace=OURS)
    await reconciled(api, reader)
    assert (mapi_of(api), capi_of(api)) == (None, None)
    assert made not in templates_of(api)


async def test_a_set_whose_mirror_is_seen_late_does_not_go_before_it() -> None:
    api = await at_rest()
    fresh = capi_of(api)
    assert fresh is not None
    late = world(machine_api=mapi_of(api), templates=templates_of(api).values())
    reader = LaggingReader(late)
    reader.freeze(capi.MachineSet)
    late.load(typed(capi.MachineSet, fresh))
    await late.delete(mapi.MachineSet, NAME, namespace=OURS)
    await reconciled(late, reader, max_rounds=2)
    found = mapi_of(late)
    assert found is not None
    assert SYNC in found["metadata"]["finalizers"]


async def test_a_mirror_of_a_later_generation_than_was_seen_is_not_written_over() -> None:
    api = await at_rest(machine_api=BEHIND_CLUSTER_API, cluster_api=CAPI_SET)
    reader = LaggingReader(api)
    reader.freeze(capi.MachineSet)
    await api.patch(capi.MachineSet, NAME, {"spec": {"replicas": 9}}, type=PatchType.MERGE, namespace=THEIRS)
    await reconciled(api, MemoryReader(api))
    before = api.version
    await reconciled(api, reader)
    assert api.version == before, [str(change) for change in api.changes_since(before)]


async def test_a_change_of_somebody_else_in_between_is_not_lost() -> None:
    api = await at_rest()

    async def scale() -> None:
        await api.patch(mapi.MachineSet, NAME, {"spec": {"replicas": 9}}, type=PatchType.MERGE, namespace=OURS)

    body = {"spec": {"replicas": MAPI_SET["spec"]["replicas"] + 1}}
    await api.patch(mapi.MachineSet, NAME, body, type=PatchType.MERGE, namespace=OURS)
    api.conflict_by(scale)
    for _ in range(3):
        await reconciled(api, MemoryReader(api))
    mirror = capi_of(api)
    assert mirror is not None
    assert mirror["spec"]["replicas"] == 9
