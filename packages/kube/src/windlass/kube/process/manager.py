"""Runs the controllers of one cluster: caches, leadership, start and stop, and a clean shutdown.

    from windlass.kube.process.manager import Manager

    async with Client(config, fence=election) as client:
        async with Manager(client, election=election, metrics=metrics) as manager:
            await manager.start(machine_sync)            # caches fill at once, also while standing by
            await manager.run()                          # until `shut_down`; works whenever it leads

`windlass.kube.process.process` handles signals, the drain deadline and probes. It may have several managers, one for
each cluster.

Without `election` the manager leads from the start. A client whose fence is not the manager's election is refused.
Controllers may be started and stopped at any time, before and during `run`, for instance when a feature gate, the
platform or a CRD changes:

    await manager.start(lambda reader: machine_controller(reader, platform=AWS))
    await manager.stop("machine-sync")

`start` takes a controller, or a function that builds one from its reader. Each controller has its own reader over its
own watches; the caches behind the readers are shared.

| what happens | what the manager does |
|---|---|
| a controller is started | starts the caches that do not run yet; works once they are filled and while leading |
| a controller is stopped | waits until its keys in work have ended, releases its caches |
| a controller that needs no leadership is started | works once its caches are filled, from `run` on |
| leadership is won | starts the controllers whose caches are ready: every object is reconciled once |
| leadership is lost | writes stop at once (the gate); workers end; caches go on; competes again |
| `shut_down()` | no new keys; keys in work end while the lease is still renewed; then it is released |
| a controller is started after that | it does not run; it can be stopped |
| a cache or the election fails with a bug | `run` raises it |

`report_ready` says why the manager is not ready (an unsynced cache, a dead watch, a poll without its first answer, a
webhook that stops our writes because it cannot be called). A standby is ready.

`owns` is called for every key that is woken: several replicas could share the work here.
"""

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from types import TracebackType
from typing import Any, Self

from msgspec import Struct, field

from windlass.kube.cache import INACTIVITY, Cache
from windlass.kube.client import Client
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.controller import Controller
from windlass.kube.control.effects import Carrier
from windlass.kube.control.executor import Executor
from windlass.kube.control.metrics import Metrics
from windlass.kube.control.permissions import Declared
from windlass.kube.control.poll import Poll, PollEach
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.webhooks import StoppedWrites
from windlass.kube.control.worker import RECONCILE_LOG, Running
from windlass.kube.logger import Logger
from windlass.kube.process.lease import Election
from windlass.kube.process.pool import CachePool, ClusterClient
from windlass.kube.process.tasks import end
from windlass.kube.process.toggle import Toggle


class _Entry(Struct):
    controller: Controller[Any, Any]
    caches: list[Cache[Any]]
    permits: Declared
    synced: bool = False
    running: Running[Any] | None = None
    at_work: Toggle = field(default_factory=Toggle)
    task: asyncio.Task[None] | None = None


class Manager:
    """See the module.

    `field_manager`: the writer of objects, in their managedFields. `reconcile_log`: the logger of reconciles.
    `linger_seconds`: how long keys in work may take to end after leadership was lost. `inactivity`: seconds of silence
    after which a watch is dead. `systems`: the carriers for Calls of controllers (`windlass.kube.control.effects`).
    `filled` is set when the caches of everything started so far have filled for the first time.
    """

    def __init__(
        self,
        client: ClusterClient,
        *,
        election: Election | None = None,
        metrics: Metrics | None = None,
        owns: Callable[[Any], bool] = lambda _: True,
        field_manager: str = "windlass",
        reconcile_log: str = RECONCILE_LOG,
        linger_seconds: float = 20.0,
        inactivity: float = INACTIVITY,
        clock: Clock | None = None,
        random: Random | None = None,
        systems: Mapping[str, Carrier[Any]] | None = None,
    ) -> None:
        if isinstance(client, Client) and client.fence is not election:
            raise ValueError(
                "a manager writes while its election is won, so its client must have that election as its fence: "
                "Manager(Client(config, fence=election), election=election), or neither of them"
            )
        self.owns = owns
        self.metrics = metrics
        self.filled = asyncio.Event()
        self._client = client
        self._election = election
        self._field_manager = field_manager
        self._reconcile_log = reconcile_log
        self._linger_seconds = linger_seconds
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._systems = systems
        self._pool = CachePool(client, inactivity=inactivity, clock=clock, on_crash=self._crashed)
        self._stopped_writes = StoppedWrites(clock)
        self._entries: dict[str, _Entry] = {}
        self._leads, self._runs = Toggle(), Toggle()
        self._term = 0
        self._stopping = asyncio.Event()
        self._crash: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._log = Logger(__name__)
        if metrics:
            metrics.caches(self._pool.figures)
            metrics.polls(self._polls)

    @property
    def pool(self) -> CachePool:
        """The shared caches, also for watches that belong to no controller."""
        return self._pool

    @property
    def client(self) -> ClusterClient:
        """The client of controllers: it writes only while this process leads."""
        return self._client

    @property
    def leading(self) -> bool:
        """Controllers that need leadership may work now."""
        return self._leads.on

    @property
    def term(self) -> int:
        """How often this process has begun to lead."""
        return self._term

    # controllers

    async def start(self, made: Controller[Any, Any] | Callable[[CacheReader], Controller[Any, Any]]) -> str:
        """Start a controller: its caches now, its work as soon as they are filled and this process leads.

        A function is called with the controller's reader. Returns the controller's name.
        """
        reader = CacheReader(self._client)
        controller = made if isinstance(made, Controller) else made(reader)
        if controller.name in self._entries:
            raise ValueError(f"controller {controller.name} is started already: stop it first, or rename one")
        entry = _Entry(controller, [], Declared(controller.declared))
        if self._stopping.is_set():
            self._entries[controller.name] = entry
            self._log.info("controller not started: shutting down", controller=controller.name)
            return controller.name
        reader.only(controller)
        for watch in controller.watches:
            cache = self._pool.acquire(watch)
            entry.caches.append(cache)
            reader.add(cache, watch)
        self._entries[controller.name] = entry
        entry.task = asyncio.create_task(self._look_after(entry), name=f"controller {controller.name}")
        entry.task.add_done_callback(self._ended)
        self._log.info("controller started", controller=controller.name, watches=[*map(str, controller.watches)])
        return controller.name

    async def stop(self, name: str) -> None:
        """Stop the controller `name`: returns when its last key in work is done and its caches are released."""
        entry = self._entries.get(name)
        if entry is None:
            raise ValueError(f"no controller {name} is started; there is: {', '.join(self._entries) or 'none'}")
        # The entry stays until the controller has ended: a shutdown meanwhile waits for it before releasing the lease.
        await self._end(entry)
        await self._give_back(entry)
        self._entries.pop(name, None)
        self._log.info("controller stopped", controller=name)

    async def synced(self) -> None:
        """Return when every cache started so far is filled, or its kind is known not to be served."""
        for entry in list(self._entries.values()):
            for watch, cache in zip(entry.controller.watches, entry.caches, strict=False):
                await (cache.answered if watch.optional else cache.settled).wait()

    # life

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for name in list(self._entries):
                entry = self._entries.pop(name)
                if entry.task:
                    await end(entry.task)
            await self._pool.close()
        finally:
            if self._crash.done():
                self._crash.exception()  # `run` may never have been called to raise it
            else:
                self._crash.cancel()

    async def run(self) -> None:
        """Lead whenever possible, until `shut_down`. Raises if a cache or the election fails with a bug."""
        lead = asyncio.create_task(self._lead(), name="leadership")
        stopping = asyncio.create_task(self._stopping.wait(), name="until shut down")
        self._runs.turn_on()
        try:
            parts: list[asyncio.Future[Any]] = [self._crash, lead]
            await asyncio.wait([*parts, stopping], return_when=asyncio.FIRST_COMPLETED)
            for part in parts:
                if part.done():
                    part.result()  # raises: none of them ends by itself
            await self._leave(lead)
        finally:
            await end(lead, stopping)
            self._leads.turn_off()
            self._runs.turn_off()

    def shut_down(self) -> None:
        """Make `run` shut down cleanly: it returns when the keys in work are done and the lease is released."""
        self._stopping.set()

    def report_ready(self) -> dict[str, str]:
        """The name of each check, and why it fails (empty: it does not)."""
        unsynced = [name for name, entry in self._entries.items() if not entry.synced]
        waiting = f"waiting for the caches of {', '.join(unsynced)}" if unsynced else ""
        polls = {f"poll/{poll.name}": poll.trouble for poll in self._polls()}
        blocked = self._election.blocked if self._election is not None else ""
        webhooks = self._stopped_writes.report()
        return {"controllers": waiting, "election": blocked, "webhooks": webhooks, **self._pool.report(), **polls}

    def _polls(self) -> list[Poll[Any] | PollEach[Any]]:
        sources = (source for entry in self._entries.values() for source in entry.controller.sources)
        return [source for source in sources if isinstance(source, Poll | PollEach)]

    def in_work(self) -> dict[str, list[str]]:
        """The keys that each controller works on now, as text for people; controllers without any are left out."""
        working = {name: entry.running.queue.working for name, entry in self._entries.items() if entry.running}
        return {
            name: [self._entries[name].controller.key_text(key) for key in keys]
            for name, keys in working.items()
            if keys
        }

    # leadership

    async def _lead(self) -> None:
        election = self._election
        if election is None:
            self._term += 1
            self._leads.turn_on()
            await asyncio.Event().wait()
            return
        self._count_leading(election, leads=False)
        while True:
            await election.acquire()
            self._count_leading(election, leads=True)
            self._term += 1
            self._leads.turn_on()
            try:
                await election.keep()
            finally:
                self._leads.turn_off()
                self._stopped_writes.clear()
                self._count_leading(election, leads=False)
            led = [entry for entry in self._entries.values() if entry.controller.needs_leadership]
            await asyncio.gather(*(entry.at_work.wait_off() for entry in led))

    def _count_leading(self, election: Election, *, leads: bool) -> None:
        if self.metrics:
            self.metrics.leading(election.name, leads=leads)

    async def _leave(self, lead: asyncio.Task[None]) -> None:
        await asyncio.gather(*(self._end(entry) for entry in self._entries.values()))
        await end(lead)
        if self._election:
            await self._election.release()

    # one controller

    async def _look_after(self, entry: _Entry) -> None:
        for watch, cache in zip(entry.controller.watches, entry.caches, strict=True):
            await (cache.answered if watch.optional else cache.settled).wait()
        entry.synced = True
        if all(each.synced for each in self._entries.values()):
            self.filled.set()
        works = self._leads if entry.controller.needs_leadership else self._runs
        while True:
            await works.wait_on()
            running = entry.running = Running(
                entry.controller,
                executor=Executor(
                    self._client,
                    ledger=self._pool.ledger,
                    permits=entry.permits,
                    manager=self._field_manager,
                    now=self._clock.now,
                    systems=self._systems,
                    fence=self._election,
                    stopped=self._stopped_writes,
                ),
                caches=entry.caches,
                metrics=self.metrics,
                owns=self.owns,
                clock=self._clock,
                random=self._random,
                log=self._reconcile_log,
            )
            entry.at_work.turn_on()
            work = asyncio.create_task(running.run(), name=f"work of {entry.controller.name}")
            off = asyncio.create_task(works.wait_off())
            try:
                await asyncio.wait([work, off], return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    work.result()
                    return  # drained
                running.close()
                # Keys in work cannot write any more; they must not delay the next term for long.
                await asyncio.wait([work], timeout=self._linger_seconds)
            finally:
                await end(work, off)
                entry.running = None
                entry.at_work.turn_off()

    async def _end(self, entry: _Entry) -> None:
        """Wait until the keys in work of `entry` have ended, then end its task."""
        task = entry.task
        if task is None:
            return
        if entry.running is not None:
            await entry.running.drain()
        await end(task)

    async def _give_back(self, entry: _Entry) -> None:
        while entry.caches:
            entry.caches.pop()
            await self._pool.release(entry.controller.watches[len(entry.caches)])

    # faults

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._crashed(error)

    def _crashed(self, error: BaseException) -> None:
        if not self._crash.done():
            self._crash.set_exception(error)
