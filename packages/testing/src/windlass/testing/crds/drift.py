"""Compares our Structs with a CRD: each declared field is looked up in the CRD's schema.

Structs declare the fields that Windlass uses of a foreign kind. If the kind's owner renames or retypes a field, it
would silently stay empty; this check finds it. Fields of the CRD that we do not declare are fine.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from windlass.api.meta import KubernetesObject
from windlass.kube.crd.structural import KEEP, Schema, object_schema


def differences(kind: type[KubernetesObject], crd: Mapping[str, Any]) -> list[str]:
    """The fields that `kind` declares and `crd` lacks or has with another type, one line each.

    The version compared is that of `kind.RESOURCE`. Below x-kubernetes-preserve-unknown-fields anything may be
    declared. `metadata` belongs to the API server and is not compared.
    """
    resource = kind.RESOURCE
    spec = crd["spec"]
    served = {version["name"]: version for version in spec["versions"] if version["served"]}
    known = (spec["group"], spec["names"]["kind"], spec["names"]["plural"], spec["scope"] == "Namespaced")
    if known != (resource.group, resource.kind, resource.plural, resource.namespaced):
        return [f"{kind.__name__}: RESOURCE is {resource!r}, the CRD is {known}"]
    if resource.version not in served:
        return [f"{kind.__name__}: version {resource.version} is not served, only {', '.join(sorted(served))}"]
    theirs = served[resource.version]["schema"]["openAPIV3Schema"]
    return list(_differences(object_schema(kind), theirs, path=kind.__name__))


def _differences(ours: Schema, theirs: Schema, *, path: str) -> Iterator[str]:
    if "type" in ours and "type" in theirs and ours["type"] != theirs["type"]:
        yield f"{path}: declared as {ours['type']}, the CRD says {theirs['type']}"
        return
    for name, field in ours.get("properties", {}).items():
        at = f"{path}.{name}"
        if name in theirs.get("properties", {}):
            yield from _differences(field, theirs["properties"][name], path=at)
        elif "additionalProperties" in theirs:
            yield from _differences(field, theirs["additionalProperties"], path=at)
        elif not theirs.get(KEEP):
            yield f"{at}: not in the CRD"
    for part in ("items", "additionalProperties"):
        if part in ours and part in theirs:
            yield from _differences(ours[part], theirs[part], path=f"{path}[]")
