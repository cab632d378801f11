"""The outcome of a conversion: its results, or its errors."""

from msgspec import Struct

from windlass.machine_sync.conversion.field_errors import aggregate


class Conversion(Struct, frozen=True, gc=False, kw_only=True):
    """Errors, warnings and losses of a conversion; subclasses add its results.

    `errors` lists all errors in the order of their fields. If there are any, all results are None. `warnings`
    (OpenShift's) and `losses` (ours: fields that OpenShift drops silently) do not prevent a conversion, and are listed
    even if there are errors.
    """

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Everything to report about a successful conversion: warnings, then losses."""
        return (*self.warnings, *self.losses)

    @property
    def error(self) -> str:
        """All errors as one text, each once: the message of a condition. Empty if there are none."""
        return aggregate(self.errors)
