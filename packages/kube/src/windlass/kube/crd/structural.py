"""Translates a Python type into the structural schema of a CRD.

| Python | structural schema |
|---|---|
| Struct | object, described by the first paragraph of its docstring; required: no default, or REQUIRED |
| field of a Struct | described by its line in the docstring's table, `name  text`; else by its type |
| `T \\| None`, `T \\| UnsetType` | T; nullable only if there is no default, so that None cannot be left out |
| `str`, `bool`, `int`, `float` | string, boolean, integer (int64), number |
| `int \\| str` | x-kubernetes-int-or-string |
| `Literal[...]`, Enum | string or integer with enum |
| `datetime`, `date`, `UUID`, `bytes` | string with format date-time, date, uuid, byte |
| `list[T]`, `tuple[T, ...]`; `set[T]`, `frozenset[T]` | array; array with list type set |
| `dict[str, T]` | object with additionalProperties |
| `dict[str, Any]`; `Any`, `Raw` | object that keeps everything; anything at all |

Constraints and the terms of `windlass.api.schema` are given in `Annotated`. Python defaults do not become server-side
defaults, which would be stored for good (`server_default` sets those). Structural schemas have no recursion, no unions
of objects and no fixed-length tuples; such types raise `SchemaError`, which names the path of the field and the
remedy. Nothing here does I/O.
"""

import copy
import enum
import inspect as python_inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import inspect

from windlass.api.meta import KubernetesObject
from windlass.api.schema import IS_FORMER, IS_REQUIRED

Schema = dict[str, Any]

KEEP = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"

# What a structural schema may hold, in the order in which it is written.
_KEYWORDS = (
    "description",
    "type",
    "format",
    "nullable",
    "default",
    "enum",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "externalDocs",
    "example",
    _INT_OR_STRING,
    KEEP,
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
)
# Documentation for other readers of msgspec types; the API server knows neither.
_DROPPED = frozenset({"title", "examples"})


class SchemaError(TypeError):
    """A type that has no structural schema. The message names the type, the path in it and what to write instead."""


def structural_schema(declared: Any, *, path: str = "") -> Schema:
    """The structural schema of any type that msgspec can decode; `path` is its place in error messages.

    >>> structural_schema(list[int])
    {'type': 'array', 'items': {'type': 'integer', 'format': 'int64'}}
    """
    path = path or getattr(declared, "__name__", str(declared))
    return _translate(_type_info(declared, path=path), path=path, above=())


def object_schema(kind: type[KubernetesObject]) -> Schema:
    """The schema of a whole object: the API server itself owns apiVersion, kind and metadata."""
    info = _type_info(kind, path=kind.__name__)
    if not isinstance(info, inspect.StructType):
        raise SchemaError(f"{kind.__name__}: a custom resource is a msgspec Struct with a RESOURCE")
    own = tuple(field for field in info.fields if field.encode_name not in ("apiVersion", "kind", "metadata"))
    schema = _struct(
        inspect.StructType(info.cls, own, info.tag_field, info.tag, info.array_like), path=kind.__name__, above=()
    )
    envelope: Schema = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    schema["properties"] = {**envelope, **schema.get("properties", {})}
    return _checked(schema, path=kind.__name__)


def _type_info(declared: Any, *, path: str) -> inspect.Type:
    try:
        return inspect.type_info(declared)
    except TypeError as error:  # msgspec's own limits: unions it cannot tell apart, constraints that do not fit
        raise SchemaError(f"{path}: no structural schema (unions of objects have none): {error}") from error


def _translate(info: inspect.Type, *, path: str, above: tuple[type, ...]) -> Schema:
    if isinstance(info, inspect.Metadata):
        below = _translate(info.type, path=path, above=above)
        return _checked(_merged(below, info.extra_json_schema or {}), path=path)
    for kinds, translate in _TRANSLATIONS:
        if isinstance(info, kinds):
            return _checked(translate(info, path=path, above=above), path=path)
    remedy = _REMEDIES.get(type(info), "use a Struct, a list, a dict or a scalar")
    raise SchemaError(f"{path}: {type(info).__name__} has no structural schema; {remedy}")


