"""What the decision about one UpdateInformer may look at."""

from windlass.api.update import UpdateStatus
from windlass.api.update_informer import UpdateInformer
from windlass.kube.control.plan import Outcome
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Seen


class InformerSnapshot(Asking, frozen=True, kw_only=True):
    """every   all readable UpdateInformers, of which the oldest are asked

    stored  the report, which says whether an update is going on
    last    the outcome of the round before
    """

    informer: Seen[UpdateInformer]
    every: tuple[UpdateInformer, ...] = ()
    stored: Seen[UpdateStatus]
    last: Outcome = Outcome()
