"""What each Python type becomes, and what is refused."""

import enum
import uuid
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec
import pytest
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from windlass.api.integers import Int64
from windlass.api.meta import always
from windlass.api.schema import (
    DATE_TIME,
    FORMER,
    KEEP_UNKNOWN,
    LIST_ATOMIC,
    LIST_SET,
    MAP_ATOMIC,
    NULLABLE,
    OBJECT,
    REQUIRED,
    Int32,
    list_map,
    on_write,
    rule,
    server_default,
)
from windlass.kube.crd.structural import SchemaError, structural_schema

KEEP = "x-kubernetes-preserve-unknown-fields"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Inner(Struct, rename="camel"):
    """A thing
    inside.

    More that only readers of the code need.
    """

    some_name: str


class Recursive(Struct):
    below: "list[Recursive]" = msgspec.field(default_factory=list)


class Keyed(Struct):
    type: Annotated[str, REQUIRED] = always(str)


class KeyedByDefault(Struct):
    type: Annotated[str, server_default("Ready")] = "Ready"


class Loose(Struct):
    type: str = ""


class Pair(NamedTuple):
    left: int
    right: int


class Tagged(Struct, tag=True):
    name: str


class Guarded(Struct):
    SCHEMA: ClassVar = (rule("self.a < self.b", "a must be below b"), MAP_ATOMIC)

    a: int
    b: int


@pytest.mark.parametrize(
    ("declared", "schema"),
    [
        pytest.param(str, {"type": "string"}, id="str"),
        pytest.param(bool, {"type": "boolean"}, id="bool"),
        pytest.param(int, {"type": "integer", "format": "int64"}, id="int"),
        pytest.param(float, {"type": "number"}, id="float"),
        pytest.param(bytes, {"type": "string", "format": "byte"}, id="bytes"),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="datetime"),
        pytest.param(date, {"type": "string", "format": "date"}, id="date"),
        pytest.param(uuid.UUID, {"type": "string", "format": "uuid"}, id="uuid"),
        pytest.param(Any, {KEEP: True}, id="any"),
        pytest.param(Raw, {KEEP: True}, id="raw"),
        pytest.param(Annotated[Any, OBJECT], {"type": "object", KEEP: True}, id="any object"),
        pytest.param(str | None, {"type": "string"}, id="optional"),
        pytest.param(str | UnsetType | None, {"type": "string"}, id="optional or unset"),
        pytest.param(int | str, {"x-kubernetes-int-or-string": True}, id="int or string"),
        pytest.param(int | str | None, {"x-kubernetes-int-or-string": True}, id="optional int or string"),
        pytest.param(
            int | Annotated[str, Meta(pattern="^[0-9]+%$")],
            {"pattern": "^[0-9]+%$", "x-kubernetes-int-or-string": True},
            id="int or string of a form",
        ),
        pytest.param(int | float, {"type": "number"}, id="int or float"),
        pytest.param(Literal["b", "a"], {"type": "string", "enum": ["a", "b"]}, id="literal"),
        pytest.param(Literal["a", None], {"type": "string", "enum": ["a"]}, id="literal or none"),
        pytest.param(Literal[2, 1], {"type": "integer", "enum": [1, 2]}, id="literal of ints"),
        pytest.param(Colour, {"type": "string", "enum": ["red", "blue"]}, id="enum"),
        pytest.param(Level, {"type": "integer", "enum": [1, 2]}, id="int enum"),
        pytest.param(list[str], {"type": "array", "items": {"type": "string"}}, id="list"),
        pytest.param(tuple[str, ...], {"type": "array", "items": {"type": "string"}}, id="tuple of any length"),
        pytest.param(
            set[str], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, id="set"
        ),
        pytest.param(
            frozenset[str],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            id="frozenset",
        ),
        pytest.param(
            dict[str, int],
            {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
            id="dict",
        ),
        pytest.param(dict[str, Any], {"type": "object", KEEP: True}, id="open dict"),
        pytest.param(dict, {"type": "object", KEEP: True}, id="dict of anything"),
        pytest.param(
            Inner,
            {
                "description": "A thing inside.",
                "type": "object",
                "properties": {"someName": {"type": "string"}},
                "required": ["someName"],
            },
            id="struct",
        ),
    ],
)
def test_each_type_has_its_schema(declared: Any, schema: dict[str, Any]) -> None:
    assert structural_schema(declared) == schema


