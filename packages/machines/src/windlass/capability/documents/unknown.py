"""Finds fields of a document that its kind does not have: misspelt ones, or those of a later version.

An API server would refuse or drop them. Reading is tolerant, since an unneeded field must not prevent a conversion, but
the user gets a warning.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import inspect

from windlass.capability.documents.reading import Document, Undecodable


def ignored(document: Document, kind: type) -> list[str]:
    """A sentence for each such field below `spec`."""
    return [
        f"{path} is not known as a field of {document.kind} and is ignored" for path in unknown_fields(document, kind)
    ]


def unknown_fields(document: Document, kind: type) -> Iterator[str]:
    """The paths of fields below `spec` that `kind` does not have, in the order of the document."""
    try:
        tree = document.decode(dict[str, Any])
    except Undecodable:
        return
    if "spec" in tree:
        yield from _unknown(tree["spec"], _spec(kind), "spec")


def _unknown(value: Any, shape: Any, path: str) -> Iterator[str]:
    if isinstance(value, list) and isinstance(shape, list):
        for index, item in enumerate(value):
            yield from _unknown(item, shape[0], f"{path}[{index}]")
    if isinstance(value, dict) and isinstance(shape, dict):
        for name, inner in value.items():
            if name in shape:
                yield from _unknown(inner, shape[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"


@cache
def _spec(kind: type) -> Any:
    return _shape(inspect.type_info(kind))["spec"]


def _shape(info: inspect.Type) -> Any:
    """A dict of names for a struct, a list of the shape of its items for a list, None for what may hold anything."""
    match info:
        case inspect.Metadata():
            return _shape(info.type)
        case inspect.StructType():
            return {field.encode_name: _shape(field.type) for field in info.fields}
        case inspect.ListType():
            return [_shape(info.item_type)]
        case inspect.UnionType():
            shapes = [shape for one in info.types if (shape := _shape(one)) is not None]
            return shapes[0] if len(shapes) == 1 else None
    return None
