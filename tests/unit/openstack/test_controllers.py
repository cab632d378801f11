"""The controllers in all namespaces, in one, and in several: what they watch, and what they may do."""

from typing import Any

import pytest

from windlass.capability.manifests.rights import Unread
from windlass.kube.control.controller import Controller
from windlass.kube.control.permissions import CallPermission, rules
from windlass.openstack.capability import capability
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.controllers import makers


def controllers(*namespaces: str) -> list[Controller[Any, Any]]:
    return [make(Unread()) for make in makers(Clouds(), namespaces)]


def watched(controller: Controller[Any, Any]) -> set[str | None]:
    return {watch.namespace for watch in controller.watches if watch.kind.RESOURCE.namespaced}


def test_without_a_namespace_they_watch_all() -> None:
    assert {name for each in controllers() for name in watched(each)} == {None}


@pytest.mark.parametrize("namespaces", [("a",), ("a", "b"), ("b", "a", "b")])
def test_they_watch_and_write_only_where_they_are_told_to(namespaces: tuple[str, ...]) -> None:
    for each in controllers(*namespaces):
        assert watched(each) == set(namespaces)
        written = [said for said in each.permissions if not isinstance(said, CallPermission)]
        assert {said.namespace for said in written} <= {*namespaces}


def test_several_namespaces_are_watched_in_the_same_way() -> None:
    for one, two in zip(controllers("a"), controllers("a", "b"), strict=True):
        kinds = [watch.kind for watch in two.watches if watch.namespace == "b"]
        assert kinds == [watch.kind for watch in one.watches if watch.namespace == "a"]


def test_limited_to_namespaces_it_may_read_secrets_only_there() -> None:
    limited = rules(capability(namespaces=("a", "b")).permissions())
    everywhere = [resource for rule in limited[None] for resource in rule["resources"]]
    assert "secrets" not in everywhere
    for name in ("a", "b"):
        assert any("secrets" in rule["resources"] for rule in limited[name])
