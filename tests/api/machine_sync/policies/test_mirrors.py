"""The side that is not authoritative, on a real API server."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, MIRRORED_LABELS_ANNOTATION, SYNC_FINALIZER

from .messages import MACHINES, annotation_message, is_machine_api, label_message, mirrored_message, spec_message
from .policed import SPECS, Kind, Policed, Tree

KINDS: tuple[Kind, ...] = (mapi.Machine, mapi.MachineSet, capi.Machine, capi.MachineSet)

LABELS = {
    "machine.openshift.io/zone": "a",
    "kubernetes.io/os": "linux",
    "cluster.x-k8s.io/cluster-name": "c",
    "x.cluster.x-k8s.io/y": "z",
    "team": "red",
    "own": "1",
}
ANNOTATIONS = {
    "machine.openshift.io/instance-state": "running",
    "cluster.x-k8s.io/paused": "",
    "clusters.x-k8s.io/odd": "1",
    "own": "1",
    MIRRORED_LABELS_ANNOTATION: "empty=,gone=away,team=blue",
}


async def mirror(policed: Policed, kind: Kind, *, authority: str = "", namespace: str = "") -> str:
    """One whose authority is the other API; `authority` makes it another one."""
    annotations, held = dict(ANNOTATIONS), [] if is_machine_api(kind) else [SYNC_FINALIZER]
    status: Tree | None = None
    if is_machine_api(kind):
        status = {"authoritativeAPI": authority or "ClusterAPI"}
    elif authority in ("", "MachineAPI"):
        annotations[AUTHORITY_ANNOTATION] = "MachineAPI"
    return await policed.make(
        kind, status=status, namespace=namespace, labels=LABELS, annotations=annotations, finalizers=held
    )


TEMPLATE_HASH = "Setting the 'machine-template-hash' label is forbidden."

SPEC_CHANGES: dict[Kind, list[Tree]] = {
    mapi.Machine: [
        {"providerSpec": {"value": {"flavor": "m1.small"}}},
        {"providerSpec": None},
        {"providerID": "openstack:///1"},
        {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        {"lifecycleHooks": {"preDrain": [{"name": "backup", "owner": "somebody"}]}},
        {"metadata": {"labels": {"a": "b"}}},
        {"authoritativeAPI": "ClusterAPI", "providerID": "openstack:///1"},
        {"metadata": {"generateName": "unknown-to-conversion-"}},
    ],
    mapi.MachineSet: [
        {"replicas": 2},
        {"minReadySeconds": 5},
        {"deletePolicy": "Newest"},
        {"selector": {"matchLabels": {"set": "y"}}},
        {"template": {"spec": {"providerSpec": {"value": {"flavor": "m1.small"}}}}},
        {"template": {"spec": {"authoritativeAPI": "ClusterAPI"}}},
        {"authoritativeAPI": "ClusterAPI", "replicas": 2},
    ],
    capi.Machine: [{"failureDomain": "az1"}, {"providerID": "openstack:///1"}, {"bootstrap": {"dataSecretName": "y"}}],
    capi.MachineSet: [{"replicas": 2}, {"template": {"spec": {"failureDomain": "az1"}}}],
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_the_spec_of_a_mirror_is_not_for_users(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind)
    for change in SPEC_CHANGES[kind]:
        assert await policed.refusal(kind, name, {"spec": change}) == spec_message(kind), change
    assert await policed.refusal(kind, name, {"spec": SPECS[kind]}) == ""


@pytest.mark.parametrize("kind", [mapi.Machine, mapi.MachineSet], ids=lambda kind: str(kind.RESOURCE))
async def test_a_mirror_of_the_machine_api_may_be_given_authority(policed: Policed, kind: Kind) -> None:
    name = await policed.make(kind, {"authoritativeAPI": "ClusterAPI"}, status={"authoritativeAPI": "ClusterAPI"})
    assert await policed.refusal(kind, name, {"spec": {"authoritativeAPI": "MachineAPI"}}) == ""


LABEL_CHANGES: list[Tree] = [
    {"machine.openshift.io/zone": "b"},
    {"machine.openshift.io/zone": ""},
    {"machine.openshift.io/zone": None},
    {"machine.openshift.io/new": "b"},
    {"machine.openshift.io/new": ""},
    {"kubernetes.io/os": "windows"},
    {"kubernetes.io/new": "x"},
    {"cluster.x-k8s.io/cluster-name": "d"},
    {"cluster.x-k8s.io/cluster-name": None},
    {"x.cluster.x-k8s.io/y": "a"},
    {"new.cluster.x-k8s.io/y": ""},
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_labels_of_either_api_stay_as_they_are(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind)
    for change in LABEL_CHANGES:
        assert await policed.refusal(kind, name, {"metadata": {"labels": change}}) == label_message(kind), change


ANNOTATION_CHANGES: list[Tree] = [
    {"machine.openshift.io/instance-state": "stopped"},
    {"machine.openshift.io/instance-state": ""},
    {"machine.openshift.io/instance-state": None},
    {"machine.openshift.io/delete-machine": ""},
    {"cluster.x-k8s.io/paused": "true"},
    {"cluster.x-k8s.io/paused": None},
    {"cluster.x-k8s.io/delete-machine": "yes"},
    {"clusters.x-k8s.io/odd": "2"},
    {"clusters.x-k8s.io/new": ""},
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_annotations_of_either_api_stay_as_they_are(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind)
    for change in ANNOTATION_CHANGES:
        refusal = await policed.refusal(kind, name, {"metadata": {"annotations": change}})
        assert refusal == annotation_message(kind), change


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_other_labels_and_annotations_are_free(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind)
    for change in ({"own": "2"}, {"own": None}, {"new": ""}, {"node-role.kubernetes.io/infra": ""}):
        assert await policed.refusal(kind, name, {"metadata": {"labels": change, "annotations": change}}) == "", change


MIRRORED_LABEL_CHANGES: list[tuple[Tree, bool]] = [
    ({"team": "blue"}, True),
    ({"team": "red"}, True),
    ({"team": "green"}, False),
    ({"team": ""}, False),
    ({"team": None}, False),
    ({"gone": "away"}, True),
    ({"gone": "back"}, False),
    ({"empty": ""}, True),
    ({"empty": "not"}, False),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_a_mirrored_label_may_only_become_what_it_mirrors(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind)
    for change, admitted in MIRRORED_LABEL_CHANGES:
        expected = "" if admitted else mirrored_message(kind)
        assert await policed.refusal(kind, name, {"metadata": {"labels": change}}) == expected, change


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_the_template_hash_is_not_set_on_machines(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind)
    expected = TEMPLATE_HASH if kind in MACHINES else ""
    assert await policed.refusal(kind, name, {"metadata": {"labels": {"machine-template-hash": "1"}}}) == expected


EVERYTHING: Tree = {
    "labels": {"machine.openshift.io/zone": "b", "team": "green", "machine-template-hash": "1"},
    "annotations": {"machine.openshift.io/instance-state": "stopped", "cluster.x-k8s.io/paused": "true"},
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_the_authoritative_side_is_free(policed: Policed, kind: Kind) -> None:
    authority = "MachineAPI" if is_machine_api(kind) else "ClusterAPI"
    name = await mirror(policed, kind, authority=authority)
    for change in SPEC_CHANGES[kind]:
        if "authoritativeAPI" not in change:
            assert await policed.refusal(kind, name, {"spec": change, "metadata": EVERYTHING}) == "", change


@pytest.mark.parametrize("kind", [mapi.Machine, mapi.MachineSet], ids=lambda kind: str(kind.RESOURCE))
@pytest.mark.parametrize("authority", ["Migrating", None])
async def test_an_object_that_is_not_known_to_be_a_mirror_is_free(
    policed: Policed, kind: Kind, authority: str | None
) -> None:
    status: Any = {"authoritativeAPI": authority} if authority else None
    name = await policed.make(kind, status=status, labels=LABELS)
    assert await policed.refusal(kind, name, {"spec": SPEC_CHANGES[kind][0], "metadata": EVERYTHING}) == ""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_controllers_may_write_mirrors(
    policed: Policed, kind: Kind, machine_sync: str, controllers: tuple[str, ...]
) -> None:
    name = await mirror(policed, kind)
    for user in (machine_sync, *controllers):
        change = {"spec": SPEC_CHANGES[kind][0], "metadata": EVERYTHING}
        assert await policed.refusal(kind, name, change, by=user) == "", user


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_finalizers_and_deletion_are_free(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind)
    assert await policed.refusal(kind, name, {"metadata": {"finalizers": ["example.com/hold"]}}) == ""
    await policed.delete(kind, name)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_other_namespaces_are_free(policed: Policed, kind: Kind) -> None:
    name = await mirror(policed, kind, namespace="default")
    change = {"spec": SPEC_CHANGES[kind][0], "metadata": EVERYTHING}
    assert await policed.refusal(kind, name, change, namespace="default") == ""
