"""What the decision may look at: the object as it is stored, the records, and what the report is made from."""

from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.kube.control.population import Population
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Seen
from windlass.update_status.controller.informants import Informants
from windlass.update_status.document import Settled
from windlass.update_status.sources import Known, Sources


class UpdateStatusSnapshot(Asking, frozen=True, kw_only=True):
    """What caches say. The decision asks for alerts, and for what holds drains.

    sources     what the report is made from, or why there can be none
    informants  the informers of others; None: nobody is asked
    settled     what earlier writes of the status have settled: it saves work, and changes nothing
    """

    stored: Seen[UpdateStatus]
    records: Population[UpdateRecord] | NotServedKind | ForbiddenKind
    sources: Known[Sources]
    informants: Informants | None = None
    settled: Settled
