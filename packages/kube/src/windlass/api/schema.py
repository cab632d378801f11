"""Annotations for CRD schemas that Python types cannot express: CEL rules, list types, server-side defaults.

Each annotation is a `msgspec.Meta` in `Annotated`, beside the type, and costs nothing when objects are decoded. A field
may have several:

    class WidgetStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
        SCHEMA: ClassVar = (rule("has(self.phase) || !has(oldSelf.phase)", "phase may not be removed once set"),)

        phase: Annotated[str, rule("self != oldSelf || self == 'Done'", "phase must move on"), Meta(max_length=32)] = ""
        conditions: Annotated[list[Condition], list_map("type"), Meta(max_length=16)] = []

A class attribute `SCHEMA` annotates the type as a whole, wherever it is used. msgspec's own constraints
(`Meta(ge=..., max_length=..., pattern=..., description=...)`) are used as they are: both our decoder and the API server
enforce them. `windlass.kube.crd` makes a CustomResourceDefinition of all of this.

The API server estimates the worst-case cost of a rule and refuses a CRD whose rule is too expensive: give every list
and string below a rule a `max_length`.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

from typing import Annotated, Any

from msgspec import Meta

IS_REQUIRED = "windlass/required"
IS_FORMER = "windlass/former"
"""The keys by which REQUIRED and FORMER are found in a Meta's `extra`."""


def rule(
    expression: str,
    message: str = "",
    *,
    message_expression: str = "",
    reason: str = "",
    field_path: str = "",
    optional_old_self: bool = False,
) -> Meta:
    """A CEL rule about `self`; a rule that names `oldSelf` is only checked when an old value exists.

    The user reads `message` (`message_expression`: a CEL expression that yields it). `reason` is FieldValueInvalid by
    default, else FieldValueForbidden, FieldValueRequired or FieldValueDuplicate. `field_path` names the wrong field
    below `self`, as `.name`. With `optional_old_self` the rule is also checked on creation, and oldSelf is an optional.
    """
    written: dict[str, Any] = {
        "rule": expression,
        "message": message,
        "messageExpression": message_expression,
        "reason": reason,
        "fieldPath": field_path,
        "optionalOldSelf": optional_old_self,
    }
    return Meta(extra_json_schema={"x-kubernetes-validations": [{k: v for k, v in written.items() if v}]})


def on_write(**keywords: Any) -> Meta:
    """Constraints, as JSON Schema writes them, that the API server enforces and our decoder does not.

    For kinds that others had before us: what is stored already must still be read.

        name: Annotated[str, on_write(minLength=1, pattern="^[^ ]+$")]
    """
    return Meta(extra_json_schema=keywords)


def list_map(*keys: str) -> Meta:
    """A list whose items are identified by `keys` (JSON names): unique, and merged one by one by server-side apply.

    Each key must be a required field of the item, or one with a server-side default.
    """
    if not keys:
        raise ValueError("list_map: name at least one key, as in list_map('type')")
    return Meta(extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def server_default(value: Any) -> Meta:
    """A value that the API server fills in *and stores* when the field is absent.

    Python defaults never become server-side defaults: a new release cannot take back a stored value.
    """
    return Meta(extra_json_schema={"default": value})


LIST_SET = Meta(extra_json_schema={"x-kubernetes-list-type": "set"})
"""A list of unique scalars; server-side apply owns it item by item."""

LIST_ATOMIC = Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})
"""A list that server-side apply owns as a whole."""

MAP_ATOMIC = Meta(extra_json_schema={"x-kubernetes-map-type": "atomic"})
"""An object that server-side apply owns as a whole, like a reference."""

KEEP_UNKNOWN = Meta(extra_json_schema={"x-kubernetes-preserve-unknown-fields": True})
"""Fields that the type does not declare are stored, not pruned."""

OBJECT = Meta(extra_json_schema={"type": "object"})
"""On `Any` or `msgspec.Raw`: the value is a JSON object with any fields."""

NULLABLE = Meta(extra_json_schema={"nullable": True})
"""An explicit null is a value of this field, and is stored."""

DATE_TIME = Meta(extra_json_schema={"format": "date-time"})
"""A string that holds an RFC 3339 time."""

REQUIRED = Meta(extra={IS_REQUIRED: True})
"""The field is required although the Python type has a default for it (as fields made by `always` have)."""

FORMER = Meta(extra={IS_FORMER: True})
"""The CRD that we generate does not have the field: only CRDs of others, whose objects have the same type, do."""

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, extra_json_schema={"format": "int32"})]
"""An integer that Go readers hold in an int32."""
