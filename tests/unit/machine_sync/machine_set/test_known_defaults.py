"""A provider fills in any field of a template that our types know: nothing is written for it."""

from typing import Any

import pytest

from windlass.kube.verbs import PatchType
from windlass.machine_sync.platforms import Platform
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..mirroring.provider_defaults import filled, known_fields
from .cases import MAPI_SET, THEIRS, Tree, changed
from .defaults_cases import LOOKS, PLATFORMS
from .world import mapi_of, reconciled, synchronized, templates_of, world


async def provider(api: MemoryApi, platform: Platform, complete: Any) -> None:
    """Completes the only template, once."""
    ((name, tree),) = templates_of(api, platform).items()
    spec = {"template": {"spec": complete(tree["spec"]["template"]["spec"])}}
    await api.patch(platform.infra_template, name, {"spec": spec}, type=PatchType.MERGE, namespace=THEIRS)


@pytest.mark.parametrize(("platform", "value", "infrastructure"), PLATFORMS)
async def test_a_template_is_at_rest_whatever_field_its_provider_fills_in(
    platform: Platform, value: Tree, infrastructure: Tree
) -> None:
    machine_set = changed(MAPI_SET, spec__template__spec__providerSpec__value=value)
    restless = []
    for path, default in known_fields(platform).items():
        api = world(platform=platform, machine_api=machine_set, templates=(), infrastructure=infrastructure)
        first = await reconciled(api, MemoryReader(api), platform=platform)
        await provider(api, platform, lambda spec, path=path, default=default: filled(spec, path, default))
        looks = [await reconciled(api, MemoryReader(api), platform=platform) for _ in range(LOOKS - 1)]
        if [first.failed, *(look.writes for look in looks)] != [False, 0, 0]:
            restless.append(path)
        assert synchronized(mapi_of(api))["status"] == "True"
    assert restless == []
