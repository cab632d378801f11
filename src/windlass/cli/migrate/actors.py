"""Who will carry a migration out: Machine sync, or OpenShift's own operator, known by the Lease that it holds."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from windlass.api.coordination import Lease
from windlass.cli import complaints
from windlass.cli.ages import age
from windlass.kube.errors import DecodeError, Forbidden
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import LEASE_NAME, UPSTREAM_LEASE_NAME

CONTROLLERS = {LEASE_NAME: "Machine sync", UPSTREAM_LEASE_NAME: "OpenShift's migration operator"}

_SILENT_AFTER = 60.0
"""Seconds without a renewal after which nobody is taken to be there: four times the duration of a Lease."""


class Acting(NamedTuple):
    """`who` will act, or, if that is empty, what people should know (`doubt`)."""

    who: str
    doubt: str = ""


async def who_acts(api: Api, *, now: datetime) -> Acting:
    """Leases are looked for in every namespace: where a controller was installed is not known here."""
    found: list[Lease] = []
    for name in CONTROLLERS:
        try:
            listed = await api.list(Lease, field_selector=f"metadata.name={name}")
            found += [item.decode() for item in listed.items]
        except (Forbidden, DecodeError) as error:
            return Acting("", f"whether Machine sync is running cannot be told: {complaints.explain(error)}")
    return judge(found, now=now)


def judge(leases: Sequence[Lease], *, now: datetime) -> Acting:
    """Who holds one of these. A holder that fell silent is named: only clocks that disagree could excuse it."""
    doubt = "no Machine sync is running (nobody holds its Lease)"
    for lease in leases:
        holder, renewed = lease.spec.holder_identity, lease.spec.renew_time
        if not holder or not renewed:
            continue
        who = CONTROLLERS.get(lease.metadata.name, lease.metadata.name)
        place = f"Lease {lease.metadata.namespace}/{lease.metadata.name}"
        if (now - datetime.fromisoformat(renewed)).total_seconds() < _SILENT_AFTER:
            return Acting(f"{who} ({place} is held by {holder})")
        doubt = f"{who} seems to have died: {holder} renewed {place} {age(renewed, now)} ago"
    return Acting("", f"{doubt}, so nothing will happen until one runs")
