"""What an action changes, field by field."""

from typing import Any

import pytest

from windlass.api import core, mapi
from windlass.capability.planning.fields import HIDDEN, field_changes
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.plan import AddFinalizer, Create, Delete, Merge, Target

from .world import HERE, Tree


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({}, {"a": {"b": {"c": 1}, "d": {}}}, [("a.b.c", None, 1), ("a.d", None, {})]),
        ({"a": {"b": [{"c": 1}, {"d": 2}]}}, {}, [("a.b[0].c", 1, None), ("a.b[1].d", 2, None)]),
        ({}, {"a": ["x", "y"]}, [("a", None, ["x", "y"])]),
        ({"a": ["x"]}, {"a": ["x", "y"]}, [("a", ["x"], ["x", "y"])]),
        ({"a": {"b": 1}}, {"a": 7}, [("a", {"b": 1}, 7)]),
        ({"a": None}, {"a": {"b": None}}, []),
        ({"a": {}}, {"a": {"b": 1}}, [("a.b", None, 1)]),
        ({"a": {"b": 1}}, {"a": {}}, [("a.b", 1, None)]),
        (
            {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Paused", "status": "True"}]},
            {
                "conditions": [
                    {"type": "New"},
                    {"type": "Paused", "status": "True"},
                    {"type": "Ready", "status": "False"},
                ]
            },
            [("conditions[New].type", None, "New"), ("conditions[Ready].status", "True", "False")],
        ),
        (
            {"ports": [{"name": "a"}, {"name": "b"}]},
            {"ports": [{"name": "b"}, {"name": "a"}]},
            [("ports", ["a", "b"], ["b", "a"])],
        ),
        (
            {"addresses": [{"type": "IP", "address": "1"}, {"type": "IP", "address": "2"}]},
            {"addresses": [{"type": "IP", "address": "1"}, {"type": "IP", "address": "3"}]},
            [("addresses[1].address", "2", "3")],
        ),
    ],
)
def test_changes_go_down_to_the_leaves(before: Tree, after: Tree, changed: list[tuple[str, Any, Any]]) -> None:
    action = Merge(target=Target(mapi.Machine, "a", HERE), observed=before, desired=after)

    assert field_changes(action) == tuple(FieldChange(*each) for each in changed)


def test_files_of_a_config_map_are_told_by_their_sizes() -> None:
    body = {"immutable": True, "binaryData": {"a": "AAAA", "b": "AA==", "c": ""}}
    told = field_changes(Create(target=Target(core.ConfigMap, "a", HERE), body=body))
    expected = {"immutable": True, "binaryData.a": "(3 bytes)", "binaryData.b": "(1 bytes)", "binaryData.c": ""}
    assert {change.path: change.after for change in told} == expected


def test_finalizers_and_deletions_have_their_fields_too() -> None:
    aim = Target(mapi.Machine, "a", HERE)

    assert field_changes(Delete(target=aim)) == ()
    added = AddFinalizer(target=aim, observed=("x",), finalizer="y")
    assert field_changes(added) == (FieldChange("metadata.finalizers", None, "y"),)


def test_of_a_secret_only_the_names_of_its_data_are_told() -> None:
    before: Tree = {"metadata": {"labels": {"a": "1"}}, "data": {"token": "b2xk", "gone": "eA=="}}
    after: Tree = {"metadata": {"labels": {"a": "2"}}, "data": {"token": "bmV3"}, "stringData": {"user": "me"}}
    secret = Target(core.Secret, "pull", HERE, "uid")
    assert field_changes(Merge(target=secret, observed=before, desired=after)) == (
        FieldChange("metadata.labels.a", "1", "2"),
        FieldChange("data.token", HIDDEN, HIDDEN),
        FieldChange("data.gone", HIDDEN, None),
        FieldChange("stringData.user", None, HIDDEN),
    )
    created = field_changes(Create(target=secret, body={"type": "Opaque", "data": {"token": "b2xk"}}))
    assert created == (FieldChange("type", None, "Opaque"), FieldChange("data.token", None, HIDDEN))
