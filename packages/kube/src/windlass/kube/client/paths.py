"""Builds URL paths and queries from kinds, and from names and selectors that are not trusted.

Names come from objects of other people. A name that is not a single path segment would request something else (an
empty name: the whole collection), so it is refused before it is sent, with the answer an API server would give.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from windlass.api.meta import KubernetesObject, Resource
from windlass.kube.errors import BadRequest, Status

_PLAIN = re.compile(r"[A-Za-z0-9._:-]+").fullmatch


def collection(kind: type[KubernetesObject], namespace: str | None, *, query: str = "") -> str:
    """The path of all objects of `kind`, in `namespace` or (None) everywhere."""
    resource = kind.RESOURCE
    if namespace is not None and resource.namespaced:
        namespace = _segment(namespace, resource, "namespace")
    return _with(resource.path(namespace=namespace), query)


def item(
    kind: type[KubernetesObject], name: str, namespace: str | None, *, subresource: str = "", query: str = ""
) -> str:
    """The path of one object. ValueError if `kind` is namespaced and `namespace` is None: a bug of the caller."""
    resource = kind.RESOURCE
    name = _segment(name, resource, "name")
    if namespace is not None and resource.namespaced:
        namespace = _segment(namespace, resource, "namespace")
    return _with(resource.path(name, namespace=namespace, subresource=subresource), query)


def query(**parameters: str | int | bool | None) -> str:
    """A query string of those parameters that are set; underscores become camelCase."""
    set_ones = {_camel(key): _text(value) for key, value in parameters.items() if value not in (None, "", False)}
    return urlencode(set_ones) if set_ones else ""


def encode(parameters: Mapping[str, str]) -> str:
    return urlencode(parameters)


def _with(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _segment(text: str, resource: Resource, field: str) -> str:
    if _PLAIN(text) and text not in (".", ".."):
        return text
    if not text or "/" in text or "%" in text or text in (".", ".."):
        message = f"{resource.kind}: {field} {text!r} cannot be that of an object"
        raise BadRequest(Status("Failure", message, "BadRequest", 400), request=f"{resource}")
    return quote(text, safe="")


def text(value: str) -> str:
    """A value, encoded for a query."""
    return value if _PLAIN(value) else quote(value, safe="")


def _camel(key: str) -> str:
    first, *others = key.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, others))


def _text(value: str | int | bool | None) -> str:
    return "true" if value is True else str(value)
