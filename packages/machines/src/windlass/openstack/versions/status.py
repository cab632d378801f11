"""The status of an object in the other version. An API server does not take it from `kubectl apply`; people read it."""

from typing import Any, Final

from windlass.openstack.versions import fields
from windlass.openstack.versions.fields import NEW, Tree

INGRESS: Final = ("APIServerIngressReadyCondition", "APIServerIngressReady")
"""A type of conditions, in v1beta1 and in v1beta2."""
NO_REASON: Final = "NoReasonReported"
"""For a condition that has none: v1beta2 demands one. Cluster API uses this word too."""
FORMER: Final = ("failureReason", "failureMessage")

_LOAD_BALANCER: Final = (fields.Move("apiServerLoadBalancer", "apiServerManagedLoadBalancer"),)


def status(tree: Tree, target: str, *, reports_ready: bool, generation: int, warnings: list[str]) -> None:
    """Convert the status in place. `reports_ready`: its kind has `ready` in v1beta1. What is dropped is in `warnings`.
    A field with an unexpected type stays as it is."""
    ignored: list[str] = []
    fields.move(tree, _LOAD_BALANCER, target, at="status", errors=ignored)
    for holder in (tree, tree.get("bastion")):
        if isinstance(holder, dict) and isinstance(holder.get("resolved"), dict):
            fields.ports(holder["resolved"], target, at="status.resolved", errors=ignored)
    if target == NEW:
        _to_new(tree, reports_ready, generation, warnings)
    else:
        _to_old(tree, reports_ready, warnings)


def _to_new(tree: Tree, reports_ready: bool, generation: int, warnings: list[str]) -> None:
    if isinstance(zones := tree.get("failureDomains"), dict):
        tree["failureDomains"] = [{"name": name, **(zones[name] or {})} for name in sorted(zones)]
    if reports_ready and tree.pop("ready", False) is True:
        tree.setdefault("initialization", {"provisioned": True})
    for field in FORMER:
        if (value := tree.pop(field, None)) is not None:
            text = f"status.{field}: {value!r} is dropped, {NEW} has no such field: see the condition Ready"
            warnings.append(text)
    for condition in _conditions(tree):
        if severity := condition.pop("severity", ""):
            text = (
                f"status.conditions[{condition.get('type')}].severity: {severity!r} is dropped, {NEW} has no severity"
            )
            warnings.append(text)
        _rename(condition, *INGRESS)
        condition["reason"] = condition.get("reason") or NO_REASON
        condition.setdefault("message", "")
        if generation:
            condition.setdefault("observedGeneration", generation)


def _to_old(tree: Tree, reports_ready: bool, warnings: list[str]) -> None:
    if isinstance(zones := tree.get("failureDomains"), list):
        tree["failureDomains"] = {
            zone["name"]: {"controlPlane": False, **{key: value for key, value in zone.items() if key != "name"}}
            for zone in zones
            if isinstance(zone, dict) and "name" in zone
        }
    for condition in _conditions(tree):
        _rename(condition, *reversed(INGRESS))
        if condition.get("reason") == NO_REASON:
            del condition["reason"]
        condition.pop("observedGeneration", None)
    if reports_ready:
        tree["ready"] = any(one.get("type") == "Ready" and one.get("status") == "True" for one in _conditions(tree))


def _conditions(tree: Tree) -> list[dict[str, Any]]:
    found = tree.get("conditions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _rename(condition: dict[str, Any], before: str, after: str) -> None:
    if condition.get("type") == before:
        condition["type"] = after
