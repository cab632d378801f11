"""Finds the fields of an infra machine's or template's spec that differ from the converted spec.

These are no differences:

* empty values: null, and empty text, lists and maps;
* fields that our types do not declare, at any depth and in items of lists: conversion cannot have set them, so a newer
  provider has, often as a default;
* values that make none on the platform: `Platform.comparable_infra_machine`;
* fields that the provider or the API server fills in, and a default that only one of the two specs has:
  `Platform.infra_machine_leftovers`;
* fields whose converted value is the same as when the infra machine was last written: `given`, an annotation on it, has
  the digest of each. The present value is what the provider made of it. Only a value in a field that can be changed
  (`Platform.infra_machine_mutable`) is set back, because anybody can edit it.

All other fields of our types belong to conversion, whether it sets them now, did before, or never does.
"""

from collections.abc import Mapping
from typing import Any

from windlass.api.meta import tree
from windlass.kube import decoding
from windlass.kube.control.merge import same
from windlass.machine_sync.mirroring import mirrored_spec
from windlass.machine_sync.platforms import Platform


def given(platform: Platform, spec: Mapping[str, Any], *, source: Any) -> str:
    """The record of the fields of `spec`, converted from the provider spec `source`, for the annotation."""
    return mirrored_spec.record(_digests(spec), conversion=platform.conversion, source=source)


def differing(
    platform: Platform, observed: Mapping[str, Any], desired: Mapping[str, Any], *, noted: str | None = None
) -> dict[str, Any]:
    """The observed top-level fields of the spec that differ, without the parts of them that are no differences.

    `observed` can be decoded as the spec of the platform's infra machines. `noted` is `given` of the spec that was
    written last; None if it was not recorded.
    """
    fields = _unlike(platform, observed, desired)
    if not fields or noted is None:
        return fields
    before, now = mirrored_spec.read(noted), _digests(desired)
    return {
        key: value
        for key, value in fields.items()
        if before.get(key) != now.get(key)
        or (key in platform.infra_machine_mutable and not covers(observed.get(key), desired.get(key)))
    }


def covers(observed: Any, desired: Any) -> bool:
    """`observed` is `desired`, or `desired` completed: with more keys in its maps, at any depth.

    >>> covers({"name": "a", "region": "r"}, {"name": "a"}), covers({"name": "b"}, {"name": "a"})
    (True, False)
    """
    if _says_nothing(desired):
        return True
    if isinstance(observed, Mapping) and isinstance(desired, Mapping):
        return all(covers(observed.get(key), value) for key, value in desired.items())
    if isinstance(observed, list) and isinstance(desired, list):
        return len(observed) == len(desired) and all(map(covers, observed, desired))
    return same(observed, desired)


def _digests(spec: Mapping[str, Any]) -> dict[str, str]:
    return {key: mirrored_spec.digest(value) for key, value in _said(spec).items()}


def _unlike(platform: Platform, observed: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    # Most fields are equal, and this comparison is cheap.
    unlike = [key for key in observed.keys() | desired.keys() if not same(observed.get(key), desired.get(key))]
    if not unlike:
        return {}
    left, right = (_said({key: spec[key] for key in unlike if key in spec}) for spec in (observed, desired))
    left = _said(_declared(platform, left))
    left, right = (dict(platform.comparable_infra_machine(spec)) for spec in (left, right))
    for path, default in platform.infra_machine_leftovers.items():
        _drop(left, right, path.split("."), default)
        if default is not None:
            # Conversion writes many defaults explicitly, where others leave them to the API server.
            _drop(right, left, path.split("."), default)
    left, right = _said(left), _said(right)
    return {key: left.get(key) for key in left.keys() | right.keys() if not same(left.get(key), right.get(key))}


def _declared(platform: Platform, spec: dict[str, Any]) -> dict[str, Any]:
    """`spec` with only the fields that the type of the platform's infra machines declares."""
    kind: Any = platform.infra_machine
    declared: dict[str, Any] = tree(decoding.convert(spec, type(kind().spec)))
    return {key: value for key, value in declared.items() if key in spec}


def _said(value: Any) -> Any:
    if isinstance(value, Mapping):
        said = {key: _said(inner) for key, inner in value.items()}
        return {key: inner for key, inner in said.items() if not _says_nothing(inner)}
    if isinstance(value, list):
        return [_said(item) for item in value]
    return value


def _says_nothing(value: Any) -> bool:
    return value in (None, "") or value == {} or value == []


def _drop(spec: Any, other: Any, path: list[str], default: Any) -> None:
    """Remove the field at `path` from `spec` if it is a leftover: the other spec does not have it."""
    *parents, last = path
    for key in parents:
        spec = spec.get(key) if isinstance(spec, dict) else None
        other = other.get(key) if isinstance(other, dict) else None
    if not isinstance(spec, dict) or (isinstance(other, dict) and last in other):
        return
    if default is None or spec.get(last) == default:
        spec.pop(last, None)
