"""A mirror would have more annotations than an API server admits: a condition says so, and nothing is tried again."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.verbs import PatchType
from windlass.machine_sync.mirroring.reports import ANNOTATIONS_LIMIT
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from .cases import CAPI_MACHINE, MAPI_MACHINE, Tree, changed, mirrored
from .world import NAME, OURS, THEIRS, mapi_of, reconciled, synchronized, world

MUCH = {"notes": "x" * (ANNOTATIONS_LIMIT - 100)}
"""Annotations that are admitted, while a mirror with what is said on it about itself is not."""
BULKY = changed(MAPI_MACHINE, metadata__annotations=MUCH)


async def lightened(api: MemoryApi, kind: type[Any], namespace: str) -> None:
    body = {"metadata": {"annotations": {"notes": None}}}
    await api.patch(kind, NAME, body, type=PatchType.MERGE, namespace=namespace)


@pytest.mark.parametrize(
    ("case", "source", "reason"),
    [
        pytest.param(
            {"machine_api": BULKY, "cluster_api": None, "infra_machine": None},
            (mapi.Machine, OURS),
            "FailedToCreateCAPIMachine",
            id="to-Cluster-API",
        ),
        pytest.param({"machine_api": BULKY}, (mapi.Machine, OURS), "FailedToUpdateCAPIMachine", id="to-its-mirror"),
        pytest.param(
            {"machine_api": mirrored(), "cluster_api": changed(CAPI_MACHINE, metadata__annotations=MUCH)},
            (capi.Machine, THEIRS),
            "FailedToUpdateMAPIMachine",
            id="to-the-Machine-API",
        ),
    ],
)
async def test_it_is_said_once_and_heals_when_some_are_removed(
    case: Tree, source: tuple[type[Any], str], reason: str
) -> None:
    api = world(**case)
    rest = await reconciled(api, MemoryReader(api))
    said = synchronized(mapi_of(api))
    assert (rest.failed, said["status"], said["reason"]) == (False, "False", reason)
    assert f"and {ANNOTATIONS_LIMIT} are admitted" in said["message"]
    assert (await reconciled(api, MemoryReader(api))).writes == 0
    await lightened(api, *source)
    await reconciled(api, MemoryReader(api))
    assert synchronized(mapi_of(api))["status"] == "True"


async def test_the_first_machine_of_cluster_api_is_not_made_by_halves() -> None:
    """There our only annotations are the notes of what it was given."""
    much = {"notes": "x" * (ANNOTATIONS_LIMIT - 30)}
    first = changed(MAPI_MACHINE, metadata__annotations=much, spec__authoritativeAPI="ClusterAPI")
    api = world(machine_api=changed(first, status__authoritativeAPI="ClusterAPI"), cluster_api=None, infra_machine=None)
    await reconciled(api, MemoryReader(api))
    assert synchronized(mapi_of(api))["reason"] == "FailedToCreateCAPIInfraMachine"
    assert [*api.listing(capi.Machine), *api.listing(OPENSTACK.infra_machine)] == []
