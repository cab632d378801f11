"""What the report says of the informers of others, by the objects and by what those told that this process asked."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from windlass.api.update import UpdateStatusStatus
from windlass.api.update_informer import UpdateInformer
from windlass.update_status.document import informed_of
from windlass.update_status.informers.admission import MOST_ENABLED, candidates
from windlass.update_status.informers.heard import Heard, informed
from windlass.update_status.report import Informed
from windlass.update_status.times import Moment


class Informants(Struct, frozen=True, kw_only=True):
    """The informers that a cluster has.

    every       the UpdateInformers that can be read
    heard       the last answers to this process, by name
    namespaces  patterns of those whose Services are asked; none: all
    """

    every: Sequence[UpdateInformer] = ()
    heard: Mapping[str, Heard] = {}
    namespaces: Sequence[str] = ()

    def insights(self, status: UpdateStatusStatus, *, now: Moment) -> tuple[Informed, ...]:
        """What each told last. The answers in `status` count until an informer answers this process."""
        asked = candidates(self.every, self.namespaces)[:MOST_ENABLED]
        return informed(asked, self.heard, informed_of(status, now=now), now=now)
