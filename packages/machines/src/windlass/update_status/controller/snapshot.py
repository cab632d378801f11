"""What the decision may look at: the object as it is stored, the records, and what the report is made from."""

from msgspec import Struct

from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.kube.control.population import Population
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Seen
from windlass.update_status.sources import Known, Sources


class UpdateStatusSnapshot(Struct, frozen=True):
    """`sources`, or why there can be no report."""

    stored: Seen[UpdateStatus]
    records: Population[UpdateRecord] | NotServedKind | ForbiddenKind
    sources: Known[Sources]
