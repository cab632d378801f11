"""One row per machine and per MachineSet out of both sides."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.control.seen import Present, Unreadable, seen
from windlass.kube.object import Object
from windlass.machine_sync.overview import KINDS, MACHINE_SETS, MACHINES, AnyKind, Generation, InfraReference, Replicas

Found = Present[Any] | Unreadable


def found(kind: Any, name: str, *, spec: Any = None, status: Any = None, **metadata: Any) -> Found:
    tree = {"metadata": {"name": name, "generation": 1, **metadata}, "spec": spec or {}, "status": status or {}}
    value = seen(Object.of(kind, tree))
    assert isinstance(value, Present | Unreadable)
    return value


def mirror(name: str = "worker-0", *, generation: int = 1, **status: Any) -> Found:
    return found(mapi.Machine, name, status=status, generation=generation)


def source(name: str = "worker-0", *, generation: int = 1, **status: Any) -> Found:
    return found(capi.Machine, name, status=status, generation=generation)


def test_machines_are_joined_by_name_and_sorted() -> None:
    rows = MACHINES.join([mirror("b"), mirror("c")], [source("a"), source("b")])

    assert [(r.name, r.machine_api is not None, r.cluster_api is not None) for r in rows] == [
        ("a", False, True),
        ("b", True, True),
        ("c", True, False),
    ]


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("ClusterAPI", Generation(3, 7)),
        ("MachineAPI", Generation(3, 5)),
        ("Migrating", Generation(3, None)),
        ("", Generation(3, None)),
    ],
)
def test_the_source_generation_is_that_of_the_authoritative_side(authority: str, expected: Generation) -> None:
    left = mirror(generation=5, authoritativeAPI=authority, synchronizedGeneration=3)

    assert MACHINES.row("worker-0", left, source(generation=7)).generation == expected


def test_a_source_that_does_not_exist_has_no_generation() -> None:
    left = mirror(authoritativeAPI="ClusterAPI", synchronizedGeneration=3)

    generation = MACHINES.row("worker-0", left, None).generation

    assert generation == Generation(3, None)
    assert not generation.behind


def test_without_a_machine_api_machine_nothing_is_known_about_authority() -> None:
    seen_row = MACHINES.row("worker-0", None, source(phase="Running"))

    assert (seen_row.authority, seen_row.synchronized, seen_row.generation) == ("", None, None)


def test_the_synchronized_condition_is_found_among_others() -> None:
    conditions = [
        {"type": "Paused", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {
            "type": "Synchronized",
            "status": "False",
            "severity": "Error",
            "reason": "FailedToConvertCAPIMachineToMAPI",
            "message": "no",
            "lastTransitionTime": "2026-01-02T00:00:00Z",
        },
    ]

    synchronized = MACHINES.row("worker-0", mirror(conditions=conditions), None).synchronized

    assert synchronized is not None
    assert (synchronized.status, synchronized.reason, synchronized.since) == (
        "False",
        "FailedToConvertCAPIMachineToMAPI",
        "2026-01-02T00:00:00Z",
    )


def test_infrastructure_node_and_provider_id_are_those_of_their_side() -> None:
    right = found(
        capi.Machine,
        "worker-0",
        spec={"providerID": "openstack:///1", "infrastructureRef": {"kind": "OpenStackMachine", "name": "infra-0"}},
        status={"nodeRef": {"name": "node-0"}},
    )

    side = MACHINES.row("worker-0", None, right).cluster_api

    assert side is not None
    assert side.infrastructure == InfraReference("OpenStackMachine", "infra-0")
    assert (side.node, side.provider_id) == ("node-0", "openstack:///1")


@pytest.mark.parametrize(("authority", "paused"), [("ClusterAPI", True), ("Migrating", True), ("MachineAPI", False)])
def test_the_machine_api_pauses_by_authority(authority: str, paused: bool) -> None:
    side = MACHINES.row("worker-0", mirror(authoritativeAPI=authority), None).machine_api

    assert side is not None
    assert side.paused is paused


def test_cluster_api_pauses_by_annotation() -> None:
    right = found(capi.Machine, "worker-0", annotations={"cluster.x-k8s.io/paused": ""})

    side = MACHINES.row("worker-0", None, right).cluster_api

    assert side is not None
    assert side.paused


def test_an_object_that_cannot_be_decoded_is_still_a_row() -> None:
    broken = Unreadable(ObjectMeta(name="worker-0", namespace="ns"), "Machine ns/worker-0: Expected `str`")

    seen_row = MACHINES.row("worker-0", broken, source(phase="Running"))

    assert seen_row.machine_api is not None
    assert seen_row.machine_api.unreadable == "Machine ns/worker-0: Expected `str`"
    assert seen_row.cluster_api is not None
    assert seen_row.cluster_api.phase == "Running"


def test_a_machine_on_neither_side_is_gone() -> None:
    assert MACHINES.row("worker-0", None, None).gone
    assert not MACHINES.row("worker-0", None, source()).gone


def pair(kind: AnyKind, *, left: Any = None, right: Any = None) -> tuple[Found | None, Found | None]:
    """An object on the sides for which a status is given."""
    return (
        None if left is None else found(kind.machine_api, "a", status=left),
        None if right is None else found(kind.cluster_api, "a", status=right),
    )


def condition(status: str) -> dict[str, str]:
    return {"type": "Synchronized", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}


IN_SYNC = {"authoritativeAPI": "ClusterAPI", "synchronizedGeneration": 1, "conditions": [condition("True")]}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    ("left", "right", "unsynced"),
    [
        pytest.param(IN_SYNC, {}, False, id="synchronized"),
        pytest.param(IN_SYNC | {"conditions": [condition("False")]}, {}, True, id="not synchronized"),
        pytest.param(IN_SYNC | {"conditions": [condition("Unknown")]}, {}, True, id="unknown"),
        pytest.param(IN_SYNC | {"conditions": [condition("False")]}, None, True, id="not synchronized, no mirror"),
        pytest.param(IN_SYNC | {"synchronizedGeneration": 0}, {}, True, id="an older generation is synchronized"),
        pytest.param(IN_SYNC | {"authoritativeAPI": "Migrating", "synchronizedGeneration": 0}, {}, False, id="moving"),
        pytest.param({"authoritativeAPI": "MachineAPI"}, {}, True, id="mirrored, and nothing is said"),
        pytest.param({"authoritativeAPI": "MachineAPI"}, None, False, id="not mirrored: Machine API"),
        pytest.param(None, {}, False, id="not mirrored: Cluster API"),
        pytest.param({"conditions": "?"}, None, True, id="unreadable"),
        pytest.param(None, None, False, id="gone"),
    ],
)
def test_what_is_mirrored_is_out_of_sync_unless_somebody_says_it_is_not(
    kind: AnyKind, left: Any, right: Any, *, unsynced: bool
) -> None:
    assert kind.row("a", *pair(kind, left=left, right=right)).unsynced is unsynced


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_row_knows_its_kind(kind: AnyKind) -> None:
    (joined,) = kind.join([found(kind.machine_api, "a")], [found(kind.cluster_api, "a")])

    assert (joined.kind, joined.name, len(joined.sides)) == (kind.name, "a", 2)


def test_a_machine_set_has_its_replicas_on_each_side() -> None:
    left = found(
        mapi.MachineSet,
        "workers",
        spec={"replicas": 3},
        status={"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "authoritativeAPI": "MachineAPI"},
    )
    right = found(
        capi.MachineSet,
        "workers",
        spec={
            "replicas": 3,
            "template": {"spec": {"infrastructureRef": {"kind": "OpenStackMachineTemplate", "name": "workers-1"}}},
        },
    )

    shown = MACHINE_SETS.row("workers", left, right)

    assert shown.machine_api is not None
    assert shown.machine_api.replicas == Replicas(desired=3, current=3, ready=2, available=1)
    assert shown.cluster_api is not None
    assert shown.cluster_api.replicas == Replicas(desired=3, current=None, ready=None, available=None)
    assert shown.cluster_api.infrastructure_template == InfraReference("OpenStackMachineTemplate", "workers-1")
    assert shown.generation == Generation(0, 1)


@pytest.mark.parametrize(
    ("replicas", "complete"),
    [
        (Replicas(3, 3, 3, 3), True),
        (Replicas(0, 0, 0, 0), True),
        (Replicas(3, 3, 2, 2), False),
        (Replicas(2, 3, 2, 2), False),
        (Replicas(3, None, None, None), False),
        (Replicas(None, None, None, None), False),
    ],
)
def test_replicas_are_complete_when_all_are_there_and_ready(replicas: Replicas, *, complete: bool) -> None:
    assert replicas.complete is complete


def test_a_machine_set_of_cluster_api_pauses_by_annotation_and_its_mirror_by_authority() -> None:
    left = found(mapi.MachineSet, "workers", status={"authoritativeAPI": "ClusterAPI"})
    right = found(capi.MachineSet, "workers", annotations={"cluster.x-k8s.io/paused": ""})

    shown = MACHINE_SETS.row("workers", left, right)

    assert [side.paused for side in shown.sides] == [True, True]
