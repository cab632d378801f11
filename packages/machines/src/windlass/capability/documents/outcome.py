"""The outcome of the conversion of one object among documents."""

from typing import Any

from msgspec import Struct


class ConversionOutcome(Struct, frozen=True):
    """The outcome for one object; `object` is `<kind>/<name>`.

    Either there are `results` or there are `errors`. A result is an object of one of our types, or a tree. `notes` are
    remarks about how the documents were put together.
    """

    object: str
    results: tuple[Any, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
