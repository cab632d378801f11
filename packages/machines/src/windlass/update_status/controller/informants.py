"""Puts together what informers of others told, for the report."""

from typing import Protocol

from msgspec import Struct

from windlass.api.meta import K
from windlass.api.update import UpdateStatus
from windlass.api.update_informer import UpdateInformer
from windlass.kube.control.population import Population
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Present, Seen
from windlass.update_status.document import informed_of
from windlass.update_status.informers.admission import MOST_ENABLED, candidates
from windlass.update_status.informers.feed import Feed
from windlass.update_status.informers.heard import informed
from windlass.update_status.report import Informed
from windlass.update_status.times import Moment


class PopulationReader(Protocol):
    """What is needed of `windlass.kube.control.reader.CacheReader`."""

    async def see_all(self, kind: type[K]) -> Population[K] | NotServedKind | ForbiddenKind: ...


class Informants(Struct, frozen=True):
    """The informers of others. `namespaces`: patterns of those whose Services are asked; none: all."""

    feed: Feed
    namespaces: tuple[str, ...] = ()

    async def informed(
        self, reader: PopulationReader, stored: Seen[UpdateStatus], *, now: Moment
    ) -> tuple[Informed, ...]:
        """The last answers of the informers, from `stored`. They count until an informer answers this process."""
        found = await reader.see_all(UpdateInformer)
        stood = informed_of(stored.object.status, now=now) if isinstance(stored, Present) else ()
        asked = candidates(found.readable, self.namespaces) if isinstance(found, Population) else []
        return informed(asked[:MOST_ENABLED], self.feed.heard, stood, now=now)
