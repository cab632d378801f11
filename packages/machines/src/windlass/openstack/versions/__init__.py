"""Converts objects of Cluster API's OpenStack provider between v1beta1 and v1beta2, without a cluster.

    converted = convert(tree, "v1beta2")

The spec survives both directions. What the other version has no field for is stored in the annotation
`cluster.x-k8s.io/conversion-data`, as the provider's webhook does, and is put back by the conversion in the other
direction, unless somebody has changed the spec in between.

`fields` has the tables of fields that differ, and converts specs by them. Of the status some is dropped. An API server
does not take the status from `kubectl apply`; people read it.
"""

import copy
import json
from typing import Any, Final

from msgspec import Struct

from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster, OpenStackClusterTemplate
from windlass.api.meta import without_nulls
from windlass.openstack.versions import fields
from windlass.openstack.versions.fields import NEW, OLD, Tree, lost

GROUP: Final = OpenStackCluster.RESOURCE.group
CLUSTERS: Final = frozenset({OpenStackCluster.RESOURCE.kind, OpenStackClusterTemplate.RESOURCE.kind})
MACHINES: Final = frozenset({OpenStackMachine.RESOURCE.kind, OpenStackMachineTemplate.RESOURCE.kind})
TEMPLATES: Final = frozenset({OpenStackClusterTemplate.RESOURCE.kind, OpenStackMachineTemplate.RESOURCE.kind})
VERSIONS: Final = (OLD, NEW)

CONVERSION_DATA: Final = "cluster.x-k8s.io/conversion-data"
"""The annotation of Cluster API with the object in the version that it was converted from, as JSON."""
DROPPED: Final = f"it was kept in the annotation {CONVERSION_DATA}, but the spec was changed since: add it again"
INGRESS: Final = ("APIServerIngressReadyCondition", "APIServerIngressReady")
"""A type of conditions, in v1beta1 and in v1beta2."""
NO_REASON: Final = "NoReasonReported"
"""For a condition that has none: v1beta2 demands one. Cluster API uses this word too."""
FORMER: Final = ("failureReason", "failureMessage")
"""Fields of the status in v1beta1 alone."""
_LOAD_BALANCER: Final = (fields.Move("apiServerLoadBalancer", "apiServerManagedLoadBalancer"),)


class Converted(Struct, frozen=True):
    """`tree`: the object in the other version; None if there are `errors`. `warnings`: what it has lost, or keeps only
    in the annotation."""

    tree: Tree | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def is_convertible(kind: str, group: str) -> bool:
    """Whether the provider has the kind in both versions."""
    return kind in CLUSTERS | MACHINES and group in (GROUP, "")


def convert(tree: Tree, target: str) -> Converted:
    """The object `tree`, whose kind `is_convertible`, in the version `target`. An object of that version already is
    returned unchanged."""
    version = str(tree.get("apiVersion", "")).rpartition("/")[2]
    if version == target:
        return Converted(tree)
    if version not in VERSIONS:
        said = f"{version} is not supported" if version else "it is missing"
        return Converted(errors=(f"apiVersion: {said}: write {' or '.join(f'{GROUP}/{one}' for one in VERSIONS)}",))
    tree = without_nulls(copy.deepcopy(tree))
    if not isinstance(spec := tree.get("spec", {}), dict):
        return Converted(errors=(f"spec: expected an object, got {spec!r}",))
    errors: list[str] = []
    kind, warnings, metadata = str(tree["kind"]), [], tree.get("metadata", {})
    converted = _spec(spec, kind, target, errors)
    if errors:
        return Converted(errors=tuple(errors))
    annotations = dict(metadata.get("annotations") or {})
    if (stored := annotations.pop(CONVERSION_DATA, None)) is not None:
        before = _stored(stored)
        if _spec(before, kind, version, []) == spec:
            converted = before
        else:
            again = _spec(_spec(before, kind, version, []), kind, target, [])
            warnings += [f"{path}: dropped: {DROPPED}" for path in lost(before, again, "spec")]
    if missing := list(lost(spec, _spec(converted, kind, version, []), "spec")):
        annotations[CONVERSION_DATA] = json.dumps({"spec": spec}, separators=(",", ":"))
        warnings += [f"{path}: {target} cannot say it: kept in the annotation {CONVERSION_DATA}" for path in missing]
    result = {**tree, "apiVersion": f"{GROUP}/{target}", "spec": converted}
    if metadata:
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        result["metadata"] = {**metadata, **({"annotations": annotations} if annotations else {})}
    if isinstance(told := result.get("status"), dict):
        generation = metadata.get("generation", 0)
        _status(told, target, reports_ready=kind not in TEMPLATES, generation=generation, warnings=warnings)
    return Converted(result, warnings=tuple(warnings))


def _spec(spec: Tree, kind: str, target: str, errors: list[str]) -> Tree:
    """A converted copy."""
    spec = copy.deepcopy(spec)
    inner, at = spec, "spec"
    if kind in TEMPLATES:
        template = spec.get("template")
        if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
            errors.append("spec.template.spec: expected an object")
            return spec
        inner, at = template["spec"], "spec.template.spec"
        if kind in CLUSTERS and target == OLD:
            template.pop("metadata", None)
    (fields.cluster if kind in CLUSTERS else fields.machine)(inner, target, at=at, errors=errors)
    return spec


def _stored(text: Any) -> Tree:
    """The spec in the annotation, empty if it cannot be read."""
    try:
        found = json.loads(text)["spec"]
    except (ValueError, TypeError, KeyError):
        return {}
    return found if isinstance(found, dict) else {}


def _status(tree: Tree, target: str, *, reports_ready: bool, generation: int, warnings: list[str]) -> None:
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