def _struct(info: inspect.StructType, *, path: str, above: tuple[type, ...]) -> Schema:
    cls = info.cls
    if cls in above:
        raise SchemaError(
            f"{path}: {cls.__name__} contains itself, and structural schemas know no recursion; "
            "declare the inner field as Annotated[Any, KEEP_UNKNOWN]"
        )
    if info.array_like or info.tag_field is not None:
        raise SchemaError(f"{path}: {cls.__name__} is array_like or tagged; a Kubernetes object is a plain Struct")
    above = (*above, cls)
    properties, required = {}, []
    described = descriptions(cls)
    for field in info.fields:
        if _marked(field.type, IS_FORMER):
            continue
        at = f"{path}.{field.encode_name}"
        properties[field.encode_name] = _translate(field.type, path=at, above=above)
        if text := described.get(field.name) or described.get(field.encode_name):
            properties[field.encode_name] = _ordered({**properties[field.encode_name], "description": text})
        if field.required and _allows_none(field.type):
            properties[field.encode_name]["nullable"] = True
        if field.required or _marked(field.type, IS_REQUIRED):
            required.append(field.encode_name)
    schema: Schema = {"type": "object"}
    if cls.__doc__:
        schema["description"] = " ".join(python_inspect.cleandoc(cls.__doc__).split("\n\n")[0].split())
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = required
    for meta in getattr(cls, "SCHEMA", ()):
        schema = _merged(schema, {"description": meta.description} if meta.description else {})
        schema = _merged(schema, meta.extra_json_schema or {})
    return schema


_ROW = re.compile(r"^(\w+)  +(\S.*)$")


def descriptions(cls: type) -> dict[str, str]:
    """The description of each field of a Struct by the name of the field, from its docstring and those of its bases.

    A table of fields has a line `name  text` for each, with two spaces or more in between. Lines that are indented go
    on with the text. A paragraph that is no table ends it.
    """
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        name = ""
        for line in python_inspect.cleandoc(each.__dict__.get("__doc__") or "").splitlines():
            if row := _ROW.match(line):
                name = row[1]
                found[name] = row[2].strip()
            elif name and line.startswith("  ") and line.strip():
                found[name] += f" {line.strip()}"
            else:
                name = ""
    return found


def _union(info: inspect.UnionType, *, path: str, above: tuple[type, ...]) -> Schema:
    members = [member for member in info.types if not isinstance(member, inspect.NoneType)]
    if len(members) == 1:
        return _translate(members[0], path=path, above=above)
    schemas = [_translate(member, path=path, above=above) for member in members]
    types = {schema.get("type") for schema in schemas}
    merged: Schema = {}
    for schema in schemas:
        merged = _merged(merged, {k: v for k, v in schema.items() if k not in ("type", "format")})
    if types == {"integer", "string"} and not any("enum" in schema for schema in schemas):
        return {_INT_OR_STRING: True, **merged}
    if types == {"integer", "number"}:
        return {"type": "number", **merged}
    named = " | ".join(type(member).__name__.removesuffix("Type") for member in members)
    raise SchemaError(
        f"{path}: the union {named} has no structural form (only T | None, int | str and int | float have); "
        "give each alternative a field of its own and say with a rule that exactly one is set"
    )


def _enumeration(values: Iterable[Any], *, path: str) -> Schema:
    allowed = [value for value in values if value is not None]
    if allowed and all(isinstance(value, str) for value in allowed):
        return {"type": "string", "enum": allowed}
    if allowed and all(isinstance(value, int) and not isinstance(value, bool) for value in allowed):
        return {"type": "integer", "enum": allowed}
    raise SchemaError(f"{path}: the values {allowed} are of more than one type; an enum holds strings or integers")


def _enum(info: inspect.EnumType, *, path: str, above: tuple[type, ...]) -> Schema:
    members: type[enum.Enum] = info.cls
    return _enumeration((member.value for member in members), path=path)


def _literal(info: inspect.LiteralType, *, path: str, above: tuple[type, ...]) -> Schema:
    return _enumeration(info.values, path=path)


_Array = inspect.ListType | inspect.VarTupleType | inspect.SetType | inspect.FrozenSetType


def _array(info: _Array, *, path: str, above: tuple[type, ...]) -> Schema:
    items = _translate(info.item_type, path=f"{path}[]", above=above)
    schema: Schema = {"type": "array", "items": items, **_bounds(info, least="minItems", most="maxItems")}
    if isinstance(info, inspect.SetType | inspect.FrozenSetType):
        schema["x-kubernetes-list-type"] = "set"
    return schema


def _dict(info: inspect.DictType, *, path: str, above: tuple[type, ...]) -> Schema:
    key = info.key_type.type if isinstance(info.key_type, inspect.Metadata) else info.key_type
    if not isinstance(key, inspect.StrType | inspect.AnyType):
        raise SchemaError(f"{path}: keys of JSON objects are strings; use dict[str, ...]")
    schema: Schema = {"type": "object", **_bounds(info, least="minProperties", most="maxProperties")}
    value = _translate(info.value_type, path=f"{path}[]", above=above)
    return {**schema, KEEP: True} if value == {KEEP: True} else {**schema, "additionalProperties": value}


