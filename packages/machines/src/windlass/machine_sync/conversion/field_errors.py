"""Field errors: each describes what is wrong with one field of an object.

The text of an error is that of Kubernetes' `field.Error`:

    <path>: Invalid value: <value>: <detail>
    <path>: Required value: <detail>
    <path>: Too many: <actual>: must have at most <most> items
    <path>: Internal error: <detail>

A path is a plain string such as `spec.ports[0].network`. Go shows the value of an invalid field by its type, so there
are two constructors: `invalid` for strings (quoted) and numbers, `invalid_json` for everything that Go shows as JSON:
structs, lists, maps, pointers and strings of a named type.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from windlass.capability.goquote import quote
from windlass.machine_sync.conversion.gojson import compact


class FieldError(Struct, frozen=True):
    """One wrong field. `problem` includes the value, if it is shown; `detail` says what would be correct."""

    path: str
    problem: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}: {self.detail}" if self.detail else f"{self.path}: {self.problem}"


class Findings(Struct, frozen=True):
    """The errors, warnings and losses found so far; functions that convert a part add to them.

    `losses` are our own warnings: fields that are set, and that OpenShift drops silently.
    """

    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    losses: list[FieldError] = []

    def lose(self, path: str, value: Any, *, by: str = "Cluster API", becomes: str = "") -> None:
        """Record that the field at `path` is dropped, because `by` (an API or a type) has no such field.

        `becomes` describes the value that replaces it, if there is one.
        """
        self.losses.append(dropped(path, value, by=by, becomes=becomes))


def invalid(path: str, value: str | int, detail: str) -> FieldError:
    """The field has a plain value (a string or a number) that cannot be accepted.

    >>> str(invalid("spec.tenancy", "odd", "unknown value"))
    'spec.tenancy: Invalid value: "odd": unknown value'
    """
    shown = quote(value) if isinstance(value, str) else compact(value)
    return FieldError(path, f"Invalid value: {shown}", detail)


def invalid_json(path: str, value: Any, detail: str) -> FieldError:
    """The field has a value, shown as JSON, that cannot be accepted; None is shown as `null`.

    >>> str(invalid_json("spec.ports[0].network", {}, "needs an id"))
    'spec.ports[0].network: Invalid value: {}: needs an id'
    """
    return FieldError(path, f"Invalid value: {compact(value)}", detail)


def dropped(path: str, value: Any, *, by: str, becomes: str = "") -> FieldError:
    """The warning that the field is set, and `by` (an API or a type) has no such field.

    >>> str(dropped("spec.floatingIP", "10.0.0.1", by="Cluster API"))
    'spec.floatingIP: Invalid value: "10.0.0.1": floatingIP has no equivalent in Cluster API and is dropped'
    >>> str(dropped("spec.kind", "odd", by="the Machine API", becomes="an even one"))
    'spec.kind: Invalid value: "odd": kind has no equivalent in the Machine API and becomes an even one'
    """
    field = path.rpartition(".")[2]
    outcome = f"becomes {becomes}" if becomes else "is dropped"
    return invalid_json(path, value, f"{field} has no equivalent in {by} and {outcome}")


def required(path: str, detail: str) -> FieldError:
    """The field must be set and is not."""
    return FieldError(path, "Required value", detail)


def too_many(path: str, actual: int, most: int) -> FieldError:
    """The list has `actual` items where at most `most` are allowed.

    >>> str(too_many("metadata.ownerReferences", 2, 1))
    'metadata.ownerReferences: Too many: 2: must have at most 1 item'
    """
    return FieldError(path, f"Too many: {actual}", f"must have at most {most} item{'' if most == 1 else 's'}")


def internal(path: str, detail: str) -> FieldError:
    """The field could not be examined."""
    return FieldError(path, "Internal error", detail)


def aggregate(texts: Iterable[str]) -> str:
    """All `texts` as one: empty for none, the text itself for one, else `[a, b]`; repeated texts are shown once.

    >>> aggregate(["a", "b", "a"])
    '[a, b]'
    """
    distinct = list(dict.fromkeys(texts))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
