"""What one write makes of one object: pure functions from (live tree, request) to the tree that is stored.

`created`, `patched` and `doomed` are the steps that the API server takes between decoding a request and writing to
etcd: identity, preconditions, status subresource, generation, validation. The functions raise the refusals of
`windlass.model.refusals`, and never change their arguments.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from windlass.kube.verbs import PatchRequest, PatchType
from windlass.model import refusals as refuse
from windlass.model.checks import (
    problems,
    undeclared,
    value_at,
    without_declared_nulls,
)
from windlass.model.patch import PatchFailed, json_patched, merge_patched
from windlass.model.schema import METADATA, Rules, Shape, Tree, copied

_GIVEN_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields")
_OF_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")
_EMPTY_IS_ABSENT = ("labels", "annotations", "finalizers", "ownerReferences", "managedFields", "generateName")

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_PROPAGATION = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}


class Identity(Struct, frozen=True):
    """What the server gives a new object."""

    uid: str
    suffix: str
    """For generateName: five letters."""


class Writer(Struct, frozen=True):
    """Through which endpoint of a kind with which rules something is written, and when (RFC 3339)."""

    rules: Rules
    now: str
    subresource: str = ""

    @property
    def shape(self) -> Shape:
        return self.rules.whole


def created(body: Mapping[str, Any], by: Writer, *, namespace: str | None, identity: Identity) -> Tree:
    """The object that a POST of `body` stores."""
    rules, resource = by.rules, by.rules.kind.RESOURCE
    tree: Tree = without_declared_nulls(copied(dict(body)), by.shape)
    _require_kind(tree, rules, body)
    if unknown := sorted(undeclared(tree, by.shape)):
        listed = ", ".join(f'unknown field "{path}"' for path in unknown)
        what = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
        raise refuse.bad_request(f"{what}: strict decoding error: {listed}")
    meta = tree.setdefault("metadata", {})
    _require_namespace(meta, namespace)
    version = meta.get("resourceVersion")
    for key in (*_GIVEN_BY_SERVER, *_OF_DELETION):
        meta.pop(key, None)
    if not meta.get("name"):
        if not meta.get("generateName"):
            raise refuse.invalid(resource, "", ["metadata.name: Required value: name or generateName is required"])
        meta["name"] = meta["generateName"] + identity.suffix
    new = _brought_to_life(tree, by, namespace=namespace, identity=identity)
    _validate(None, new, rules)
    if version and version != "0":
        raise refuse.internal("resourceVersion should not be set on objects to be created")
    return _stripped(new)


def patched(live: Tree, patch: PatchRequest, by: Writer) -> Tree:
    """The object that `patch` makes of `live`; equal to `live` if there is nothing to write."""
    new = _rewritten(live, patch, by)
    _require_version(live, new, by.rules)
    new = _of_endpoint(live, new, by)
    meta, before = new["metadata"], live["metadata"]
    meta["creationTimestamp"] = before.get("creationTimestamp")
    meta["resourceVersion"] = before["resourceVersion"]
    meta.setdefault("uid", before["uid"])
    for key in _OF_DELETION:
        if key in before:
            meta[key] = before[key]
    _count_generation(live, new, by.rules)
    new = _stripped(new)
    _validate(live, new, by.rules)
    return new


def doomed(live: Tree, rules: Rules, *, now: str, uid: str, resource_version: str, propagation: str) -> Tree | None:
    """What a DELETE leaves of `live`: None if nothing, else the object waiting for its finalizers."""
    resource, meta = rules.kind.RESOURCE, live["metadata"]
    if propagation and propagation not in _PROPAGATION:
        allowed = 'supported values: "Foreground", "Background", "Orphan", "nil"'
        problem = f'propagationPolicy: Unsupported value: "{propagation}": {allowed}'
        raise refuse.invalid_options("DeleteOptions", problem)
    if uid and uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise refuse.precondition(resource, meta["name"], why)
    if resource_version and resource_version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({resource_version}) does not match the ResourceVersion in "
            f"record ({meta['resourceVersion']}). The object might have been modified"
        )
        raise refuse.precondition(resource, meta["name"], why)
    finalizers = list(meta.get("finalizers") or [])
    if propagation:
        finalizers = [name for name in finalizers if name not in (FOREGROUND, ORPHAN)]
        finalizers += [_PROPAGATION[propagation]] if _PROPAGATION[propagation] else []
    if not finalizers:
        return None
    new = {**live, "metadata": {**meta, "finalizers": finalizers}}
    if not meta.get("deletionTimestamp"):
        new["metadata"] |= {"deletionTimestamp": now, "deletionGracePeriodSeconds": 0}
        if meta.get("generation"):
            new["metadata"]["generation"] += 1
    return new


def finished(tree: Tree) -> bool:
    """Being deleted, and nothing is left to wait for: no finalizer, no grace period."""
    meta = tree["metadata"]
    return bool(meta.get("deletionTimestamp")) and not (
        meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    )


def _rewritten(live: Tree, patch: PatchRequest, by: Writer) -> Tree:
    if patch.type is PatchType.JSON:
        try:
            new = json_patched(live, patch.body if isinstance(patch.body, Sequence) else [])
        except PatchFailed as error:
            raise refuse.unprocessable_patch() from error
    else:
        new = merge_patched(live, patch.body)
    if unknown := sorted(undeclared(new, by.shape)):
        listed = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise refuse.invalid_patch(json.dumps(new), f"strict decoding error: {listed}")
    new = without_declared_nulls(new, by.shape)
    _require_kind(new, by.rules, new)
    _require_identity(new["metadata"], patch)
    return _with_defaults(copied(new), by.rules)


def _brought_to_life(tree: Tree, by: Writer, *, namespace: str | None, identity: Identity) -> Tree:
    rules, resource = by.rules, by.rules.kind.RESOURCE
    given = {key: value for key, value in tree.get("metadata", {}).items() if key not in _OF_DELETION}
    meta = {**given, "uid": identity.uid, "creationTimestamp": by.now}
    if resource.namespaced and namespace:
        meta["namespace"] = namespace
    if rules.is_custom:
        meta["generation"] = 1
    new = {"apiVersion": resource.api_version, "kind": resource.kind, **tree, "metadata": meta}
    if rules.status:
        new.pop("status", None)
    return _with_defaults(new, rules)


def _with_defaults(tree: Tree, rules: Rules) -> Tree:
    """`tree` with the defaults of its kind where the parent exists; `tree` itself is filled."""
    for path, value in rules.defaults.items():
        above, _, key = path.rpartition(".")
        parent = value_at(tree, above) if above else tree
        if isinstance(parent, dict):
            parent.setdefault(key, copied(value))
    return tree


def _of_endpoint(live: Tree, new: Tree, by: Writer) -> Tree:
    """The half of `new` that the endpoint writes, the rest as it is live."""
    if by.subresource == "status":
        half = {key: copied(value) for key, value in live.items() if key != "status"}
        return half | ({"status": new["status"]} if "status" in new else {})
    if by.rules.status:
        half = {key: value for key, value in new.items() if key != "status"}
        return half | ({"status": copied(live["status"])} if "status" in live else {})
    return new


def _count_generation(live: Tree, new: Tree, rules: Rules) -> None:
    meta = new["metadata"]
    meta.pop("generation", None)
    generation = live["metadata"].get("generation")
    apart = ("metadata", "status") if rules.status else ("metadata",)

    def content(tree: Tree) -> Tree:
        return {key: value for key, value in tree.items() if key not in apart}

    bumped = rules.is_custom and content(live) != content(new)
    if bumped or generation is not None:
        meta["generation"] = (generation or 0) + int(bumped)


def _require_kind(tree: Mapping[str, Any], rules: Rules, body: Any) -> None:
    resource = rules.kind.RESOURCE
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if not rules.is_custom:
        kind, version = kind or resource.kind, version or resource.api_version
    if not kind or not version:
        what, shown = ("Kind" if not kind else "apiVersion"), json.dumps(body)
        why = f"Object '{what}' is missing in '{shown}'"
        raise refuse.bad_request(f"the object provided is unrecognized (must be of type {resource.kind}): {why}")
    if version != resource.api_version:
        raise refuse.bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    if kind != resource.kind:
        name = tree.get("metadata", {}).get("name", "")
        wrong = type(resource)(resource.group, resource.version, kind, resource.plural)
        raise refuse.invalid(wrong, name, [f'kind: Invalid value: "{kind}": must be {resource.kind}'])


def _require_namespace(meta: Mapping[str, Any], namespace: str | None) -> None:
    if meta.get("namespace") and meta["namespace"] != namespace:
        raise refuse.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _require_identity(meta: Mapping[str, Any], patch: PatchRequest) -> None:
    if meta.get("name") != patch.name:
        raise refuse.bad_request(
            f"the name of the object ({meta.get('name')}) does not match the name on the URL ({patch.name})"
        )
    _require_namespace(meta, patch.namespace)


def _require_version(live: Tree, new: Tree, rules: Rules) -> None:
    resource, name = rules.kind.RESOURCE, live["metadata"]["name"]
    version = new["metadata"].get("resourceVersion") or "0"
    if not str(version).isdigit():
        raise refuse.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version == "0":
        if rules.is_custom:
            problem = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
            raise refuse.invalid(resource, name, [problem], plural=True)
    elif version != live["metadata"]["resourceVersion"]:
        raise refuse.modified(resource, name)


def _validate(live: Tree | None, new: Tree, rules: Rules) -> None:
    found = problems(live, new, shape=rules.whole, checks=rules.checks, custom=rules.is_custom)
    if found:
        raise refuse.invalid(rules.kind.RESOURCE, new["metadata"]["name"], found)


def _stripped(tree: Tree) -> Tree:
    """Metadata passes through a typed form on the server: empty collections and unknown keys do not come out."""
    meta = {
        key: value
        for key, value in tree["metadata"].items()
        if key in METADATA.fields and value is not None and not (key in _EMPTY_IS_ABSENT and not value)
    }
    if owners := meta.get("ownerReferences"):
        meta["ownerReferences"] = [o for index, o in enumerate(owners) if o not in owners[:index]]
    return {**tree, "metadata": meta}
