"""Generates CustomResourceDefinitions from Structs, so that the API server enforces the types that we decode with.

    custom_resource_definition(Widget, columns=[Column("Phase", ".status.phase"), AGE], short_names=["wd"])

returns a dict that is ready to apply. The result is deterministic, so a checked-in CRD can be compared. `structural`
translates each Python type; `windlass.api.schema` adds what Python types cannot express (CEL rules, list types,
defaults). Nothing here does I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.kube.crd.structural import KEEP, Schema, SchemaError, object_schema

KEPT: Final[Mapping[str, str]] = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "helm.sh/resource-policy": "keep",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
"""By these annotations Argo CD, Helm and Flux keep an object that leaves their source, or whose application is deleted:
a CRD that goes takes every object of its kind with it, and for OpenStackServers that means servers."""


class Column(Struct, frozen=True):
    """A column of `kubectl get`: `path` is a simple JSONPath into the object, such as `.status.phase`.

    `type` is string, integer, number, boolean or date (shown as an age). Columns with `priority` > 0 are only shown
    with `-o wide`.
    """

    name: str
    path: str
    type: str = "string"
    description: str = ""
    priority: int = 0


AGE = Column("Age", ".metadata.creationTimestamp", type="date")


class Scale(Struct, frozen=True):
    """Where the scale subresource (`kubectl scale`, autoscalers) finds its numbers."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


def custom_resource_definition(
    kind: type[KubernetesObject],
    *,
    columns: Iterable[Column] = (),
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    scale: Scale | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The CRD of `kind`, a Struct with a `RESOURCE`, in that one version, served and stored.

    A type with a field `status` has the status subresource. Columns and scale paths are checked against the schema.
    Raises SchemaError if the type has no structural schema, or lacks what a column shows.
    """
    resource = kind.RESOURCE
    schema = object_schema(kind)
    version: dict[str, Any] = {"name": resource.version, "served": True, "storage": True}
    if printed := [_column(column, kind, schema=schema) for column in columns]:
        version["additionalPrinterColumns"] = printed
    subresources: dict[str, Any] = {"status": {}} if "status" in schema["properties"] else {}
    if scale is not None:
        subresources["scale"] = _scale(scale, kind, schema=schema)
    if subresources:
        version["subresources"] = subresources
    version["schema"] = {"openAPIV3Schema": schema}

    names: dict[str, Any] = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    if short_names:
        names["shortNames"] = list(short_names)
    if categories:
        names["categories"] = list(categories)
    metadata: dict[str, Any] = {"name": resource.name}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


class Owned(Struct, frozen=True):
    """A kind that a capability owns: its CRD is generated, installed before it, and kept. Fields as for the CRD."""

    kind: type[KubernetesObject]
    columns: tuple[Column, ...] = (AGE,)
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scale: Scale | None = None
    labels: Mapping[str, str] = {}

    def manifest(self) -> dict[str, Any]:
        """The CRD. Raises SchemaError."""
        crd = custom_resource_definition(
            self.kind,
            columns=self.columns,
            short_names=self.short_names,
            categories=self.categories,
            scale=self.scale,
            labels=self.labels,
            annotations=KEPT,
        )
        built: dict[str, Any] = msgspec.to_builtins(crd)
        return built


def _column(column: Column, kind: type[KubernetesObject], *, schema: Schema) -> dict[str, Any]:
    _require_path(column.path, kind, schema=schema, wanted_by=f"column {column.name!r}")
    written: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.description:
        written["description"] = column.description
    if column.priority:
        written["priority"] = column.priority
    return written


def _scale(scale: Scale, kind: type[KubernetesObject], *, schema: Schema) -> dict[str, str]:
    written = {"specReplicasPath": scale.spec_replicas, "statusReplicasPath": scale.status_replicas}
    if scale.label_selector:
        written["labelSelectorPath"] = scale.label_selector
    for name, path in written.items():
        _require_path(path, kind, schema=schema, wanted_by=name)
    return written


def _require_path(path: str, kind: type[KubernetesObject], *, schema: Schema, wanted_by: str) -> None:
    """Check that the field exists: the API server accepts any path and then shows nothing."""
    if not path.startswith("."):
        raise SchemaError(f"{kind.__name__}: the path of {wanted_by} is {path!r}; it must begin with a dot")
    at = schema
    for part in path[1:].replace("\\.", "\0").split("."):
        name = part.split("[")[0].replace("\0", ".")
        if "properties" not in at:
            return
        if name not in at["properties"]:
            if at.get(KEEP):
                return
            raise SchemaError(f"{kind.__name__}: {wanted_by} wants {path}, but there is no field {name}")
        at = at["properties"][name]
        if "[" in part:
            return