@pytest.mark.parametrize(
    ("declared", "schema"),
    [
        pytest.param(
            Annotated[int, Meta(ge=0, le=9)],
            {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9},
            id="bounds",
        ),
        pytest.param(
            Annotated[int, Meta(gt=0, lt=9)],
            {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 9,
                "exclusiveMaximum": True,
            },
            id="exclusive bounds are booleans beside the bound",
        ),
        pytest.param(
            Annotated[float, Meta(gt=0.5, multiple_of=0.5)],
            {"type": "number", "minimum": 0.5, "exclusiveMinimum": True, "multipleOf": 0.5},
            id="float bounds",
        ),
        pytest.param(
            Annotated[str, Meta(min_length=1, max_length=63, pattern="^[a-z]+$")],
            {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z]+$"},
            id="string bounds",
        ),
        pytest.param(
            Annotated[list[int], Meta(min_length=1, max_length=3)],
            {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer", "format": "int64"}},
            id="list bounds",
        ),
        pytest.param(
            Annotated[dict[str, str], Meta(max_length=8)],
            {"type": "object", "maxProperties": 8, "additionalProperties": {"type": "string"}},
            id="dict bounds",
        ),
        pytest.param(
            Int32,
            {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1},
            id="int32 replaces the format",
        ),
        pytest.param(Annotated[str, DATE_TIME], {"type": "string", "format": "date-time"}, id="time kept as str"),
        pytest.param(Annotated[str, NULLABLE] | None, {"type": "string", "nullable": True}, id="nullable"),
        pytest.param(Annotated[bool, server_default(False)], {"type": "boolean", "default": False}, id="default"),
        pytest.param(
            Annotated[str, Meta(title="T", description="D", examples=["e"])],
            {"description": "D", "type": "string"},
            id="title and examples are left out",
        ),
        pytest.param(
            Annotated[list[str], LIST_SET],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            id="list set",
        ),
        pytest.param(
            Annotated[list[str], LIST_ATOMIC],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
            id="atomic list",
        ),
        pytest.param(
            Annotated[list[Keyed], list_map("type")],
            {
                "type": "array",
                "items": {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
            id="list map",
        ),
    ],
)
def test_each_word_of_the_vocabulary_arrives(declared: Any, schema: dict[str, Any]) -> None:
    assert structural_schema(declared) == schema


def test_rules_on_one_field_add_up() -> None:
    twice = Annotated[
        str, rule("self != ''", "may not be empty"), rule("self == oldSelf", reason="FieldValueForbidden")
    ]
    assert structural_schema(twice)["x-kubernetes-validations"] == [
        {"rule": "self != ''", "message": "may not be empty"},
        {"rule": "self == oldSelf", "reason": "FieldValueForbidden"},
    ]


def test_a_rule_carries_all_it_may_say() -> None:
    meta = rule("r", "m", message_expression="e", reason="FieldValueRequired", field_path=".a", optional_old_self=True)
    assert structural_schema(Annotated[str, meta])["x-kubernetes-validations"] == [
        {
            "rule": "r",
            "message": "m",
            "messageExpression": "e",
            "reason": "FieldValueRequired",
            "fieldPath": ".a",
            "optionalOldSelf": True,
        }
    ]


def test_what_a_struct_says_of_itself_holds_wherever_it_is_used_and_adds_to_what_the_field_says() -> None:
    class Holder(Struct):
        first: Guarded
        second: Annotated[Guarded, rule("self.a > 0")] | None = None

    fields = structural_schema(Holder)["properties"]
    assert [r["rule"] for r in fields["first"]["x-kubernetes-validations"]] == ["self.a < self.b"]
    assert [r["rule"] for r in fields["second"]["x-kubernetes-validations"]] == ["self.a < self.b", "self.a > 0"]
    assert fields["first"]["x-kubernetes-map-type"] == "atomic"


def test_python_defaults_are_not_stored_by_the_api_server() -> None:
    class Widget(Struct):
        size: int = 3
        names: list[str] = msgspec.field(default_factory=list)
        colour: str | UnsetType = UNSET

    assert structural_schema(Widget) == {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "format": "int64"},
            "names": {"type": "array", "items": {"type": "string"}},
            "colour": {"type": "string"},
        },
    }


def test_a_field_is_required_without_a_default_or_when_marked() -> None:
    class Widget(Struct):
        size: int
        name: Annotated[str, REQUIRED] = always(str)
        note: str = always(str)
        owner: Annotated[str, REQUIRED] | None = None

    assert structural_schema(Widget)["required"] == ["size", "name", "owner"]


def test_constraints_on_writes_are_for_the_server_alone() -> None:
    class Widget(Struct):
        size: Annotated[int, on_write(minimum=1)] = 0

    assert structural_schema(Widget)["properties"]["size"] == {"type": "integer", "format": "int64", "minimum": 1}
    assert msgspec.convert({"size": 0}, Widget) == Widget()


def test_a_field_of_former_owners_is_read_and_not_in_the_schema() -> None:
    class Widget(Struct):
        ready: Annotated[bool, FORMER] = False
        phase: str = ""

    assert list(structural_schema(Widget)["properties"]) == ["phase"]
    assert msgspec.convert({"ready": True}, Widget).ready


def test_the_bounds_of_int64_are_its_format() -> None:
    assert structural_schema(Int64) == {"type": "integer", "format": "int64"}


def test_none_without_a_default_is_a_value_that_is_stored() -> None:
    class Widget(Struct):
        size: int | None

    schema = structural_schema(Widget)
    assert schema["required"] == ["size"]
    assert schema["properties"]["size"]["nullable"] is True


def test_unknown_fields_can_be_kept_beside_declared_ones() -> None:
    schema = structural_schema(Annotated[Inner, KEEP_UNKNOWN])
    assert schema[KEEP] is True
    assert "someName" in schema["properties"]


def test_keywords_are_written_in_one_order_whatever_the_order_of_annotations() -> None:
    one = structural_schema(Annotated[str, rule("true"), Meta(max_length=3), DATE_TIME, Meta(description="D")])
    other = structural_schema(Annotated[str, Meta(description="D"), DATE_TIME, Meta(max_length=3), rule("true")])
    assert list(one) == list(other) == ["description", "type", "format", "maxLength", "x-kubernetes-validations"]


def test_schemas_share_nothing() -> None:
    class Holder(Struct):
        first: Guarded
        second: Guarded

    fields = structural_schema(Holder)["properties"]
    fields["first"]["x-kubernetes-validations"][0]["message"] = "changed"
    assert fields["second"]["x-kubernetes-validations"][0]["message"] == "a must be below b"


class HoldsRecursive(Struct):
    tree: Recursive


class HoldsUnion(Struct):
    either: list[int | bool]


class HoldsBadKey(Struct):
    by_number: dict[int, str]


class HoldsUnknownWord(Struct):
    name: Annotated[str, Meta(extra_json_schema={"x-mine": 1})]


class HoldsUnkeyed(Struct):
    conditions: Annotated[list[Loose], list_map("type")]


class HoldsMisspelt(Struct):
    conditions: Annotated[list[Keyed], list_map("kind")]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        pytest.param(HoldsRecursive, r"HoldsRecursive\.tree\.below\[\]: Recursive contains itself", id="recursion"),
        pytest.param(HoldsUnion, r"HoldsUnion\.either\[\]: the union Int \| Bool has no structural form", id="union"),
        pytest.param(Inner | Loose | None, r"unions of objects have none", id="union of structs"),
        pytest.param(list[int] | dict[str, int], r"the union List \| Dict has no structural form", id="list or dict"),
        pytest.param(Literal["a"] | int, r"has no structural form", id="word or number"),
        pytest.param(Literal["a", 1], r"more than one type", id="mixed literal"),
        pytest.param(HoldsBadKey, r"HoldsBadKey\.by_number: keys of JSON objects are strings", id="keys"),
        pytest.param(HoldsUnknownWord, r"HoldsUnknownWord\.name: the API server knows no x-mine", id="unknown word"),
        pytest.param(HoldsUnkeyed, r"HoldsUnkeyed\.conditions: .* keyed by type, .* REQUIRED", id="optional key"),
        pytest.param(HoldsMisspelt, r"HoldsMisspelt\.conditions: .* keyed by kind, .* do not have", id="absent key"),
        pytest.param(tuple[int, str], r"TupleType has no structural schema; use a list or a Struct", id="fixed tuple"),
        pytest.param(Pair, r"NamedTupleType has no structural schema; use a Struct", id="named tuple"),
        pytest.param(timedelta, r"1h30m", id="duration"),
        pytest.param(Decimal, r"use str with a pattern", id="decimal"),
        pytest.param(None, r"always null says nothing", id="null"),
        pytest.param(Tagged, r"array_like or tagged", id="tagged"),
    ],
)
def test_what_has_no_structural_schema_is_refused_with_its_path(declared: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        structural_schema(declared)


def test_a_list_map_may_be_keyed_by_a_field_with_a_server_side_default() -> None:
    assert structural_schema(Annotated[list[KeyedByDefault], list_map("type")])["x-kubernetes-list-type"] == "map"


def test_a_list_map_needs_a_key() -> None:
    with pytest.raises(ValueError, match="name at least one key"):
        list_map()
