"""CRDs that the API server would refuse, because objects were once stored in a version that they lack."""

from typing import Any

import pytest

from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.capability.planning.stored_versions import refused_definitions
from windlass.model import MemoryApi

KINDS = (OpenStackMachine, OpenStackMachineTemplate)


def crd(kind: type[Any], *stored: str) -> dict[str, Any]:
    resource = CustomResourceDefinition.RESOURCE
    status = {"storedVersions": list(stored)}
    meta = {"name": kind.RESOURCE.name}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": {}, "status": status}


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        pytest.param([], [], id="no CRD"),
        pytest.param(["v1beta1"], [], id="ours"),
        pytest.param(["v1alpha7", "v1beta1"], ["v1alpha7"], id="of 0.9"),
        pytest.param(["v1alpha5", "v1alpha7", "v1beta1"], ["v1alpha5, v1alpha7"], id="older ones"),
        pytest.param(["v1beta1", "v1beta2"], ["v1beta2"], id="of the beta of 0.15"),
    ],
)
async def test_a_version_that_ours_lacks_is_named_with_the_migration(stored: list[str], named: list[str]) -> None:
    api = MemoryApi(CustomResourceDefinition)
    if stored:
        api.load(crd(OpenStackMachineTemplate, *stored))
        api.load(crd(OpenStackMachine, "v1beta1"))
    found = await refused_definitions(api, KINDS)
    assert [level for level, _ in found] == ["warning"] * len(named)
    for (_, text), versions in zip(found, named, strict=True):
        assert f"stored in {versions}," in text
        assert "openstackmachinetemplates.infrastructure.cluster.x-k8s.io" in text
        assert "kubectl patch crd openstackmachinetemplates" in text
        assert '{"status":{"storedVersions":["v1beta1"]}}' in text
