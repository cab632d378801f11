"""Works only while the OpenStack provider of Cluster API does not: two controllers would make every server twice.

| Lease `controller-leader-election-capo` | Windlass |
|---|---|
| does not exist, or was released | works |
| is held, and not known to have expired | does nothing, and is not ready; the log and readiness name the holder |
| expires or is released | starts |
| is taken while Windlass works | finishes the keys in work, and stops |
| cannot be read | goes on with what it did; does not start |

A Lease that is found held counts as such for one lease duration, unless it is released. So Windlass starts 15 seconds
late after a provider that was killed, and at once after one that was scaled down.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from windlass.api.coordination import Lease
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.control.seen import Absent, Present, Reader
from windlass.kube.errors import KubeError
from windlass.kube.logger import Logger
from windlass.kube.process.lease import Rival
from windlass.openstack.constants import LEASE

PROVIDER_NAMESPACE: Final = "capo-system"
"""The namespace in which clusterctl installs the provider."""


def beside_permissions() -> tuple[Permission, ...]:
    """The read that `Beside` needs: cluster-wide, as the provider's namespace need not exist."""
    return (permission(Lease, "get", names=(LEASE,)),)


class Beside:
    """See the module. The provider is in `namespace`; its Lease is read every `period` seconds."""

    def __init__(
        self,
        reader: Reader,
        *,
        start: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
        namespace: str = PROVIDER_NAMESPACE,
        period: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        self._reader = reader
        self._start = start
        self._stop = stop
        self._namespace = namespace
        self._period = period
        self._clock = clock or SystemClock()
        self._rival = Rival(self._clock)
        self._working = False
        self._why = "its Lease has not been read yet"
        self._log = Logger(__name__)

    async def run(self) -> None:
        """Start and stop until cancelled."""
        while True:
            works, why = await self._verdict()
            if why != self._why:
                self._why = why
                self._log.info(why or "the OpenStack provider of Cluster API does not work")
            if works and not self._working:
                await self._start()
            elif self._working and works is False:
                await self._stop()
            self._working = self._working if works is None else works
            await self._clock.sleep(self._period)

    @property
    def idle(self) -> bool:
        """The provider works."""
        return self._rival.remaining > 0

    def report(self) -> dict[str, str]:
        """For readiness: why this process does nothing."""
        return {"openstack-provider": "" if self._working else self._why}

    async def _verdict(self) -> tuple[bool | None, str]:
        """Whether to work, and why not; None: as before."""
        what = f"Lease {self._namespace}/{LEASE}"
        try:
            found = await self._reader.see(Lease, LEASE, namespace=self._namespace, live=True)
        except KubeError as error:
            return None, f"{what} cannot be read: {error}"
        if isinstance(found, Absent):
            return True, ""
        if not isinstance(found, Present):
            return None, f"{what} cannot be read: {found.why}"
        self._rival.observe(found.object)
        if self._rival.gone:
            return True, ""
        return False, f"the OpenStack provider of Cluster API works: {self._rival.holder} holds {what}; scale it down"
