"""A provider that is newer than our types adds defaults of its own to templates: nothing is written for them."""

import pytest

from windlass.kube.verbs import PatchType
from windlass.machine_sync.platforms import Platform
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..trees import with_defaults
from .cases import MAPI_SET, THEIRS, Tree, changed
from .defaults_cases import LOOKS, PLATFORMS
from .world import mapi_of, reconciled, synchronized, templates_of, world


async def provider(api: MemoryApi, platform: Platform) -> None:
    """Completes what has just been made."""
    for name, tree in templates_of(api, platform).items():
        template = tree["spec"]["template"]
        if "brandNew" not in template["spec"]:
            body = {"spec": {"template": {"spec": with_defaults(template["spec"])}}}
            await api.patch(platform.infra_template, name, body, type=PatchType.MERGE, namespace=THEIRS)


@pytest.mark.parametrize(("platform", "value", "infrastructure"), PLATFORMS)
async def test_a_template_with_defaults_that_we_do_not_know_is_at_rest(
    platform: Platform, value: Tree, infrastructure: Tree
) -> None:
    machine_set = changed(MAPI_SET, spec__template__spec__providerSpec__value=value)
    api = world(platform=platform, machine_api=machine_set, templates=(), infrastructure=infrastructure)
    looks = []
    for _ in range(LOOKS):
        looks.append(await reconciled(api, MemoryReader(api), platform=platform))
        await provider(api, platform)
    assert not any(look.failed for look in looks)
    assert [look.writes for look in looks[1:]] == [0] * (LOOKS - 1)
    (template,) = templates_of(api, platform).values()
    assert template["spec"]["template"]["spec"]["brandNew"] == "default"
    assert synchronized(mapi_of(api))["status"] == "True"
