"""Says which of a capability's own kinds the API server does not serve, and the command that installs them.

Caches wait for such a kind in silence: for kinds of others that is right, since a cluster need not have them. Without
its own kinds a capability does nothing, so readiness and the log say it.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from windlass.api.meta import KubernetesObject, Resource
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.logger import Logger

PERIOD = 5.0
"""Seconds between two looks for the log."""


class Own(Struct, frozen=True):
    """`kinds` belong to the capability `name`: the folder `deploy/NAME/crds` installs them."""

    name: str = ""
    kinds: tuple[type[KubernetesObject], ...] = ()


NO_KINDS = Own()


class Installed:
    """`unserved` returns the kinds that are watched now and that the API server does not serve."""

    def __init__(self, own: Own, unserved: Callable[[], Iterable[Resource]], *, clock: Clock | None = None) -> None:
        self._own = own
        self._resources = {kind.RESOURCE for kind in own.kinds}
        self._unserved = unserved
        self._clock = clock or SystemClock()
        self._log = Logger(__name__)

    def report(self) -> dict[str, str]:
        """For readiness. A capability without kinds of its own has no such check."""
        return {"crds": self._missing()} if self._resources else {}

    async def run(self) -> None:
        """Log until cancelled whenever something is missing that was there, or the reverse."""
        said = ""
        while True:
            if (missing := self._missing()) != said:
                said = missing
                if missing:
                    self._log.error(missing)
                else:
                    self._log.info("the API server serves all kinds of the capability", capability=self._own.name)
            await self._clock.sleep(PERIOD)

    def _missing(self) -> str:
        names = sorted(resource.name for resource in self._unserved() if resource in self._resources)
        if not names:
            return ""
        return f"the API server does not serve {', '.join(names)}: kubectl apply -k deploy/{self._own.name}/crds"
