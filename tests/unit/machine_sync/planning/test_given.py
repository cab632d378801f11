"""Documents as an API server would hold them."""

import json
from typing import Any

import pytest
from hypothesis import given as given_by_hypothesis
from hypothesis import strategies as st

from windlass.machine_sync.planning.deciders import kinds
from windlass.testing.memory import MemoryApi

from .world import HERE, NOW, given


def test_what_was_written_by_hand_gets_what_an_api_server_gives() -> None:
    (tree,) = given("{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}").trees

    assert tree["metadata"] == {"name": "a", "namespace": HERE, "generation": 1}


def test_what_a_cluster_stored_keeps_everything() -> None:
    metadata = "{name: a, namespace: openshift-cluster-api, uid: u, resourceVersion: '7', generation: 3}"
    (tree,) = given(
        f"{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {metadata}, status: {{x: null}}}}"
    ).trees

    assert tree["metadata"]["uid"] == "u"
    assert tree["metadata"]["resourceVersion"] == "7"
    assert tree["metadata"]["generation"] == 3
    assert tree["status"] == {"x": None}


@pytest.mark.parametrize("versions", [("9", "10"), ("10", "9"), (None, "10")])
def test_of_an_object_that_is_given_twice_the_newer_one_counts(versions: tuple[str | None, str]) -> None:
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


def test_the_same_object_twice_is_not_worth_a_word() -> None:
    text = "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}"

    taken = given(f"{text}\n---\n{text}")

    assert (len(taken.trees), taken.notes, taken.errors) == (1, (), ())


def test_documents_of_other_kinds_do_no_harm() -> None:
    taken = given("{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\n{kind: Odd}\n---\n{a: b}")

    assert (taken.trees, taken.notes, taken.errors) == ((), (), ())
    assert not taken.has_machines


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
