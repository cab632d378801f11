"""Who leads, and terms of a Lease that are over soon."""

from tests.waiting import eventually
from windlass.api.coordination import Lease
from windlass.machine_sync.constants import LEASE_NAME

from ...api.machine_sync.stage import Stage

HASTY = (
    *("--leader-elect-lease-duration", "8s"),
    *("--leader-elect-renew-deadline", "5s"),
    *("--leader-elect-retry-period", "1s"),
)
"""Terms for tests in which nothing depends on how long they are."""


async def leader(stage: Stage, *, other_than: str = "") -> str:
    """Who holds the lease, once that is somebody (else)."""

    async def look() -> str:
        lease = await stage.get(Lease, LEASE_NAME)
        return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")

    return await eventually(look, lambda name: name and name != other_than, what="a leader")
