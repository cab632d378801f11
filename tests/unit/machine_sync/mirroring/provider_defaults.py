"""What a provider may fill into what it is given: any field of the spec of its machines that our types know."""

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from windlass.machine_sync.platforms import Platform

ITEMS = "[]"
"""In a path: each item of a list."""

Path = tuple[str, ...]


def known_fields(platform: Platform) -> dict[Path, Any]:
    """Every field of the spec of a platform's infra machines, at any depth, with a value of its type."""
    spec: Any = type(platform.infra_machine().spec)  # type: ignore[attr-defined]
    return dict(_fields(inspect.type_info(spec)))


def filled(value: Any, path: Path, default: Any) -> Any:
    """`value` with the default at `path`, wherever that is in it and nothing stands there."""
    if path[0] == ITEMS:
        return [filled(item, path[1:], default) for item in value] if isinstance(value, list) else value
    key, *rest = path
    there = (value or {}).get(key)
    if not rest:
        return {**(value or {}), key: default if there is None else there}
    if rest[0] == ITEMS and not there:
        return value
    return {**(value or {}), key: filled(there, tuple(rest), default)}


def _fields(of: Any, *, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    match of:
        case inspect.Metadata(type=inner):
            yield from _fields(inner, at=at)
        case inspect.StructType(fields=fields):
            for field in fields:
                place = (*at, field.encode_name)
                yield place, _sample(field.type)
                yield from _fields(field.type, at=place)
        case inspect.UnionType(types=types):
            for one in types:
                yield from _fields(one, at=at)
        case inspect.ListType(item_type=item):
            yield from _fields(item, at=(*at, ITEMS))


def _sample(of: Any) -> Any:
    match of:
        case inspect.Metadata(type=inner):
            return _sample(inner)
        case inspect.StructType(fields=fields):
            return {field.encode_name: _sample(field.type) for field in fields}
        case inspect.UnionType(types=types):
            return _sample(next(one for one in types if not isinstance(one, inspect.NoneType)))
        case inspect.ListType(item_type=item):
            return [_sample(item)]
        case inspect.DictType():
            return {"filled-in": "by-the-provider"}
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 7
        case inspect.StrType():
            return "filled-in"
    raise TypeError(f"a field of a type that this page does not know: {of}")
