"""A provider that is newer than our types adds defaults of its own: no infra machine is recreated for them."""

import pytest

from windlass.api import mapi
from windlass.kube.verbs import PatchType
from windlass.machine_sync.platforms import OPENSTACK, Platform
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..trees import with_defaults
from .cases import MAPI_MACHINE, Tree
from .defaults_cases import CASES, LOOKS, only
from .world import NAME, OURS, THEIRS, mapi_of, reconciled, synchronized, world


async def provider(api: MemoryApi, platform: Platform) -> None:
    """Completes what has just been made."""
    for found in api.listing(platform.infra_machine):
        spec = found.tree()["spec"]
        if "brandNew" not in spec:
            body = {"spec": with_defaults(spec)}
            await api.patch(platform.infra_machine, found.name, body, type=PatchType.MERGE, namespace=THEIRS)


@pytest.mark.parametrize(("platform", "case"), CASES)
async def test_a_mirror_with_defaults_that_we_do_not_know_is_at_rest(platform: Platform, case: Tree) -> None:
    api = world(**{"platform": platform, **case})
    looks = []
    for _ in range(LOOKS):
        looks.append(await reconciled(api, MemoryReader(api)))
        await provider(api, platform)
    assert not any(look.failed for look in looks)
    assert [look.writes for look in looks[1:]] == [0] * (LOOKS - 1)
    assert only(api, platform)["spec"]["brandNew"] == "default"
    assert synchronized(mapi_of(api))["status"] == "True"


async def test_what_can_be_changed_is_changed_and_what_we_do_not_know_stays() -> None:
    api = world(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None)
    await reconciled(api, MemoryReader(api))
    await provider(api, OPENSTACK)
    before = only(api, OPENSTACK)
    body = {"spec": {"providerSpec": {"value": {"cloudName": "other"}}}}
    await api.patch(mapi.Machine, NAME, body, type=PatchType.MERGE, namespace=OURS)
    await reconciled(api, MemoryReader(api))
    after = only(api, OPENSTACK)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["identityRef"] == {**before["spec"]["identityRef"], "cloudName": "other"}
    assert after["spec"]["identityRef"]["brandNew"] == "default"
