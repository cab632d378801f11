"""Runs managers in one operating-system process: signals, the drain deadline, loop lag, garbage collection.

    from windlass.kube.process.manager import Manager
    from windlass.kube.process.process import Process

    async with Process(drain_seconds=20) as process:
        async with Manager(east) as one, Manager(west) as other:
            process.add(one, cluster="east")
            process.add(other, cluster="west")
            ...                                        # start controllers, serve probes and metrics
            await process.run()                        # until SIGTERM; each manager works whenever it leads

A process has one manager for each cluster that it works on. Clusters share only the event loop: while one is
unreachable, the managers of the others continue.

| what happens | what the process does |
|---|---|
| SIGTERM, SIGINT, `shut_down()` | shuts all managers down at once, and returns from `run` when the last has drained |
| the same before `run` | cancels the task that entered the process, and the `async with` ends quietly |
| draining takes longer than `drain_seconds` | logs the keys in work and exits by `os._exit(1)`; leases expire |
| the event loop is stuck while draining | the same a second later, from a thread |
| a second signal | exits at once |
| a manager fails with a bug | shuts the others down, then `run` raises it, so that the process is restarted |

`report_ready` and `report_live` are for `windlass.kube.process.probes`. The checks of a named cluster are called
`<cluster>/<check>`; its metrics have the label `cluster="<cluster>"`.

When a process is entered, and again when the caches of a manager have filled for the first time, the garbage collector
stops tracking all live objects (`gc.freeze`): its pauses grow with their number, and most of them belong to modules and
caches.
"""

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from windlass.kube.clock import Clock, SystemClock
from windlass.kube.logger import Logger
from windlass.kube.process.figures import ProcessMetrics
from windlass.kube.process.lag import LoopLag
from windlass.kube.process.manager import Manager
from windlass.kube.process.tasks import end

FAILED = 1
"""Exit code of a hard exit."""


class Process:
    """See the module.

    `drain_seconds`: how long all keys in work may take to end. `tune_gc`: set the garbage collector for many live
    objects. `metric_prefix` begins the names of its own metrics. `exit`: the hard exit.
    """

    def __init__(
        self,
        *,
        drain_seconds: float = 20.0,
        tune_gc: bool = True,
        metric_prefix: str = "windlass",
        clock: Clock | None = None,
        exit: Callable[[int], None] = os._exit,  # noqa: A002
    ) -> None:
        self.metrics = ProcessMetrics(prefix=metric_prefix)
        """The metrics for a scrape: of the process, and of each manager that has metrics."""
        self._managers: dict[str, Manager] = {}
        self._drain_seconds = drain_seconds
        self._tune_gc = tune_gc
        self._exit = exit
        self._lag = LoopLag(clock=clock or SystemClock(), on_beat=self.metrics.lag)
        self._entrant: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._handled: list[signal.Signals] = []
        self._deadline: asyncio.Timeout | None = None
        self._drained_by: float | None = None
        # A thread, not a timer of the loop: the deadline must also end a loop that is stuck.
        self._guard = threading.Timer(drain_seconds + 1.0, exit, [FAILED])
        self._guard.daemon = True
        self._log = Logger(__name__)

    def add(self, manager: Manager, *, cluster: str = "") -> None:
        """Add `manager`, whose checks and metrics name `cluster`. ValueError if that name is taken."""
        if cluster in self._managers:
            raise ValueError(f"this process has a manager of cluster {cluster!r} already: name each cluster once")
        self._managers[cluster] = manager
        if manager.metrics:
            self.metrics.add(manager.metrics.registry, cluster=cluster)
        if self._drained_by is not None:
            manager.shut_down()

    async def __aenter__(self) -> Self:
        if self._tune_gc:
            gc.set_threshold(50_000, 20, 100)
            gc.freeze()  # modules stay: looking for garbage among them would take 30 ms, and find some 100 KB
        # Before `run`, which may be called much later: PID 1 of a container ignores signals that it does not handle.
        self._entrant = asyncio.current_task()
        self._handled = [number for number in (signal.SIGTERM, signal.SIGINT) if self._handle(number)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._guard.cancel()
        for number in self._handled:
            asyncio.get_running_loop().remove_signal_handler(number)
        task = asyncio.current_task()
        return self._interrupted and kind is asyncio.CancelledError and task is not None and task.uncancel() == 0

    async def run(self) -> None:
        """Run the managers that were added, until all have ended. Raises if one of them fails with a bug."""
        self._entrant = None
        managing = [
            asyncio.create_task(manager.run(), name=f"manager {cluster}".strip())
            for cluster, manager in self._managers.items()
        ]
        lag = asyncio.create_task(self._lag.run(), name="loop lag")
        freezing = [asyncio.create_task(self._freeze(manager)) for manager in self._managers.values()]
        left = {lag, *managing}
        try:
            async with asyncio.timeout_at(self._drained_by) as self._deadline:
                while left - {lag}:
                    done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                    if any(task.exception() for task in done):
                        self._begin_drain()
        except TimeoutError:
            in_work = {cluster: manager.in_work() for cluster, manager in self._managers.items()}
            self._log.exception("not drained in time: leaving at once; leases run out by themselves", in_work=in_work)
            self._exit(FAILED)
        finally:
            self._deadline = None
            await end(lag, *managing, *freezing)
        for task in (*managing, lag):
            if not task.cancelled():
                task.result()

    def shut_down(self) -> None:
        """Make `run` shut down cleanly. A second call exits at once."""
        if self._drained_by is not None:
            self._log.error("asked to stop twice: leaving at once")
            self._exit(FAILED)
            return
        self._begin_drain()

    def report_ready(self) -> dict[str, str]:
        """The name of each check, and why it fails (empty: it does not)."""
        return {
            f"{cluster}/{check}" if cluster else check: why
            for cluster, manager in self._managers.items()
            for check, why in manager.report_ready().items()
        }

    def report_live(self) -> dict[str, str]:
        """The same for faults that only a restart can fix."""
        return {"event-loop": self._lag.trouble}

    def _begin_drain(self) -> None:
        if self._drained_by is not None:
            return
        self._log.info("shutting down", drain_seconds=self._drain_seconds)
        self._drained_by = asyncio.get_running_loop().time() + self._drain_seconds
        self._guard.start()
        if self._deadline is not None:
            self._deadline.reschedule(self._drained_by)
        for manager in self._managers.values():
            manager.shut_down()

    async def _freeze(self, manager: Manager) -> None:
        await manager.filled.wait()
        if self._tune_gc:
            gc.freeze()

    def _told_to_end(self) -> None:
        if self._entrant is not None and not self._interrupted:
            self._interrupted = True
            self._entrant.cancel()
        self.shut_down()

    def _handle(self, number: signal.Signals) -> bool:
        try:
            asyncio.get_running_loop().add_signal_handler(number, self._told_to_end)
        except (NotImplementedError, RuntimeError, ValueError):
            return False  # not in the main thread: the caller there uses `shut_down`
        return True
