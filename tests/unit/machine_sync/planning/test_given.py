"""Documents as an API server would hold them."""

import json
from typing import Any

import pytest
from hypothesis import given as given_by_hypothesis
from hypothesis import strategies as st

from windlass.machine_sync.planning.deciders import MIRRORED, kinds
from windlass.model import MemoryApi

from .world import HERE, NOW, given


def test_what_was_written_by_hand_gets_what_an_api_server_gives() -> None:
    (tree,) = given("{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}").trees

    assert tree["metadata"] == {"name": "a", "namespace": HERE, "generation": 1}


@pytest.mark.parametrize(
    ("kind", "spec", "defaulted"),
    [
        ("Machine", {}, {"authoritativeAPI": "MachineAPI"}),
        ("Machine", {"authoritativeAPI": None}, {"authoritativeAPI": "MachineAPI"}),
        ("Machine", {"authoritativeAPI": "ClusterAPI"}, {"authoritativeAPI": "ClusterAPI"}),
        ("Machine", None, None),
        ("Machine", "odd", "odd"),
        ("MachineSet", {"replicas": 0}, {"authoritativeAPI": "MachineAPI", "replicas": 0}),
        (
            "MachineSet",
            {"template": {"spec": {}}},
            {
                "authoritativeAPI": "MachineAPI",
                "replicas": 1,
                "template": {"spec": {"authoritativeAPI": "MachineAPI"}},
            },
        ),
    ],
)
def test_fields_that_decide_about_authority_get_the_defaults_of_the_crds(kind: str, spec: Any, defaulted: Any) -> None:
    metadata = {"name": "a", "uid": "u", "resourceVersion": "7"}
    tree = {"apiVersion": "machine.openshift.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}

    (taken,) = given(json.dumps(tree)).trees

    assert taken["spec"] == defaulted


def test_what_a_cluster_stored_keeps_everything() -> None:
    metadata = "{name: a, namespace: openshift-cluster-api, uid: u, resourceVersion: '7', generation: 3}"
    (tree,) = given(
        f"{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {metadata}, status: {{x: null}}}}"
    ).trees

    assert tree["metadata"]["uid"] == "u"
    assert tree["metadata"]["resourceVersion"] == "7"
    assert tree["metadata"]["generation"] == 3
    assert tree["status"] == {"x": None}


def machine_text(zone: str, **metadata: Any) -> str:
    labelled = {"name": "a", "labels": {"zone": zone}, **metadata}
    return json.dumps({"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": labelled})


def zones(taken: Any) -> list[str]:
    return [tree["metadata"]["labels"]["zone"] for tree in taken.trees]


@pytest.mark.parametrize("version", [None, "10"])
def test_of_two_documents_of_the_same_version_the_later_counts(version: str | None) -> None:
    same = {"resourceVersion": version} if version else {}

    taken = given("---\n".join([machine_text("a", **same) + "\n", machine_text("b", **same)]))

    assert zones(taken) == ["b"]
    assert taken.notes == ("Machine/a (files:1): given more than once, what counts is in files:3",)


@pytest.mark.parametrize("versions", [("7", "7"), ("7", None), (None, None), (None, "7"), ("7", "8")])
def test_a_later_input_overrides_an_earlier_one(versions: tuple[str | None, str | None]) -> None:
    first, second = ({"resourceVersion": version} if version else {} for version in versions)

    taken = given(machine_text("a", **first), machine_text("b", **second))

    assert zones(taken) == ["b"]
    assert taken.notes == ("Machine/a (files:1): given more than once, what counts is in later-1:1",)


def test_an_older_version_overrides_too_and_that_it_is_older_is_said() -> None:
    taken = given(machine_text("a", resourceVersion="10"), machine_text("b", resourceVersion="9"))

    assert zones(taken) == ["b"]
    assert taken.notes[0].endswith("what counts is in later-1:1, although its resourceVersion is older, 9 and not 10")


def test_of_three_inputs_the_last_counts() -> None:
    taken = given(machine_text("a"), machine_text("b"), machine_text("c"))

    assert zones(taken) == ["c"]
    assert len(taken.notes) == 2


STORED = """
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: a, uid: u, resourceVersion: "7", generation: 3, finalizers: [f]}
spec: {providerID: "openstack:///1"}
status: {phase: Running}
"""


def test_what_somebody_changes_keeps_its_identity_and_status_and_the_change_counts() -> None:
    (tree,) = given(STORED, machine_text("b")).trees

    assert tree["metadata"] == {
        "name": "a",
        "namespace": HERE,
        "labels": {"zone": "b"},
        "uid": "u",
        "resourceVersion": "7",
        "generation": 4,
    }
    assert tree["status"] == {"phase": "Running"}


def test_a_change_of_metadata_is_no_new_generation() -> None:
    changed = STORED.replace("name: a,", "name: a, labels: {zone: b},").replace("Running", "Failed")

    (tree,) = given(STORED, changed).trees

    assert tree["metadata"]["generation"] == 3
    assert tree["status"] == {"phase": "Failed"}


def test_another_object_of_the_same_name_keeps_nothing_of_the_one_before() -> None:
    (tree,) = given(STORED, machine_text("b", uid="other")).trees

    assert tree["metadata"]["generation"] == 1
    assert "status" not in tree


@pytest.mark.parametrize("versions", [("9", "10"), ("10", "9"), (None, "10")])
def test_of_an_object_that_is_twice_in_one_input_the_newer_one_counts(versions: tuple[str | None, str]) -> None:
    texts = [
        "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a"
        + (f", resourceVersion: '{version}'" if version else "")
        + "}}"
        for version in versions
    ]
    taken = given("\n---\n".join(texts))

    (tree,) = taken.trees
    assert tree["metadata"]["resourceVersion"] == "10"
    assert len(taken.notes) == 1


def test_an_item_of_a_list_is_what_its_list_says() -> None:
    text = "{apiVersion: machine.openshift.io/v1beta1, kind: MachineList, items: [{metadata: {name: a}}]}"

    taken = given(text)

    assert [(tree["apiVersion"], tree["kind"]) for tree in taken.trees] == [("machine.openshift.io/v1beta1", "Machine")]


def test_the_same_object_twice_is_not_worth_a_word() -> None:
    text = "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}"

    taken = given(f"{text}\n---\n{text}")

    assert (len(taken.trees), taken.notes, taken.errors) == (1, (), ())


def test_documents_of_other_kinds_do_no_harm() -> None:
    taken = given("{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\n{kind: Odd}\n---\n{a: b}")

    assert (taken.trees, taken.notes, taken.errors) == ((), (), ())
    assert not taken.count(MIRRORED)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given_by_hypothesis(
    kind=st.sampled_from(kinds()),
    metadata=JSON
    | st.dictionaries(
        st.sampled_from(["name", "namespace", "uid", "resourceVersion", "labels", "finalizers", "generation"]), JSON
    ),
    spec=JSON,
)
def test_whatever_is_given_is_taken_in_or_is_an_error(kind: Any, metadata: Any, spec: Any) -> None:
    document = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": metadata, "spec": spec}

    taken = given(json.dumps(document))
    api = MemoryApi(*kinds(), clock=lambda: NOW)
    api.load(*taken.trees)

    assert len(taken.trees) + len(taken.errors) <= 1
