"""The Machine API is authoritative, and the set is Cluster API's: what that set writes to its machines is its own."""

import copy
from typing import Any

import pytest

from windlass.machine_sync.constants import MIRRORED_LABELS_ANNOTATION

from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    MAPI_MACHINE,
    MAPI_SET,
    PAUSED,
    Tree,
    changed,
    decided,
    mirrored,
    settled,
    under_machine_api,
    writes,
)

TIERED = changed(MAPI_MACHINE, metadata__labels={"tier": "basic"}, metadata__annotations={"tier": "basic"})
PROPAGATED: dict[str, Any] = {
    "spec__minReadySeconds": 7,
    "spec__readinessGates": [{"conditionType": "Checked"}],
    "spec__taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}],
    "spec__deletion__nodeDrainTimeoutSeconds": 30,
    "spec__deletion__nodeVolumeDetachTimeoutSeconds": 30,
    "spec__deletion__nodeDeletionTimeoutSeconds": 20,
    "spec__bootstrap__dataSecretName": "other",
}


def acting(*, paused: bool = False, **metadata: Any) -> Tree:
    """The set of the machine with this metadata in its template."""
    annotations = {PAUSED: ""} if paused else {}
    return changed(CAPI_SET, metadata__annotations=annotations, spec__template__metadata=metadata)


def marked(case: Tree, **tier: str | None) -> Tree:
    """The case with another tier on all that mirrors the machine."""
    result = {**case, **{side: copy.deepcopy(case[side]) for side in ("cluster_api", "infra_machine")}}
    for side in ("cluster_api", "infra_machine"):
        for part, value in tier.items():
            result[side] = changed(result[side], **{f"metadata__{part}__tier": value})
    return result


@pytest.mark.parametrize(("path", "value"), PROPAGATED.items())
def test_a_field_that_the_set_writes_stays_on_the_mirror(path: str, value: Any) -> None:
    case = under_machine_api()
    assert writes(decided(**{**case, "cluster_api": changed(case["cluster_api"], **{path: value})})) == []


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_a_value_of_its_template_stays_on_both_mirrors_though_the_machine_has_another(part: str) -> None:
    case = marked(under_machine_api(machine_api=TIERED), **{part: "gold"})
    template: dict[str, Any] = {part: {"tier": "gold"}}
    assert writes(decided(**case, cluster_api_set=acting(**template))) == []


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_what_its_template_drops_is_the_machines_again(part: str) -> None:
    case = marked(under_machine_api(machine_api=TIERED), **{part: None})
    end = settled(**case, cluster_api_set=acting())
    assert [end[side]["metadata"][part]["tier"] for side in ("cluster_api", "infra_machine")] == ["basic", "basic"]


def test_what_neither_has_any_more_goes_though_both_had_it() -> None:
    case = marked(under_machine_api(machine_api=TIERED), labels="gold")
    dropped = changed(case["machine_api"], metadata__labels={"other": "1"})
    case = settled(**{**case, "machine_api": dropped, "cluster_api_set": acting(labels={"tier": "gold"})})
    assert case["cluster_api"]["metadata"]["labels"]["tier"] == "gold"
    assert "tier=basic" in case["cluster_api"]["metadata"]["annotations"][MIRRORED_LABELS_ANNOTATION].split(",")
    end = settled(**{**case, "cluster_api_set": acting()})
    assert "tier" not in end["cluster_api"]["metadata"]["labels"]
    assert "tier" not in end["infra_machine"]["metadata"]["labels"]


def test_a_set_that_is_paused_writes_nothing_so_all_that_conversion_makes_is_ours() -> None:
    case = marked(under_machine_api(machine_api=TIERED), labels="gold", annotations="gold")
    for path, value in PROPAGATED.items():
        case["cluster_api"] = changed(case["cluster_api"], **{path: value})
    template = {"labels": {"tier": "gold"}, "annotations": {"tier": "gold"}}
    end = settled(**case, cluster_api_set=acting(paused=True, **template))
    assert end["cluster_api"]["metadata"]["labels"]["tier"] == "basic"
    assert end["infra_machine"]["metadata"]["annotations"]["tier"] == "basic"
    spec = end["cluster_api"]["spec"]
    assert spec["bootstrap"] == {"dataSecretName": "worker-user-data"}
    assert spec["deletion"]["nodeDeletionTimeoutSeconds"] == 10


def test_fields_that_the_machine_api_does_not_know_stay_also_without_a_set() -> None:
    case = under_machine_api(machine_api=changed(MAPI_MACHINE, metadata__ownerReferences=None))
    fields = {"spec__minReadySeconds": 7, "spec__deletion__nodeDrainTimeoutSeconds": 30}
    assert writes(decided(**{**case, "cluster_api": changed(case["cluster_api"], **fields)})) == []


@pytest.mark.parametrize("set_paused", [True, False])
def test_a_field_that_conversion_made_before_and_makes_no_more_goes(set_paused: bool) -> None:
    zoned = changed(MAPI_MACHINE, spec__providerSpec__value__availabilityZone="nova")
    case = under_machine_api(machine_api=zoned)
    assert case["cluster_api"]["spec"]["failureDomain"] == "nova"
    unzoned = changed(case["machine_api"], spec__providerSpec__value__availabilityZone=None)
    end = settled(**{**case, "machine_api": unzoned, "cluster_api_set": acting(paused=set_paused)})
    assert "failureDomain" not in end["cluster_api"]["spec"]


def with_owner(mirror: Tree, **reference: bool | None) -> Tree:
    (owner,) = mirror["metadata"]["ownerReferences"]
    return changed(mirror, metadata__ownerReferences=[{**owner, **reference}])


BARE = with_owner(MAPI_MACHINE, controller=None, blockOwnerDeletion=None)
"""A Machine whose owner reference a user has written."""


def owner_of(mirror: Tree) -> Tree:
    (owner,) = mirror["metadata"]["ownerReferences"]
    return {key: owner[key] for key in ("controller", "blockOwnerDeletion") if key in owner}


@pytest.mark.parametrize("paused", [False, True], ids=["the set acts", "the set is paused"])
def test_the_owner_reference_that_the_set_writes_again_and_again_stays_as_it_is(paused: bool) -> None:
    case = under_machine_api(machine_api=BARE)
    written = with_owner(case["cluster_api"], controller=True, blockOwnerDeletion=True)
    end = settled(**{**case, "cluster_api": written, "cluster_api_set": acting(paused=paused)})
    assert owner_of(case["cluster_api"]) == {}
    assert owner_of(end["cluster_api"]) == ({} if paused else owner_of(written))


@pytest.mark.parametrize("authority", ["MachineAPI", "ClusterAPI"])
def test_a_set_of_the_machine_api_that_acts_does_not_adopt_its_machine_again_and_again(authority: str) -> None:
    bare = with_owner(CAPI_MACHINE, controller=None)
    written = with_owner(mirrored(cluster_api=bare), controller=True)
    acts = changed(MAPI_SET, status={"authoritativeAPI": authority, "synchronizedGeneration": 1})
    end = settled(cluster_api=bare, machine_api=written, machine_api_set=acts)
    assert ("controller" in owner_of(end["machine_api"])) is (authority == "MachineAPI")
