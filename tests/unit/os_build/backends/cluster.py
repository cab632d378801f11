"""The other side of backends in a cluster: the in-memory API server, and whoever plays the builders there."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.unit.os_build.backends.conformance import OtherSide
from windlass.api.core import ConfigMap
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared, reads
from windlass.kube.control.plan import Action, Plan
from windlass.kube.control.seen import IndexedReader
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import MemoryReader
from windlass.os_build.builder import Backend
from windlass.os_build.constants import NAMESPACE


class Clock:
    """Moves by a second at each look, so that what comes later is later."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 23, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def now(self) -> datetime:
        return self()

    def monotonic(self) -> float:
        return self().timestamp()

    async def sleep(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


class ClusterSide(OtherSide):
    """`make` gives the backend over a reader. Only what the backend declares can be written."""

    def __init__(self, *kinds: Any, make: Callable[[IndexedReader], Backend]) -> None:
        self.clock = Clock()
        self.api = MemoryApi(ConfigMap, *kinds, clock=self.clock)
        self._make = make

    @property
    def backend(self) -> Backend:
        reader = MemoryReader(self.api)
        backend = self._make(reader)
        for watch in backend.watches:
            assert watch.namespace == NAMESPACE
            for name, values in watch.indexes.items():
                reader.add_index(watch.kind, name, values)
        return backend

    async def apply(self, *actions: Action) -> None:
        backend = self.backend
        read = (reads(watch.kind, namespace=watch.namespace) for watch in backend.watches)
        executor = Executor(self.api, permits=Declared((*backend.permissions, *read)), now=self.clock)
        outcome = await executor.apply(Plan(actions))
        assert outcome.error is None, str(outcome.error)

    async def settle(self) -> None:
        await self.end_cancelled()
        await collect_garbage(self.api)

    @abstractmethod
    async def end_cancelled(self) -> None:
        """What is cancelled ends."""

    def left(self) -> Sequence[str]:
        return [f"{tree['kind']} {tree['metadata']['name']}" for tree in self.api.dump()]
