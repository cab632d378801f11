"""Decodes provider specs as tolerantly as OpenShift does, with the same error texts.

A provider spec is JSON or YAML of any shape inside a Machine. OpenShift converts YAML to JSON according to the target
type, then decodes that with Go's `encoding/json`. So

* field names match case-insensitively; of several that match, the last in sorted order wins;
* a number or a bool in place of a string is taken as its text: `keyName: 5` is `"5"`;
* an integer too large for a float is a string, in any field;
* unknown fields are ignored (here they are returned, for a warning), nulls are absent;
* the first value of a wrong type is an error, with Go's text: `json: cannot unmarshal array into Go struct field
  AWSMachineProviderConfig.userDataSecret of type v1.LocalObjectReference`.

Nearly all provider specs match their type and are decoded in one call. The others are read field by field.
"""

import math
import struct
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct, field, inspect

from windlass.api.meta import ConvertedCondition, ObjectMeta, OwnerReference
from windlass.kube import decoding

T = TypeVar("T")


class GoNames(Struct, frozen=True, eq=False):
    """The Go names of our types, for error texts.

    A Struct is `<package>.<its own name>` unless `structs` has another name. A field has the name of its type
    (`string`, `int64`, ...) unless `fields` has another one by Struct and JSON name: strings of a named type, times,
    other widths.
    """

    package: str
    structs: Mapping[type[Struct], str] = field(default_factory=dict)
    fields: Mapping[tuple[type[Struct], str], str] = field(default_factory=dict)


class Unmarshalled(Struct, Generic[T], frozen=True, gc=False):
    """A value, or the text of an error; `unknown` are path and value of fields that its type does not have."""

    value: T | None
    error: str = ""
    unknown: list[tuple[str, Any]] = []


_FLOATS_END = 2**1024 - 2**970
"""The first integer that rounds to no 64-bit float."""

TIME = "time"
"""In `GoNames.fields`: a `metav1.Time`, which no number is coerced to."""

META_FIELDS: Final[Mapping[tuple[type[Struct], str], str]] = {
    (ObjectMeta, "creationTimestamp"): TIME,
    (ObjectMeta, "deletionTimestamp"): TIME,
    (ObjectMeta, "uid"): "types.UID",
    (OwnerReference, "uid"): "types.UID",
}
"""For `GoNames.fields`: those of the metadata that every provider spec has."""
CONDITION_FIELDS: Final[Mapping[tuple[type[Struct], str], str]] = {
    (ConvertedCondition, "lastTransitionTime"): TIME,
    (ConvertedCondition, "status"): "v1.ConditionStatus",
}
"""For `GoNames.fields`: those of a provider status with conditions."""

_UNMARSHALING = "error unmarshaling JSON: while decoding JSON: "


def tree_of(raw: Any) -> Any:
    """`raw` as a plain tree: bytes are the text of one, JSON or else YAML; anything else is one already.

    Raises ValueError with the problem if the text is neither.

    >>> tree_of(b"ami: {id: ami-1}")
    {'ami': {'id': 'ami-1'}}
    """
    if not isinstance(raw, bytes):
        return raw
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    # Rare and slow to import, so only YAML input pays for it.
    import yaml

    from windlass.capability.documents.yaml_dialect import as_json, load_all

    try:
        return next((as_json(tree) for _, tree in load_all(raw.decode())), None)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"error converting YAML to JSON: yaml: {' '.join(str(error).split())}") from None


def unmarshal(tree: Any, kind: type[T], names: GoNames) -> Unmarshalled[T]:
    """`tree` (dicts, lists, scalars) as `kind`; None is an empty one. Never raises."""
    if tree is None:
        return Unmarshalled(kind())
    shape = _shape(kind, names)  # type: ignore[arg-type]
    try:
        value = decoding.convert(tree, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):
        # The latter for keys with a lone surrogate, which is in no field's name.
        pass
    else:
        if type(tree) is dict and _only_known(tree, shape):
            return Unmarshalled(value)
    reader = _Reader()
    normal = reader.read(tree, shape, owner="", path=())
    if reader.error:
        return Unmarshalled(None, f"{_UNMARSHALING}{reader.error}")
    try:
        return Unmarshalled(decoding.convert(normal, kind), unknown=reader.unknown)
    except (msgspec.ValidationError, RecursionError) as error:
        return Unmarshalled(None, f"{_UNMARSHALING}{error}")


