"""One row per machine out of both sides."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.object import Object
from windlass.kube.seen import Present, Unreadable, seen
from windlass.machine_sync.overview import Generation, Reference, join, row

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
    rows = join([mirror("b"), mirror("c")], [source("a"), source("b")])

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

    assert row("worker-0", left, source(generation=7)).generation == expected


def test_a_source_that_does_not_exist_has_no_generation() -> None:
    left = mirror(authoritativeAPI="ClusterAPI", synchronizedGeneration=3)

    generation = row("worker-0", left, None).generation

    assert generation == Generation(3, None)
    assert not generation.behind


def test_without_a_machine_api_machine_nothing_is_known_about_authority() -> None:
    seen_row = row("worker-0", None, source(phase="Running"))

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

    synchronized = row("worker-0", mirror(conditions=conditions), None).synchronized

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

    side = row("worker-0", None, right).cluster_api

    assert side is not None
    assert side.infrastructure == Reference("OpenStackMachine", "infra-0")
    assert (side.node, side.provider_id) == ("node-0", "openstack:///1")


@pytest.mark.parametrize(("authority", "paused"), [("ClusterAPI", True), ("Migrating", True), ("MachineAPI", False)])
def test_the_machine_api_pauses_by_authority(authority: str, paused: bool) -> None:
    side = row("worker-0", mirror(authoritativeAPI=authority), None).machine_api

    assert side is not None
    assert side.paused is paused


def test_cluster_api_pauses_by_annotation() -> None:
    right = found(capi.Machine, "worker-0", annotations={"cluster.x-k8s.io/paused": ""})

    side = row("worker-0", None, right).cluster_api

    assert side is not None
    assert side.paused


def test_an_object_that_cannot_be_decoded_is_still_a_row() -> None:
    broken = Unreadable(ObjectMeta(name="worker-0", namespace="ns"), "Machine ns/worker-0: Expected `str`")

    seen_row = row("worker-0", broken, source(phase="Running"))

    assert seen_row.machine_api is not None
    assert seen_row.machine_api.unreadable == "Machine ns/worker-0: Expected `str`"
    assert seen_row.cluster_api is not None
    assert seen_row.cluster_api.phase == "Running"


def test_a_machine_on_neither_side_is_gone() -> None:
    assert row("worker-0", None, None).gone
    assert not row("worker-0", None, source()).gone
