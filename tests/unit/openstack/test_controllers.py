"""The controllers in all namespaces, in one, and in several: what they watch, and what they may do."""

from typing import Any

import pytest

from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.capability.manifests.rights import Unread
from windlass.kube.control.controller import Controller
from windlass.kube.control.permissions import Permission, rules
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.controllers import makers
from windlass.openstack.installation import installation


def controllers(*namespaces: str, machine_api: str = "") -> list[Controller[Any, Any]]:
    return [make(Unread()) for make in makers(Clouds(), namespaces, machine_api=machine_api)]


def watched(controller: Controller[Any, Any], *, beside: type[Any] | None = None) -> set[str | None]:
    """The namespaces in which it watches objects of other kinds than `beside`."""
    kinds = [watch for watch in controller.watches if watch.kind is not beside]
    return {watch.namespace for watch in kinds if watch.kind.RESOURCE.namespaced}


def test_without_a_namespace_they_watch_all() -> None:
    assert {name for each in controllers() for name in watched(each)} == {None}


@pytest.mark.parametrize("namespaces", [("a",), ("a", "b"), ("b", "a", "b")])
def test_they_watch_and_write_only_where_they_are_told_to(namespaces: tuple[str, ...]) -> None:
    for each in controllers(*namespaces):
        assert watched(each) == set(namespaces)
        written = [said for said in each.permissions if isinstance(said, Permission)]
        assert {said.namespace for said in written} <= {*namespaces}


def test_several_namespaces_are_watched_in_the_same_way() -> None:
    for one, two in zip(controllers("a"), controllers("a", "b"), strict=True):
        kinds = [watch.kind for watch in two.watches if watch.namespace == "b"]
        assert kinds == [watch.kind for watch in one.watches if watch.namespace == "a"]


def test_limited_to_namespaces_it_may_read_secrets_only_there() -> None:
    limited = rules(installation(namespaces=("a", "b")).permissions())
    everywhere = [resource for rule in limited[None] for resource in rule["resources"]]
    assert "secrets" not in everywhere
    for name in ("a", "b"):
        assert any("secrets" in rule["resources"] for rule in limited[name])


@pytest.mark.parametrize("namespaces", [(), ("a",), ("a", "b"), ("ours", "a"), ("a", "ours")])
def test_machines_of_the_machine_api_are_those_of_one_namespace_whatever_else_is_watched(
    namespaces: tuple[str, ...],
) -> None:
    without = controllers(*namespaces)
    *others, of_machines = controllers(*namespaces, machine_api="ours")
    assert {watch.namespace for each in others for watch in each.watches if watch.kind is Machine} == {"ours"}
    assert watched(of_machines, beside=OpenStackServer) == {"ours"}
    servers = [watch.namespace for watch in of_machines.watches if watch.kind is OpenStackServer]
    assert servers == list(namespaces or (None,)), "one of them may have recorded a server"
    for one, two in zip(others, without, strict=True):
        assert watched(one) - {"ours"} == watched(two) - {"ours"}


@pytest.mark.parametrize("namespaces", [("a",), ("ours", "a")])
def test_for_the_machine_api_nothing_is_granted_outside_its_namespace(namespaces: tuple[str, ...]) -> None:
    granted = rules(installation(namespaces=namespaces, machine_api="ours").permissions())
    places = {
        resource: {place for place, each in granted.items() if any(resource in rule["resources"] for rule in each)}
        for resource in ("secrets", "machines/status", "events")
    }
    assert places == {"secrets": {"ours", "a"}, "machines/status": {"ours"}, "events": {"ours", "a"}}
    more = granted.keys() - rules(installation(namespaces=namespaces).permissions()).keys()
    assert more - {"ours"} == {"openshift-config"}


def test_of_the_whole_cluster_the_machine_api_adds_what_drains_need_and_the_infrastructure() -> None:
    before, now = (rules(installation(machine_api=place).permissions())[None] for place in ("", "ours"))
    more = [(rule["resources"], rule["verbs"]) for rule in now if rule not in before]
    assert more == [
        (["nodes"], ["delete", "get", "list", "patch"]),
        (["pods"], ["list"]),
        (["pods/eviction"], ["create"]),
        (["infrastructures"], ["list", "watch"]),
    ]
