"""Where the spec of an infra machine, or of the template of one, really differs from what conversion gives.

What makes no difference:

* what says nothing: null, and empty text, lists and maps;
* fields that our types do not declare, at any depth and in items of lists: conversion cannot have made them, so a newer
  provider has, often as a default;
* fields that the provider or the API server fills in, and a default that only one of the two says:
  `Platform.infra_leftovers`.

All other fields of our types are those of conversion, whether it makes them now, did before, or never does.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.api.meta import tree
from windlass.kube.control.merge import same
from windlass.machine_sync.platforms import Platform


def differing(platform: Platform, observed: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    """The top-level fields of the spec that really differ, as observed: without what makes no difference in them.

    `observed` can be decoded as the spec of the platform's infra machines.
    """
    # Most fields are equal as they stand, and to find that out is cheap.
    unlike = [key for key in observed.keys() | desired.keys() if not same(observed.get(key), desired.get(key))]
    if not unlike:
        return {}
    left, right = (_said({key: spec[key] for key in unlike if key in spec}) for spec in (observed, desired))
    left = _said(_declared(platform, left))
    for path, default in platform.infra_leftovers.items():
        _drop(left, right, path.split("."), default)
        if default is not None:
            # Conversion says many defaults in so many words, where others leave them to the API server.
            _drop(right, left, path.split("."), default)
    left, right = _said(left), _said(right)
    return {key: left.get(key) for key in left.keys() | right.keys() if not same(left.get(key), right.get(key))}


def _declared(platform: Platform, spec: dict[str, Any]) -> dict[str, Any]:
    """`spec` with nothing but the fields that the type of the platform's infra machines declares."""
    kind: Any = platform.infra_machine
    declared: dict[str, Any] = tree(msgspec.convert(spec, type(kind().spec)))
    return {key: value for key, value in declared.items() if key in spec}


def _said(value: Any) -> Any:
    if isinstance(value, Mapping):
        said = {key: _said(inner) for key, inner in value.items()}
        return {key: inner for key, inner in said.items() if inner not in (None, "") and inner != {} and inner != []}
    if isinstance(value, list):
        return [_said(item) for item in value]
    return value


def _drop(spec: Any, other: Any, path: list[str], default: Any) -> None:
    """Take the field at `path` out of `spec` if it is a leftover: the other spec does not have it."""
    *parents, last = path
    for key in parents:
        spec = spec.get(key) if isinstance(spec, dict) else None
        other = other.get(key) if isinstance(other, dict) else None
    if not isinstance(spec, dict) or (isinstance(other, dict) and last in other):
        return
    if default is None or spec.get(last) == default:
        spec.pop(last, None)
