"""How builder Pods are made: image, account, Nodes, resources; from options and keys of the builder's ConfigMap. Pure.

| option | key of ConfigMap `machine-os-builder-config` | as written |
|---|---|---|
| `--builder-image` | `builderImage` | a pullspec |
| `--builder-priority-class` | `builderPriorityClass` | its name |
| `--builder-node-selector` | `builderNodeSelector` | `KEY=VALUE` |
| `--builder-toleration` | `builderTolerations` | `KEY[=VALUE][:EFFECT]`, as `kubectl taint` writes a taint |
| `--builder-request`, `--builder-limit` | `builderRequests`, `builderLimits` | `cpu=2`, `memory=4Gi` |
| `--builder-service-account` | none: an account may bring rights | its name |
| `--builder-cache-claim` | none: all builds share what is in it | its name |

An option is given once for each entry; a key has entries with commas between them. A key counts instead of its option.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

Pairs = tuple[tuple[str, str], ...]
T = TypeVar("T")

_QUANTITY: Final = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_KEY: Final = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_IMAGE: Final = re.compile(r"[\w.:/@\[\]-]+", re.ASCII)
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Toleration(Struct, frozen=True):
    """A taint that builder Pods tolerate. `value` empty: any value; `effect` empty: all effects."""

    key: str
    value: str = ""
    effect: str = ""

    @property
    def tree(self) -> dict[str, str]:
        """As a Pod has it."""
        how = {"operator": "Equal", "value": self.value} if self.value else {"operator": "Exists"}
        return {"key": self.key, **how, **({"effect": self.effect} if self.effect else {})}


class Placement(Struct, frozen=True, kw_only=True):
    """How builder Pods are made; whatever is empty is left to others.

    requests, limits  quantities by the name of the resource
    cache_claim       the PersistentVolumeClaim in which Jobs share unpacked base images
    """

    image: str = ""
    service_account: str = ""
    priority_class: str = ""
    node_selector: Pairs = ()
    tolerations: tuple[Toleration, ...] = ()
    requests: Pairs = ()
    limits: Pairs = ()
    cache_claim: str = ""

    def over(self, other: "Placement") -> "Placement":
        """This placement, with the values of `other` in its empty fields."""
        own = {name: value for name in self.__struct_fields__ if (value := getattr(self, name))}
        return structs.replace(other, **own)

    @property
    def resources(self) -> dict[str, Any]:
        """As a container has them."""
        both = (("requests", self.requests), ("limits", self.limits))
        return {name: dict(pairs) for name, pairs in both if pairs}


def image(text: str) -> str:
    """A pullspec. Raises ValueError, like the other readers here."""
    if not _IMAGE.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no pullspec: write HOST/NAME@sha256:DIGEST")
    return text


def name(text: str) -> str:
    """The name of a ServiceAccount, PriorityClass or PersistentVolumeClaim."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no name of an object: write it in lower case")
    return text


def label(text: str) -> tuple[str, str]:
    """A label of Nodes."""
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
        raise ValueError(f"{text[:80]!r} is no label: write KEY=VALUE")
    return key, value


def toleration(text: str) -> Toleration:
    """A taint, or a part of it."""
    taint, colon, effect = text.partition(":")
    key, equals, value = taint.partition("=")
    if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value) or bool(equals) != bool(value):
        raise ValueError(f"{text[:80]!r} is no taint: write KEY, KEY:EFFECT or KEY=VALUE:EFFECT")
    if colon and effect not in _EFFECTS:
        raise ValueError(f"{text[:80]!r}: the effect is one of {', '.join(_EFFECTS)}")
    return Toleration(key, value, effect)


def quantity(text: str) -> tuple[str, str]:
    """An amount of a resource."""
    resource, equals, amount = text.partition("=")
    if not equals or not _KEY.fullmatch(resource) or not _QUANTITY.fullmatch(amount):
        raise ValueError(f"{text[:80]!r} is no amount of a resource: write memory=4Gi or cpu=2")
    return resource, amount


def _entries(read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    return lambda text: tuple(read(each.strip()) for each in text.split(",") if each.strip())


PLACEMENT_KEYS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "builderImage": ("image", image),
    "builderPriorityClass": ("priority_class", name),
    "builderNodeSelector": ("node_selector", _entries(label)),
    "builderTolerations": ("tolerations", _entries(toleration)),
    "builderRequests": ("requests", _entries(quantity)),
    "builderLimits": ("limits", _entries(quantity)),
}
"""The keys of the ConfigMap: the field, and the reader of its text."""


def placement_of(data: Mapping[str, str]) -> Placement:
    """What the data of the ConfigMap says. Raises ValueError that names the key."""
    found: dict[str, Any] = {}
    for key, (field, read) in PLACEMENT_KEYS.items():
        if text := data.get(key, "").strip():
            try:
                found[field] = read(text)
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
    return Placement(**found)
