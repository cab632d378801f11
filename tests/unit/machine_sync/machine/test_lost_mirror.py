"""The Machine API is authoritative and its mirror is lost: the infra machine is found, whatever its name.

It has another name than the machine where Cluster API made the machine, and authority has moved since.
"""

from contextlib import suppress

import pytest

from windlass.api import capi, capo
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import MemoryReader

from .cases import INFRA, MAPI_MACHINE, PAUSED
from .world import NAME, THEIRS, at_rest, mapi_of, reconciled, synchronized, tree_of, typed

INFRA_NAME = INFRA["metadata"]["name"]


async def mirrored() -> MemoryApi:
    """In sync, with an infra machine that is not called like the machine."""
    api = await at_rest(machine_api=MAPI_MACHINE)
    assert infra_names(api) == [INFRA_NAME]
    return api


async def let_go(api: MemoryApi, kind: type, name: str) -> None:
    """Somebody takes its finalizers off and deletes it, if it is there."""
    with suppress(NotFound):
        await api.patch(kind, name, {"metadata": {"finalizers": None}}, type=PatchType.MERGE, namespace=THEIRS)
        await api.delete(kind, name, namespace=THEIRS)


async def deleted_by_force(api: MemoryApi) -> None:
    """The garbage collector then deletes what the mirror owned."""
    await let_go(api, capi.Machine, NAME)
    await api.delete(capo.OpenStackMachine, INFRA_NAME, namespace=THEIRS)


async def deleted_by_force_before_the_collector_looks(api: MemoryApi) -> None:
    await let_go(api, capi.Machine, NAME)


async def orphaned(api: MemoryApi) -> None:
    """Deleted with `--cascade=orphan`: its infra machine loses its owner."""
    bare = {"metadata": {"ownerReferences": None}}
    await api.patch(capo.OpenStackMachine, INFRA_NAME, bare, type=PatchType.MERGE, namespace=THEIRS)
    await let_go(api, capi.Machine, NAME)


async def collected(api: MemoryApi) -> None:
    """Its set is recreated, so the garbage collector deletes it."""
    await let_go(api, capi.MachineSet, "ms")
    await api.create(capi.MachineSet, typed(capi.MachineSet, {"metadata": {"name": "ms"}}), namespace=THEIRS)
    await api.delete(capi.Machine, NAME, namespace=THEIRS)


@pytest.mark.parametrize("lost", [deleted_by_force, deleted_by_force_before_the_collector_looks, orphaned, collected])
async def test_no_infra_machine_is_left_beside_that_of_the_mirror(lost: object) -> None:
    api = await mirrored()
    await lost(api)  # type: ignore[operator]
    await reconciled(api, MemoryReader(api))
    await collect_garbage(api)
    await reconciled(api, MemoryReader(api))
    mirror = tree_of(api, capi.Machine, NAME, THEIRS)
    assert mirror is not None
    (name,) = infra_names(api)
    assert name == mirror["spec"]["infrastructureRef"]["name"]
    infra = tree_of(api, capo.OpenStackMachine, name, THEIRS)
    assert infra is not None
    assert infra["metadata"]["ownerReferences"][0]["uid"] == mirror["metadata"]["uid"]
    assert "deletionTimestamp" not in infra["metadata"]
    assert PAUSED in infra["metadata"]["annotations"]
    assert synchronized(mapi_of(api))["status"] == "True"


def infra_names(api: MemoryApi) -> list[str]:
    return [found.name for found in api.listing(capo.OpenStackMachine)]
