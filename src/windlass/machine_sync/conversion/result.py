"""The outcome of a conversion: what was made, or why nothing was."""

from msgspec import Struct

from windlass.machine_sync.conversion.field_errors import aggregate


class Conversion(Struct, frozen=True, gc=False, kw_only=True):
    """What every conversion says; one that has results says them too.

    `errors` are all that were found, in the order of the fields that they concern. If there are any, all results are
    None. `warnings` (OpenShift's) and `losses` (ours: fields that OpenShift drops without a word) do not prevent a
    conversion, and are given with errors too.
    """

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """All that a person should know of a conversion that succeeds: warnings, then losses."""
        return (*self.warnings, *self.losses)

    @property
    def error(self) -> str:
        """All errors as one text, each once: the message of a condition. Empty if there are none."""
        return aggregate(self.errors)
