"""Works only while no other OpenStack provider does: two controllers would make every server twice.

| provider | Lease |
|---|---|
| of Cluster API | `controller-leader-election-capo` |
| of the Machine API (with `--machine-api`) | `openshift-machine-api/cluster-api-provider-openstack-leader` |

| the Leases | Windlass |
|---|---|
| do not exist, or were released | works |
| one is held, and not known to have expired | does nothing, and is not ready; the log and readiness name the holder |
| it expires or is released | starts |
| one is taken while Windlass works | finishes the keys in work, and stops |
| one cannot be read | goes on with what it did; does not start |

A Lease that is found held counts as such for one lease duration, unless it is released. So Windlass starts 15 seconds
late after a provider that was killed, and at once after one that was scaled down.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from msgspec import Struct

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
MACHINE_API_LEASE: Final = "cluster-api-provider-openstack-leader"
"""The Lease of the Machine API's provider, in the namespace of its Machines."""


class Provider(Struct, frozen=True):
    """Another provider: `what` for people, and its Lease."""

    what: str
    namespace: str
    lease: str


def cluster_api_provider(namespace: str) -> Provider:
    return Provider("OpenStack provider of Cluster API", namespace, LEASE)


def machine_api_provider(namespace: str) -> Provider:
    return Provider("machine controller of the Machine API", namespace, MACHINE_API_LEASE)


def beside_permissions(*, machine_api: str = "") -> tuple[Permission, ...]:
    """The reads that `Beside` needs: cluster-wide for Cluster API's provider, whose namespace need not exist."""
    of_machines = (permission(Lease, "get", namespace=machine_api, names=(MACHINE_API_LEASE,)),) if machine_api else ()
    return (permission(Lease, "get", names=(LEASE,)), *of_machines)


class Beside:
    """See the module. The Leases of `others` are read every `period` seconds."""

    def __init__(
        self,
        reader: Reader,
        *,
        start: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
        others: Iterable[Provider] = (cluster_api_provider(PROVIDER_NAMESPACE),),
        period: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        self._reader = reader
        self._start = start
        self._stop = stop
        self._period = period
        self._clock = clock or SystemClock()
        self._rivals = {each: Rival(self._clock) for each in others}
        self._working = False
        self._why = "its Lease has not been read yet"
        self._log = Logger(__name__)

    async def run(self) -> None:
        """Start and stop until cancelled."""
        while True:
            works, why = await self._verdict()
            if why != self._why:
                self._why = why
                self._log.info(why or "no other OpenStack provider works")
            if works and not self._working:
                await self._start()
            elif self._working and works is False:
                await self._stop()
            self._working = self._working if works is None else works
            await self._clock.sleep(self._period)

    @property
    def idle(self) -> bool:
        """Another provider works."""
        return any(rival.remaining > 0 for rival in self._rivals.values())

    def report(self) -> dict[str, str]:
        """For readiness: why this process does nothing."""
        return {"openstack-provider": "" if self._working else self._why}

    async def _verdict(self) -> tuple[bool | None, str]:
        """Whether to work, and why not; None: as before. A rival at work counts more than a rival whose Lease cannot be
        read."""
        verdicts = [await self._look(each, rival) for each, rival in self._rivals.items()]
        order = (False, None, True)
        return min(verdicts, key=lambda verdict: order.index(verdict[0]))

    async def _look(self, other: Provider, rival: Rival) -> tuple[bool | None, str]:
        what = f"Lease {other.namespace}/{other.lease}"
        try:
            found = await self._reader.see(Lease, other.lease, namespace=other.namespace, live=True)
        except KubeError as error:
            return None, f"{what} cannot be read: {error}"
        if isinstance(found, Absent):
            return True, ""
        if not isinstance(found, Present):
            return None, f"{what} cannot be read: {found.why}"
        rival.observe(found.object)
        if rival.gone:
            return True, ""
        return False, f"the {other.what} works: {rival.holder} holds {what}; scale it down"
