"""What the decision about one UpdateInformer may look at."""

from msgspec import Struct

from windlass.api.update_informer import AskedUpdate, UpdateInformer
from windlass.capability.manifests.rights import ServiceAccount
from windlass.kube.control.seen import Seen
from windlass.update_status.informers.admission import Denied, Endpoint
from windlass.update_status.informers.heard import Heard


class InformerSnapshot(Struct, frozen=True, kw_only=True):
    """endpoint  where it is asked, or why it is not; None without an UpdateInformer

    heard     what it answered; None: it was not asked by this process
    update    the update that is going on, if one is
    wait      seconds until it is asked next, 0 if it is due
    token     one for it that is fresh, or ""
    account   whose tokens are sent
    """

    informer: Seen[UpdateInformer]
    endpoint: Endpoint | Denied | None = None
    heard: Heard | None = None
    update: AskedUpdate | None = None
    wait: float = 0.0
    token: str = ""
    account: ServiceAccount
