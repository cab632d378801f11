"""What a controller declares, and which declarations are refused."""

from typing import Any

import pytest

from windlass.api.core import Event, Pod, ServiceAccount
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import (
    Declaration,
    blocks_deletion_of,
    changes_owners_of,
    emits_events,
    evicts_pods,
    permission,
    reads,
    requests_tokens,
    writes,
)
from windlass.kube.control.source import Mailbox
from windlass.kube.object import Object
from windlass.testing.scripted import Widget


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("only declared, not run")


def nothing(_: Object[Any]) -> tuple[str, ...]:
    return ()


def declared(**settings: Any) -> Controller[str, Any]:
    return Controller(name="polish", observe=never, decide=never, **settings)


def from_cache(**settings: Any) -> Watch[str]:
    return Watch(**{"kind": Widget, "map": nothing, "cache_only": True, **settings})


def test_watching_declares_reading() -> None:
    assert declared(watches=(Watch(Widget, nothing, namespace="shop"),)).declared == (reads(Widget, namespace="shop"),)


def test_what_is_only_read_from_the_cache_declares_no_get() -> None:
    assert declared(watches=(from_cache(),)).declared == (permission(Widget, "list", "watch"),)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "watches nothing"),
        ({"sources": (Mailbox(),), "workers": 0}, "workers must be positive"),
        ({"sources": (Mailbox(),), "timeout": 0}, "timeout must be positive"),
        (
            {
                "watches": [
                    Watch(Widget, nothing, namespace="a", indexes={"by": nothing}),
                    Watch(Widget, nothing, namespace="b", indexes={"by": nothing, "too": nothing}),
                    Watch(Widget, nothing, namespace="c", indexes={"by": lambda _: ()}),
                ]
            },
            "two watches of widgets.example.com declare the index 'by' by different functions",
        ),
    ],
)
def test_controllers_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        declared(**settings)


@pytest.mark.parametrize(
    "right", [writes(Widget, "patch"), permission(Widget, "get", "delete"), emits_events(namespace="default")]
)
def test_a_controller_that_needs_no_leadership_may_declare_no_write(right: Declaration) -> None:
    declared(sources=(Mailbox(),), permissions=(reads(Widget),), needs_leadership=False)
    with pytest.raises(ValueError, match=r"controller polish works without leading.*declares that it may"):
        declared(sources=(Mailbox(),), permissions=(right,), needs_leadership=False)


SHOP = from_cache(namespace="shop")


@pytest.mark.parametrize(
    ("watch", "rights"),
    [
        (from_cache(), [writes(Widget, "create")]),
        (from_cache(), [writes(Widget, "patch")]),
        (from_cache(), [writes(Widget, "delete")]),
        (from_cache(), [writes(Widget, "patch", subresource="status")]),
        (from_cache(), [changes_owners_of(Widget)]),
        (from_cache(kind=Pod), [evicts_pods()]),
        (from_cache(), [permission(Widget, "get", subresource="status"), writes(Widget, "patch")]),
        # a cache of a part
        (from_cache(label_selector="chosen"), [writes(Widget, "patch")]),
        (from_cache(optional=True), [writes(Widget, "patch")]),
        # namespaces
        (SHOP, [writes(Widget, "patch", namespace="shop")]),
        (SHOP, [writes(Widget, "patch")]),
        (from_cache(), [writes(Widget, "patch", namespace="shop")]),
        (from_cache(), [writes(Widget, "patch"), permission(Widget, "get", namespace="shop")]),
        (SHOP, [writes(Widget, "patch"), permission(Widget, "get", namespace="home")]),
        # names
        (from_cache(), [writes(Widget, "patch"), permission(Widget, "get", names=("a",))]),
        (from_cache(), [writes(Widget, "patch", names=("a", "b")), permission(Widget, "get", names=("a",))]),
    ],
    ids=str,
)
def test_what_is_written_but_may_not_be_looked_at_is_refused(watch: Watch[str], rights: list[Declaration]) -> None:
    with pytest.raises(ValueError, match=r"controller polish may .*, but not get .*; remove cache_only from its Watch"):
        declared(watches=(watch,), permissions=rights)


@pytest.mark.parametrize(
    ("watch", "rights"),
    [
        (Watch(Widget, nothing), [writes(Widget, "create", "patch", "delete")]),
        (from_cache(), [writes(Widget, "patch"), permission(Widget, "get")]),
        (from_cache(), [writes(Widget, "patch", namespace="shop"), permission(Widget, "get", namespace="shop")]),
        (SHOP, [writes(Widget, "patch"), permission(Widget, "get", namespace="shop")]),
        (from_cache(), [writes(Widget, "patch", names=("a",)), permission(Widget, "get", names=("a", "b"))]),
        # None of what is written is in the cache.
        (SHOP, [writes(Widget, "patch", namespace="home")]),
        (from_cache(), [writes(Pod, "patch")]),
        (from_cache(metadata_only=True), [writes(Widget, "patch")]),
        # None of these changes its target.
        (from_cache(), [blocks_deletion_of(Widget)]),
        (from_cache(kind=ServiceAccount), [requests_tokens("builder")]),
        (from_cache(kind=Event), [emits_events()]),
    ],
    ids=str,
)
def test_what_is_never_in_doubt_needs_no_get(watch: Watch[str], rights: list[Declaration]) -> None:
    declared(watches=(watch,), permissions=rights)


def test_a_refused_declaration_says_where_the_look_is_missing() -> None:
    both = (Watch(Widget, nothing, namespace="home"), SHOP)
    with pytest.raises(
        ValueError, match=r"may patch widgets\.example\.com/status cluster-wide, but not get .* in shop"
    ):
        declared(watches=both, permissions=(writes(Widget, "patch", subresource="status"),))
