"""Converts objects of Cluster API's OpenStack provider between v1beta1 and v1beta2, without a cluster.

    converted = convert(tree, "v1beta2")

The spec survives both directions. What the other version has no field for is stored in the annotation
`cluster.x-k8s.io/conversion-data`, as the provider's webhook does, and is put back by the conversion in the other
direction, unless somebody has changed the spec in between.

| module | holds |
|---|---|
| `fields` | the tables of fields that differ, and how specs are converted by them |
| `status` | the same for the status, in which some is dropped |
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
from windlass.openstack.versions.status import status

GROUP: Final = OpenStackCluster.RESOURCE.group
CLUSTERS: Final = frozenset({OpenStackCluster.RESOURCE.kind, OpenStackClusterTemplate.RESOURCE.kind})
MACHINES: Final = frozenset({OpenStackMachine.RESOURCE.kind, OpenStackMachineTemplate.RESOURCE.kind})
TEMPLATES: Final = frozenset({OpenStackClusterTemplate.RESOURCE.kind, OpenStackMachineTemplate.RESOURCE.kind})
VERSIONS: Final = (OLD, NEW)

CONVERSION_DATA: Final = "cluster.x-k8s.io/conversion-data"
"""The annotation of Cluster API with the object in the version that it was converted from, as JSON."""
DROPPED: Final = f"it was kept in the annotation {CONVERSION_DATA}, but the spec was changed since: add it again"


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
        status(told, target, reports_ready=kind not in TEMPLATES, generation=generation, warnings=warnings)
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
