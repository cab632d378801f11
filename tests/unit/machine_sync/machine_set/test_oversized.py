"""A mirror would have more annotations than an API server admits: a condition says so, and nothing is tried again."""

import pytest

from windlass.machine_sync.mirroring.reports import ANNOTATIONS_LIMIT
from windlass.model.reader import MemoryReader

from .cases import BEHIND_CLUSTER_API, CAPI_SET, MAPI_SET, Tree, changed
from .world import mapi_of, reconciled, synchronized, world

MUCH = {"notes": "x" * (ANNOTATIONS_LIMIT - 30)}


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        pytest.param(
            {"machine_api": changed(MAPI_SET, metadata__annotations=MUCH)},
            "FailedToCreateCAPIMachineSet",
            id="to-Cluster-API",
        ),
        pytest.param(
            {"machine_api": BEHIND_CLUSTER_API, "cluster_api": changed(CAPI_SET, metadata__annotations=MUCH)},
            "FailedToUpdateMAPIMachineSet",
            id="to-the-Machine-API",
        ),
    ],
)
async def test_it_is_said_once(case: Tree, reason: str) -> None:
    api = world(**case)
    rest = await reconciled(api, MemoryReader(api))
    said = synchronized(mapi_of(api))
    assert (rest.failed, said["status"], said["reason"]) == (False, "False", reason)
    assert f"and {ANNOTATIONS_LIMIT} are admitted" in said["message"]
    assert (await reconciled(api, MemoryReader(api))).writes == 0
