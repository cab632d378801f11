"""The CRDs that we wrote of foreign kinds, and the alarm for types that drift from a CRD. Enforcement: tests/api."""

import copy
from typing import Any

import pytest

from windlass.api import build, capibm, capo
from windlass.api.meta import KubernetesObject
from windlass.kube.crd import custom_resource_definition
from windlass.testing.crds import lax
from windlass.testing.crds.drift import differences
from windlass.testing.crds.ours import Foreign, foreign

OURS: list[type[KubernetesObject]] = [
    capibm.IBMPowerVSMachine,
    capibm.IBMPowerVSMachineTemplate,
    capibm.IBMPowerVSCluster,
    build.Build,
]


def _crd(kind: type[KubernetesObject]) -> dict[str, Any]:
    return next(crd for crd in foreign() if crd["metadata"]["name"] == kind.RESOURCE.name)


def _properties(crd: dict[str, Any], *path: str) -> dict[str, Any]:
    found: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    for name in path:
        found = found[name]["properties"]
    return found


def test_each_foreign_kind_is_there_once() -> None:
    assert sorted(crd["metadata"]["name"] for crd in foreign()) == sorted(kind.RESOURCE.name for kind in OURS)


def test_sets_are_chosen_by_name() -> None:
    assert {crd["spec"]["names"]["kind"] for crd in foreign(Foreign.POWERVS)} == {
        "IBMPowerVSCluster",
        "IBMPowerVSMachine",
        "IBMPowerVSMachineTemplate",
    }


def test_what_is_handed_out_may_be_changed() -> None:
    changed = _crd(capibm.IBMPowerVSMachine)
    _properties(changed, "spec").clear()
    assert _properties(_crd(capibm.IBMPowerVSMachine), "spec")


@pytest.mark.parametrize("crd", foreign(), ids=lambda crd: crd["metadata"]["name"])
def test_names_are_consistent(crd: dict[str, Any]) -> None:
    names = crd["spec"]["names"]
    assert crd["metadata"]["name"] == f"{names['plural']}.{crd['spec']['group']}"
    assert names["singular"] == names["kind"].lower()
    assert names["listKind"] == f"{names['kind']}List"


@pytest.mark.parametrize("crd", foreign(Foreign.POWERVS), ids=lambda crd: crd["metadata"]["name"])
def test_infrastructure_kinds_tell_cluster_api_their_version(crd: dict[str, Any]) -> None:
    version = crd["spec"]["versions"][0]["name"]
    assert crd["metadata"]["labels"] == {"cluster.x-k8s.io/v1beta1": version, "cluster.x-k8s.io/v1beta2": version}


def test_builds_have_no_status_subresource() -> None:
    assert "subresources" not in _crd(build.Build)["spec"]["versions"][0]


@pytest.mark.parametrize("crd", foreign(), ids=lambda crd: crd["metadata"]["name"])
def test_lax_changes_nothing_but_the_schema(crd: dict[str, Any]) -> None:
    before = copy.deepcopy(crd)
    relaxed = lax(crd)
    assert crd == before
    for version in relaxed["spec"]["versions"]:
        assert version.pop("schema") == {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        }
    for version in before["spec"]["versions"]:
        del version["schema"]
    assert relaxed == before


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.RESOURCE.name)
def test_our_types_agree_with_our_crds(kind: type[KubernetesObject]) -> None:
    assert differences(kind, _crd(kind)) == []


def test_a_renamed_field_is_noticed() -> None:
    crd = custom_resource_definition(capo.OpenStackMachine)
    spec = _properties(crd, "spec")
    spec |= {"portList": spec.pop("ports")}
    assert differences(capo.OpenStackMachine, crd) == ["OpenStackMachine.spec.ports: not in the CRD"]


def test_a_retyped_field_is_noticed_also_inside_lists() -> None:
    crd = custom_resource_definition(capo.OpenStackMachine)
    _properties(crd, "status")["addresses"]["items"]["properties"]["address"] = {"type": "integer"}
    assert differences(capo.OpenStackMachine, crd) == [
        "OpenStackMachine.status.addresses[].address: declared as string, the CRD says integer"
    ]


def test_a_version_that_is_no_longer_served_is_noticed() -> None:
    crd = custom_resource_definition(capo.OpenStackMachine)
    crd["spec"]["versions"][0]["served"] = False
    crd["spec"]["versions"].append({"name": "v1", "served": True})
    assert differences(capo.OpenStackMachine, crd) == ["OpenStackMachine: version v1beta1 is not served, only v1"]


def test_a_kind_that_moved_is_noticed() -> None:
    crd = custom_resource_definition(capo.OpenStackMachine)
    crd["spec"]["scope"] = "Cluster"
    [difference] = differences(capo.OpenStackMachine, crd)
    assert difference.startswith("OpenStackMachine: RESOURCE is")
