"""Sample values for fields that do not accept any value: `policies.inexpressible` finds with them what is lost.

They say which values are valid, never which are forbidden. For a platform without samples, "x" and 1 are used, so that
its enumerations seem inexpressible: add a valid word for each of them.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

Tree = dict[str, Any]


class Form(Struct, frozen=True):
    """x"""

    item: Tree
    when: str
    noun: str


class Samples(Struct, frozen=True, kw_only=True):
    """The samples; all by the path of the field, list items marked `[]`.

    base      the least spec that converts
    machine   the least spec of a Machine around it
    cluster   the least spec of an infra cluster around it
    values    an admissible value
    company   other fields, beside it, that it needs
    forms     of the items of a list
    skip      what is not to be asked about
    """

    base: Tree = {}
    machine: Tree = {}
    cluster: Tree = {}
    values: Mapping[str, Any] = {}
    company: Mapping[str, Tree] = {}
    forms: Mapping[str, tuple[Form, ...]] = {}
    skip: frozenset[str] = frozenset()


NO_SAMPLES: Final = Samples()