class _Shape(Struct, eq=False):
    """The expected type of a value.

    `go` is its Go type, `zero` the value that replaces a null item of a list. `item` is set for a list or map. The rest
    is set for a struct: `fields` by name, the set of their names (`known`), the names by their case-`folded` form, and
    `nested`: the fields that are structs or lists of structs, with the shape of the struct.
    """

    read: "Callable[[_Reader, Any, _Shape, str, tuple[str, ...]], Any]"
    go: str
    name: str = ""
    zero: Any = None
    least: int = -(2**63)
    most: int = 2**63 - 1
    fields: "dict[str, _Shape]" = field(default_factory=dict)
    folded: dict[str, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    nested: "tuple[tuple[str, _Shape], ...]" = ()
    item: "_Shape | None" = None


class _Reader:
    """One pass over a tree. `error` is the first that Go would have met; reading goes on, as Go's does."""

    def __init__(self) -> None:
        self.error = ""
        self.unknown: list[tuple[str, Any]] = []
        self._place: list[str] = []

    def read(self, value: Any, shape: _Shape, *, owner: str, path: tuple[str, ...]) -> Any:
        """`value` as `shape` wants it; None if it is null or does not fit."""
        if value is None:
            return None
        if isinstance(value, int) and not -_FLOATS_END < value < _FLOATS_END:
            value = _digits(value)
        return shape.read(self, value, shape, owner, path)

    def mismatch(self, what: str, shape: _Shape, owner: str, path: tuple[str, ...], *, go: str = "") -> None:
        """Note that `what` (array, number 5, ...) was found at `path`, a field of the struct `owner`."""
        where = f"Go struct field {owner}.{'.'.join(path)}" if path else "Go value"
        self.problem(f"json: cannot unmarshal {what} into {where} of type {go or shape.go}")

    def problem(self, text: str) -> None:
        self.error = self.error or text

    def read_struct(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        if not isinstance(value, dict):
            return self.mismatch(_described(value), shape, owner, path)
        normal: dict[str, Any] = {}
        for key in sorted(value):
            name = key if key in shape.fields else shape.folded.get(_folded(key))
            if name is None:
                self.unknown.append((".".join([*self._place, key]), value[key]))
                continue
            self._place.append(name)
            read = self.read(value[key], shape.fields[name], owner=shape.name, path=(*path, name))
            self._place.pop()
            if read is not None:
                normal[name] = read
        return normal

    def read_list(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        if not isinstance(value, list):
            return self.mismatch(_described(value), shape, owner, path)
        assert shape.item is not None
        normal: list[Any] = []
        container = self._place[-1] if self._place else ""
        for index, one in enumerate(value):
            if self._place:
                self._place[-1] = f"{container}[{index}]"
            read = self.read(one, shape.item, owner=owner, path=path)
            normal.append(shape.item.zero if read is None else read)
        if self._place:
            self._place[-1] = container
        return normal

    def read_map(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        if not isinstance(value, dict):
            return self.mismatch(_described(value), shape, owner, path)
        assert shape.item is not None
        normal: dict[str, Any] = {}
        for key in sorted(value):
            read = self.read(value[key], shape.item, owner=owner, path=path)
            normal[key] = shape.item.zero if read is None else read
        return normal

    def read_string(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return _short(_number(value))
        return self.mismatch(_described(value), shape, owner, path)

    def read_int(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.mismatch(_described(value), shape, owner, path)
        text = _as_json_number(_number(value))
        try:
            number = int(text)
        except ValueError:
            return self.mismatch(f"number {text}", shape, owner, path)
        if not shape.least <= number <= shape.most:
            return self.mismatch(f"number {text}", shape, owner, path)
        return number

    def read_bool(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        return value if isinstance(value, bool) else self.mismatch(_described(value), shape, owner, path)

    def read_time(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        return value if isinstance(value, str) else self.mismatch(_described(value), shape, owner, path, go="string")

    def read_int_or_string(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        return value if isinstance(value, str) else self.read_int(value, shape, owner, path)

    def read_any(self, value: Any, shape: _Shape, owner: str, path: tuple[str, ...]) -> Any:
        return value


def _only_known(tree: Any, shape: _Shape) -> bool:
    """Whether `tree`, which decodes as the struct of `shape`, has only keys that are fields, at any depth.

    Runs for every Machine, so it asks for types by identity: JSON and YAML give no subclasses.
    """
    if not shape.known.issuperset(tree):
        return False
    for name, inner in shape.nested:
        value = tree.get(name)
        if type(value) is dict:
            if not _only_known(value, inner):
                return False
        elif type(value) is list:
            for one in value:
                if type(one) is dict and not _only_known(one, inner):
                    return False
    return True


@cache
def _shape(kind: Hashable, names: GoNames) -> _Shape:
    return _of(inspect.type_info(kind), names)


def _of(info: Any, names: GoNames, *, go: str = "") -> _Shape:
    if isinstance(info, inspect.Metadata):
        return _of(info.type, names, go=go)
    if isinstance(info, inspect.UnionType):
        kinds = [one for one in info.types if not isinstance(one, inspect.NoneType)]
        if len(kinds) == 1:
            return _of(kinds[0], names, go=go)
        return _Shape(read=_Reader.read_int_or_string, go="int32", least=-(2**31), most=2**31 - 1)
    if isinstance(info, inspect.StructType):
        return _of_struct(info, names)
    if isinstance(info, inspect.ListType):
        item = _of(info.item_type, names)
        return _Shape(read=_Reader.read_list, go=go or f"[]{item.go}", zero=[], item=item)
    if isinstance(info, inspect.DictType):
        item = _of(info.value_type, names)
        return _Shape(read=_Reader.read_map, go=go or f"map[string]{item.go}", zero={}, item=item)
    if isinstance(info, inspect.IntType):
        small = info.le == 2**31 - 1
        width = go or ("int32" if small else "int64")
        return _Shape(read=_Reader.read_int, go=width, zero=0, least=info.ge or -(2**63), most=info.le or 2**63 - 1)
    if isinstance(info, inspect.BoolType):
        return _Shape(read=_Reader.read_bool, go="bool", zero=False)
    if isinstance(info, inspect.StrType):
        return _Shape(read=_Reader.read_time if go == TIME else _Reader.read_string, go=go or "string", zero="")
    return _Shape(read=_Reader.read_any, go="interface {}")


def _of_struct(info: inspect.StructType, names: GoNames) -> _Shape:
    go = names.structs.get(info.cls) or f"{names.package}.{info.cls.__name__}"
    fields = {
        one.encode_name: _of(one.type, names, go=names.fields.get((info.cls, one.encode_name), ""))
        for one in info.fields
    }
    nested: list[tuple[str, _Shape]] = []
    for name, shape in fields.items():
        inner = shape.item if shape.item is not None and shape.read is _Reader.read_list else shape
        if inner.fields:
            nested.append((name, inner))
    return _Shape(
        read=_Reader.read_struct,
        go=go,
        name=go.rpartition(".")[2],
        zero={},
        fields=fields,
        folded={_folded(name): name for name in fields},
        known=frozenset(fields),
        nested=tuple(nested),
    )


def _folded(key: str) -> str:
    """`key` case-folded as Go does it; two non-ASCII letters fold to ASCII letters."""
    return key.lower().replace("\u017f", "s")


def _described(value: Any) -> str:
    """The kind of a JSON value, as Go's error texts name it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _number(value: float) -> float:
    """`value` as Go holds it: beyond 64 bits as a float."""
    return float(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def _digits(value: int) -> str:
    """`value` in decimal; in hexadecimal beyond Python's limit of decimal digits."""
    try:
        return str(value)
    except ValueError:
        return hex(value)


def _as_json_number(value: float) -> str:
    """`value` as Go writes it in JSON: with an exponent only if it is tiny or huge.

    >>> [_as_json_number(one) for one in (5, 5.0, 1.5, 1e21, 1e-7)]
    ['5', '5', '1.5', '1e+21', '1e-7']
    """
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        plain = f"{value:.0f}" if value.is_integer() else msgspec.json.encode(value).decode()
        return plain if "e" not in plain else f"{value:.17f}".rstrip("0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits.removesuffix('.0')}e{'-' if exponent[0] == '-' else '+'}{exponent.lstrip('+-').lstrip('0')}"


def _short(value: float) -> str:
    """`value` as sigs.k8s.io/yaml writes it: the shortest `%g` of a 32-bit float, with an exponent from a million on.

    >>> [_short(one) for one in (5, 5.0, 0.25, 123456.0, 1e6, 0.00001, 1e300)]
    ['5', '5', '0.25', '123456', '1e+06', '1e-05', '+Inf']
    """
    if isinstance(value, int):
        return str(value)
    single = _single(value)
    if not math.isfinite(single):
        return "NaN" if math.isnan(single) else "+Inf" if single > 0 else "-Inf"
    text = next(text for digits in range(17) if _single(float(text := f"{single:.{digits}e}")) == single)
    if single and not -4 <= int(text.partition("e")[2]) < 6:
        return text
    return f"{Decimal(text):f}"


def _single(value: float) -> float:
    """`value` in the precision of 32 bits."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded
