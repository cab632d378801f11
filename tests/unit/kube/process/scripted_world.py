"""A scripted cluster for tests of managers and processes: widgets, leases, and controllers that note what they see."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from random import Random
from typing import Any, cast

from windlass.api.coordination import Lease
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.plan import Outcome, Plan
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import Present
from windlass.kube.process.lease import Election
from windlass.kube.process.manager import Manager
from windlass.kube.process.pool import ClusterClient
from windlass.kube.process.process import Process
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualLoop
from windlass.testing.scripted import ScriptedServer, Widget


class World:
    """A server with widgets, a server with a lease, and managers between them.

    `seen` notes every observation, `exits` the codes of hard exits. While `hold` is cleared, keys stay in work.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.server = ScriptedServer(Widget)
        self.leases = MemoryApi(Lease, clock=loop.clock.now)
        self.exits: list[int] = []
        self.seen: list[str] = []
        self.hold = asyncio.Event()
        self.hold.set()

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(main)

    def election(self, identity: str) -> Election:
        return Election(
            self.leases, "windlass", namespace="system", identity=identity, clock=self.loop.clock, random=Random(1)
        )

    def holder(self) -> str | None:
        """Who holds the lease; empty after it was released."""
        found = self.leases.peek(Lease, "windlass", namespace="system")
        assert found is not None
        return found.decode().spec.holder_identity

    def manager(self, election: Election | None = None, **settings: Any) -> Manager:
        return Manager(
            cast(ClusterClient, self.server),
            election=election,
            clock=self.loop.clock,
            random=Random(1),
            **settings,
        )

    def process(self, **settings: Any) -> Process:
        return Process(clock=self.loop.clock, exit=self.exits.append, **settings)

    def controller(self, name: str = "widgets", **settings: Any) -> Callable[[CacheReader], Controller[Any, Any]]:
        """Notes the name of every widget that it sees through its reader."""

        def make(reader: CacheReader) -> Controller[Any, Any]:
            async def observe(key: str, last: Outcome) -> str:
                await self.hold.wait()
                found = await reader.see(Widget, key, namespace="default")
                return f"{name}:{key}" if isinstance(found, Present) else f"{name}:{key} is gone"

            watch: Watch[str] = Watch(Widget, lambda widget: [widget.name])
            usual: dict[str, Any] = {"name": name, "watches": (watch,), "observe": observe, "decide": self.note}
            return Controller(**{**usual, **settings})

        return make

    def note(self, snapshot: str, *, now: datetime) -> Plan:
        self.seen.append(snapshot)
        return Plan.nothing()


@asynccontextmanager
async def running(manager: Manager | Process) -> AsyncIterator[asyncio.Task[None]]:
    """Run `manager` while the context is open, then shut it down in good order."""
    task = asyncio.create_task(manager.run())
    await asyncio.sleep(0.01)
    try:
        yield task
    finally:
        manager.shut_down()
        await task
