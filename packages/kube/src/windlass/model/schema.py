"""What the in-memory API server is told about a kind: the shape of its fields, its subresource, its own rules.

A `Shape` is the part of a structural OpenAPI schema that decides what a write may hold: which fields are declared and
of which type, which lists are keyed, which are sets. Where nothing is declared anything may stand (`OPEN`).

    from windlass.model import MemoryApi
    from windlass.model.schema import Rules, by, rules_of_crd

    MemoryApi(Machine)                                             # spec and status open, conditions keyed by type
    MemoryApi(Rules(Machine, fields={"spec.ports": by("name")}))   # and one more list that is keyed
    MemoryApi(rules_of_crd(Machine, crd))                          # everything as the CRD says
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.meta import KubernetesObject

Tree: TypeAlias = dict[str, Any]

T = TypeVar("T")

_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode

Check: TypeAlias = Callable[[Tree | None, Tree], Iterable[str]]
"""`check(old, new)` yields what is wrong with `new`, worded as `path: Invalid value: ...: reason`; `old` is None on
create. Causes of the 422 are taken from the wording."""


def copied(tree: T) -> T:
    """A copy of a plain JSON tree that shares nothing with it."""
    fresh: T = _DECODE(_ENCODE(tree))
    return fresh


class Shape(Struct, frozen=True, kw_only=True):
    """The values that a schema allows at one place.

    `fields` are the declared keys of a map and `others` the shape of all other keys; a map with neither is open.
    `items` is the shape of list items. Items of a list with `keys` differ in those keys, those of a `unique` one are
    distinct. `atomic` maps are not looked into. `type` is the OpenAPI type, empty where anything may stand.
    `enum` and `minimum` restrict scalars, `required` names keys that a map must have.
    """

    type: str = ""
    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    others: "Shape | None" = None
    items: "Shape | None" = None
    keys: tuple[str, ...] = ()
    unique: bool = False
    atomic: bool = False
    nullable: bool = False
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    required: tuple[str, ...] = ()

    def at(self, key: str) -> "Shape":
        """The shape of the map entry `key`."""
        return self.fields.get(key) or self.others or OPEN

    @property
    def item(self) -> "Shape":
        return self.items or OPEN

    @property
    def closed(self) -> bool:
        """An undeclared key is an error, not data."""
        return self.type == "object" and self.others is None

    @property
    def granular(self) -> bool:
        """Items of this list are told apart by what they hold, and no two are the same."""
        return bool(self.keys) or self.unique


OPEN = Shape()
_STRING = Shape(type="string")
_STRINGS = Shape(type="object", others=_STRING)

METADATA = Shape(
    type="object",
    fields={
        "name": _STRING,
        "generateName": _STRING,
        "namespace": _STRING,
        "selfLink": _STRING,
        "uid": _STRING,
        "resourceVersion": _STRING,
        "generation": Shape(type="integer"),
        "creationTimestamp": Shape(type="string", nullable=True),
        "deletionTimestamp": Shape(type="string", nullable=True),
        "deletionGracePeriodSeconds": Shape(type="integer", nullable=True),
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": Shape(type="array", unique=True, items=_STRING),
        "ownerReferences": Shape(type="array", keys=("uid",), items=Shape(type="object", atomic=True, others=OPEN)),
        "managedFields": Shape(type="array", items=OPEN),
    },
)
"""`metav1.ObjectMeta`, the same for every kind."""


def by(*keys: str) -> Shape:
    """A list that is keyed by `keys` (`x-kubernetes-list-type: map`); its items are open otherwise."""
    item = Shape(type="object", fields=dict.fromkeys(keys, OPEN), others=OPEN)
    return Shape(type="array", keys=keys, items=item)


class Rules(Struct, frozen=True):
    """One kind as the API server knows it.

    `shape` is that of the whole object; None means open spec and status with `status.conditions` keyed by type, plus
    `fields`, declared fields by dotted path. `status`: it has the status subresource. `custom`: it comes from a CRD
    (generation is counted, updates need a resourceVersion); None decides by API group. `defaults` fill absent fields
    (dotted path, value) where the parent is there. `checks` run on every write, after the rules all kinds share.
    """

    kind: type[KubernetesObject]
    fields: Mapping[str, Shape] = field(default_factory=dict)
    shape: Shape | None = None
    status: bool = True
    custom: bool | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()

    @property
    def whole(self) -> Shape:
        """The shape of a whole object of this kind."""
        if self.shape is not None and self.shape.fields.get("metadata") is METADATA:
            return self.shape
        top = self.shape or _open_object(self.fields, custom=self.is_custom)
        identity = {"apiVersion": _STRING, "kind": _STRING, "metadata": METADATA}
        return Shape(type="object", fields={**top.fields, **identity}, others=top.others)

    def resolved(self) -> "Rules":
        """The same, with the shape of whole objects worked out once."""
        return replace(self, shape=self.whole)

    @property
    def is_custom(self) -> bool:
        group = self.kind.RESOURCE.group
        if self.custom is not None:
            return self.custom
        return "." in group and (group.endswith(".x-k8s.io") or not group.endswith(".k8s.io"))


def _open_object(fields: Mapping[str, Shape], *, custom: bool) -> Shape:
    declared = {"status.conditions": by("type"), **fields}
    top = Shape(type="object", fields={}, others=None if custom else OPEN)
    if custom:
        top = Shape(type="object", fields={"spec": _open_map({}), "status": _open_map({})})
    for path, shape in declared.items():
        top = _with(top, path.split("."), shape)
    return top


def _open_map(fields: Mapping[str, Shape]) -> Shape:
    return Shape(type="object", fields=fields, others=OPEN)


def _with(shape: Shape, path: list[str], leaf: Shape) -> Shape:
    head, *rest = path
    below = _with(shape.fields.get(head) or _open_map({}), rest, leaf) if rest else leaf
    return Shape(type="object", fields={**shape.fields, head: below}, others=shape.others)


def rules_of_crd(kind: type[KubernetesObject], crd: Mapping[str, Any], *, checks: tuple[Check, ...] = ()) -> Rules:
    """The rules that a CustomResourceDefinition (as a plain tree) gives the version that `kind` is of.

    List and map types, declared and preserved fields, the status subresource and defaults are taken over. CEL rules
    are not evaluated: give what of them matters as `checks`. Raises ValueError if the CRD is of another kind.
    """
    spec, resource = crd["spec"], kind.RESOURCE
    if (spec["group"], spec["names"]["kind"]) != (resource.group, resource.kind):
        raise ValueError(f"the CRD {crd['metadata']['name']} does not define {resource}")
    version = next((v for v in spec["versions"] if v["name"] == resource.version), None)
    if version is None:
        raise ValueError(f"the CRD {crd['metadata']['name']} has no version {resource.version}")
    schema = version["schema"]["openAPIV3Schema"]
    return Rules(
        kind,
        shape=shape_of(schema),
        status="status" in version.get("subresources", {}),
        custom=True,
        defaults=dict(_defaults(schema)),
        checks=(*checks,),
    )


def shape_of(schema: Mapping[str, Any]) -> Shape:
    """The shape that a structural OpenAPI v3 schema describes."""
    listed = schema.get("x-kubernetes-list-type", "atomic")
    extra = schema.get("additionalProperties")
    others: Shape | None = None
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        others = OPEN
    elif isinstance(extra, Mapping):
        others = shape_of(extra)
    elif schema.get("type") == "object" and not schema.get("properties") and extra is not False and extra is not None:
        others = OPEN
    return Shape(
        type=schema.get("type", ""),
        fields={name: shape_of(inner) for name, inner in schema.get("properties", {}).items()},
        others=others,
        items=shape_of(schema["items"]) if "items" in schema else None,
        keys=tuple(schema.get("x-kubernetes-list-map-keys", ())) if listed == "map" else (),
        unique=listed == "set",
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        nullable=bool(schema.get("nullable")),
        enum=tuple(schema.get("enum", ())),
        minimum=schema.get("minimum"),
        required=tuple(schema.get("required", ())),
    )


def _defaults(schema: Mapping[str, Any], path: str = "") -> Iterable[tuple[str, Any]]:
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        if "default" in inner:
            yield here, inner["default"]
        yield from _defaults(inner, here)
