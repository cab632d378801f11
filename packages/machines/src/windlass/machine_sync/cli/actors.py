"""Tells whether Machine sync or OpenShift's own operator works on a cluster, by the holder of the Lease."""

from datetime import datetime
from typing import NamedTuple

from windlass.api.coordination import Lease
from windlass.capability.conventions import complaints
from windlass.capability.conventions.ages import age
from windlass.kube.errors import DecodeError, Forbidden, NotFound
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import LEASE_NAME, Namespaces
from windlass.machine_sync.holder import OURS, THEIRS, held_by, who_is

_SILENT_AFTER = 60.0
"""Seconds without a renewal after which the holder is considered dead. OpenShift's operator renews every 26 s."""


class Acting(NamedTuple):
    """`who` will act; if that is empty, `doubt` tells users why it is unknown."""

    who: str
    doubt: str = ""

    @property
    def idles(self) -> str:
        """The note for users who expect Machine sync to work; empty if it works, or if no program does."""
        return f"Machine sync idles: the work is done by {self.who}" if self.who.startswith(THEIRS) else ""


async def who_acts(api: Api, places: Namespaces, *, now: datetime) -> Acting:
    """Raises KubeErrors, except those for which the answer is a doubt."""
    try:
        lease = (await api.get(Lease, LEASE_NAME, namespace=places.cluster_api)).decode()
    except NotFound:
        lease = None
    except (Forbidden, DecodeError) as error:
        return Acting("", f"cannot tell whether Machine sync is running: {complaints.explain(error)}")
    return judge(lease, now=now)


def judge(lease: Lease | None, *, now: datetime) -> Acting:
    """The holder of this Lease. A holder that no longer renews is named as probably dead: otherwise only the clocks
    differ."""
    if lease is None or not (who := held_by(lease)) or not (renewed := lease.spec.renew_time):
        doubt = f"no {OURS} is running (its Lease has no holder)"
    elif (now - datetime.fromisoformat(renewed)).total_seconds() < _SILENT_AFTER:
        return Acting(who)
    else:
        holder = lease.spec.holder_identity or ""
        place = f"Lease {lease.metadata.namespace}/{lease.metadata.name}"
        doubt = f"{who_is(holder)} seems to have died: {holder} renewed {place} {age(renewed, now)} ago"
    return Acting("", f"{doubt}, so nothing will happen until one runs")
