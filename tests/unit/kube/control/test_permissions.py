"""Permissions: what they cover, and the RBAC rules they become."""

from typing import Any

import pytest

from windlass.api.core import Namespace, Secret
from windlass.kube.control.permissions import (
    Declared,
    Permission,
    blocks_deletion_of,
    changes_owners_of,
    emits_events,
    evicts_pods,
    permission,
    reads,
    requests_tokens,
    rules,
    writes,
)
from windlass.testing.scripted import Widget


def test_a_declaration_covers_what_it_names_and_nothing_else() -> None:
    declared = Declared([reads(Widget), writes(Widget, "patch", subresource="status")])
    somewhere: dict[str, Any] = {"namespace": "shop", "name": "a"}
    assert declared(Widget, "get", **somewhere)
    assert declared(Widget, "list", namespace=None)
    assert declared(Widget, "patch", "status", **somewhere)
    assert not declared(Widget, "patch", **somewhere)
    assert not declared(Widget, "get", "status", **somewhere)
    assert not declared(Secret, "get", **somewhere)


def test_a_declaration_for_a_namespace_covers_that_namespace_alone() -> None:
    declared = Declared([reads(Widget, namespace="shop"), writes(Widget, "patch", namespace="mill")])
    assert declared(Widget, "get", namespace="shop", name="a")
    assert not declared(Widget, "get", namespace="mill", name="a")
    assert not declared(Widget, "patch", namespace="shop", name="a")
    assert not declared(Widget, "list", namespace=None), "of all namespaces"


def test_a_declaration_for_names_covers_requests_that_name_one_of_them() -> None:
    declared = Declared([permission(Secret, "get", "patch", "create", namespace="shop", names=("pull", "push"))])
    assert declared(Secret, "get", namespace="shop", name="push")
    assert not declared(Secret, "get", namespace="shop", name="other")
    assert not declared(Secret, "create", namespace="shop"), "a request to create has no name"


def test_rules_are_merged_ordered_and_separated_by_namespace() -> None:
    declared = [
        writes(Widget, "patch", namespace="shop"),
        reads(Widget, namespace="shop"),
        writes(Widget, "create", namespace="shop"),
        writes(Widget, "patch", subresource="status", namespace="shop"),
        emits_events(namespace="shop"),
        reads(Namespace),
    ]
    assert (
        rules(declared)
        == rules(reversed(declared))
        == {
            None: [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}],
            "shop": [
                {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
                {
                    "apiGroups": ["example.com"],
                    "resources": ["widgets"],
                    "verbs": ["create", "get", "list", "patch", "watch"],
                },
                {"apiGroups": ["example.com"], "resources": ["widgets/status"], "verbs": ["patch"]},
            ],
        }
    )


def test_what_is_granted_everywhere_is_not_granted_again_in_a_namespace() -> None:
    assert rules([reads(Widget), reads(Widget, namespace="shop"), writes(Widget, "patch", namespace="shop")])[
        "shop"
    ] == [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["patch"]}]


def test_permissions_by_name_keep_their_names() -> None:
    (rule,) = rules([permission(Secret, "get", namespace="shop", names=("pull",))])["shop"]
    assert rule["resourceNames"] == ["pull"]


def test_owner_references_need_what_the_admission_plugin_asks_for() -> None:
    assert rules([blocks_deletion_of(Widget), changes_owners_of(Widget)])[None] == [
        {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["delete"]},
        {"apiGroups": ["example.com"], "resources": ["widgets/finalizers"], "verbs": ["update"]},
    ]


@pytest.mark.parametrize("wildcard", [{"verbs": ("*",)}, {"resource": "*"}, {"group": "*"}])
def test_wildcards_are_refused(wildcard: dict[str, object]) -> None:
    usual: dict[str, object] = {"group": "g", "resource": "r", "verbs": ("get",)}
    with pytest.raises(ValueError, match="wildcard"):
        Permission(**{**usual, **wildcard})  # type: ignore[arg-type]


def test_permissions_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="without verbs"):
        permission(Widget)
    with pytest.raises(ValueError, match="cluster-scoped"):
        reads(Namespace, namespace="shop")
    with pytest.raises(ValueError, match="no action needs update"):
        writes(Widget, "update")


def test_rights_on_subresources_of_pods_and_service_accounts_become_rbac_by_name() -> None:
    declared = (evicts_pods(), requests_tokens("puller", namespace="builds"))
    assert rules(declared) == {
        None: [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}],
        "builds": [
            {
                "apiGroups": [""],
                "resources": ["serviceaccounts/token"],
                "verbs": ["create"],
                "resourceNames": ["puller"],
            }
        ],
    }