def _number(info: inspect.IntType | inspect.FloatType, *, path: str, above: tuple[type, ...]) -> Schema:
    schema: Schema = {"type": "number"}
    if isinstance(info, inspect.IntType):
        schema = {"type": "integer", "format": "int64"}
    lowest, highest = info.ge if info.gt is None else info.gt, info.le if info.lt is None else info.lt
    if lowest is not None and lowest != -(2**63):
        schema["minimum"] = lowest
    if info.gt is not None:
        schema["exclusiveMinimum"] = True
    if highest is not None and highest != 2**63 - 1:
        schema["maximum"] = highest
    if info.lt is not None:
        schema["exclusiveMaximum"] = True
    if info.multiple_of is not None:
        schema["multipleOf"] = info.multiple_of
    return schema


def _string(info: inspect.StrType, *, path: str, above: tuple[type, ...]) -> Schema:
    schema: Schema = {"type": "string", **_bounds(info, least="minLength", most="maxLength")}
    if info.pattern is not None:
        schema["pattern"] = info.pattern
    return schema


def _plain(**schema: Any) -> Callable[..., Schema]:
    def translate(info: inspect.Type, *, path: str, above: tuple[type, ...]) -> Schema:
        return dict(schema)

    return translate


_TRANSLATIONS: tuple[tuple[type | tuple[type, ...], Callable[..., Schema]], ...] = (
    (inspect.StructType, _struct),
    (inspect.UnionType, _union),
    (inspect.EnumType, _enum),
    (inspect.LiteralType, _literal),
    ((inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType), _array),
    (inspect.DictType, _dict),
    ((inspect.IntType, inspect.FloatType), _number),
    (inspect.StrType, _string),
    (inspect.BoolType, _plain(type="boolean")),
    ((inspect.AnyType, inspect.RawType), _plain(**{KEEP: True})),
    (inspect.DateTimeType, _plain(type="string", format="date-time")),
    (inspect.DateType, _plain(type="string", format="date")),
    (inspect.UUIDType, _plain(type="string", format="uuid")),
    (inspect.BytesType, _plain(type="string", format="byte")),
)
_REMEDIES: dict[type, str] = {
    inspect.TupleType: "use a list or a Struct",
    inspect.NamedTupleType: "use a Struct",
    inspect.TimeDeltaType: "Kubernetes writes durations as 1h30m: use str with a pattern, or an int of seconds",
    inspect.DecimalType: "use str with a pattern",
    inspect.NoneType: "a field that is always null says nothing: remove it",
}


def _bounds(info: Any, *, least: str, most: str) -> Schema:
    found = {least: info.min_length, most: info.max_length}
    return {keyword: bound for keyword, bound in found.items() if bound is not None}


def _merged(base: Schema, extra: Mapping[str, Any]) -> Schema:
    """`extra` laid over `base`: rules add up, everything else is replaced."""
    result = dict(base)
    for keyword, value in extra.items():
        if keyword == "x-kubernetes-validations":
            result[keyword] = [*result.get(keyword, ()), *copy.deepcopy(value)]
        else:
            result[keyword] = copy.deepcopy(value)
    return result


def _checked(schema: Schema, *, path: str) -> Schema:
    if unknown := sorted(schema.keys() - set(_KEYWORDS) - _DROPPED):
        raise SchemaError(f"{path}: the API server knows no {', '.join(unknown)} in a structural schema")
    if schema.get("x-kubernetes-list-type") == "map":
        item = schema.get("items", {})
        for key in schema.get("x-kubernetes-list-map-keys", ()):
            declared = item.get("properties", {}).get(key)
            if declared is None:
                raise SchemaError(f"{path}: the list is keyed by {key}, which its items do not have")
            if key not in item.get("required", ()) and "default" not in declared:
                raise SchemaError(
                    f"{path}: the list is keyed by {key}, which its items may leave out; "
                    f"annotate {key} with REQUIRED or server_default"
                )
    return _ordered(schema)


def _ordered(schema: Schema) -> Schema:
    return {keyword: schema[keyword] for keyword in _KEYWORDS if keyword in schema}


def _allows_none(info: inspect.Type) -> bool:
    if isinstance(info, inspect.Metadata):
        return _allows_none(info.type)
    if isinstance(info, inspect.UnionType):
        return any(_allows_none(member) for member in info.types)
    return isinstance(info, inspect.NoneType) or (isinstance(info, inspect.LiteralType) and None in info.values)


def _marked(info: inspect.Type, mark: str) -> bool:
    if isinstance(info, inspect.Metadata):
        return bool((info.extra or {}).get(mark)) or _marked(info.type, mark)
    return isinstance(info, inspect.UnionType) and any(_marked(member, mark) for member in info.types)
