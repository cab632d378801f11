"""Runs a controller: its queue, its workers, and the handling of each result.

`Running` joins a `Controller` (a declaration) to the things it needs (caches, an executor, metrics) and runs it:

    running = Running(controller, executor=executor, caches=caches)
    task = asyncio.create_task(running.run())     # returns after `drain`
    ...
    await running.drain()                         # no new keys; keys in work come to their end
    await task

Cancelling `run` interrupts the keys in work, which is safe by design (see `windlass.kube.control.rounds`) but leaves
writes of unknown outcome. It happens when a drain takes too long.

The table in `windlass.kube.control.controller` says when a key comes back. The watch events of its own writes do not
wake a key (`windlass.kube.control.echoes`).
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from random import Random
from typing import Any, Generic, TypeVar

from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.controller import Controller
from windlass.kube.control.echoes import Echoes
from windlass.kube.control.executor import Executor
from windlass.kube.control.metrics import ControllerMetrics, Metrics
from windlass.kube.control.plan import Plan, RequeueAfter, Retry, WaitFor
from windlass.kube.control.queue import Closed, Queue
from windlass.kube.control.rounds import Ending, reconcile
from windlass.kube.control.source import Detach, Every, FromCache, Source, Subscribable
from windlass.kube.errors import AlreadyExists, Conflict, Failure, Fenced, KubeError
from windlass.kube.logger import Logger, about

Key = TypeVar("Key", bound=Hashable)


RECONCILE_LOG = "windlass.reconcile"
"""The logger of reconciles."""


class Running(Generic[Key]):
    """One run of `controller`, from start to drain. `caches` are in the order of its watches.

    `owns` says whether this process handles a key; it is called when a key is woken. `log` is the name of its logger.
    """

    def __init__(
        self,
        controller: Controller[Key, Any],
        *,
        executor: Executor,
        caches: Sequence[Subscribable[Any]] = (),
        metrics: Metrics | None = None,
        owns: Callable[[Key], bool] = lambda _: True,
        clock: Clock | None = None,
        random: Random | None = None,
        log: str = RECONCILE_LOG,
    ) -> None:
        self.controller = controller
        self.queue: Queue[Key] = Queue(backoff=controller.backoff, random=random or Random())
        self._executor = executor
        self._asker = controller.asker(now=(clock or SystemClock()).now)
        self._echoes: Echoes[Key] = Echoes()
        self._caches = caches
        self._owns = owns
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._counts: ControllerMetrics | None = None
        if metrics is not None:
            self._counts = metrics.controller(controller.name, self.queue, workers=controller.workers)
            self.queue.timings = self._counts
        self._log = Logger(log)
        self._budget = Budget(controller.name)
        self._attached: list[Detach] = []

    async def run(self) -> None:
        """Work until `drain`. Raises only CancelledError."""
        self._attached = [source.attach(self._wake) for source in self._sources()]
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.controller.workers):
                    group.create_task(self._work(), name=f"{self.controller.name}-{number}")
        finally:
            self.close()
            if self._counts:
                self._counts.close()

    def close(self) -> None:
        """Take no more keys, and leave all sources: those of other systems learn at once that nobody listens."""
        self.queue.close()
        while self._attached:
            self._attached.pop()()

    async def drain(self) -> None:
        """Take no more keys, and wait for those in work."""
        self.queue.close()
        await self.queue.idle()

    def _sources(self) -> list[Source[Key]]:
        watched = [
            FromCache(cache, watch.map, when=watch.when, holds=self._echoes.holds)
            for cache, watch in zip(self._caches, self.controller.watches, strict=True)
        ]
        sources: list[Source[Key]] = [*watched, *self.controller.sources]
        if self.controller.resync and watched:
            sources.append(Every(self.controller.resync, lambda: self._everything(watched), random=self._random))
        return sources

    def _everything(self, watched: Sequence[FromCache[Any, Key]]) -> Sequence[Key]:
        """Spreads its wake-ups over turns of the loop itself: all at once would take too long."""
        for source in watched:
            source.resync(self._wake)
        return ()

    def _wake(self, key: Key, /, **how: Any) -> None:
        if self._owns(key):
            self.queue.add(key, **how)

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.take()
            except Closed:
                return
            self._echoes.begin(key)
            rest = 0.0
            try:
                rest = await self.reconcile(key)
            finally:
                if self._echoes.end(key):
                    self._wake(key)
                self.queue.done(key, rest=rest)
            # A reconcile that finds nothing to do never yields. Thousands in a row would block other tasks.
            await asyncio.sleep(0)

    async def reconcile(self, key: Key) -> float:
        """Reconcile `key` until it rests or fails; then update the queue, the log and the metrics.

        Returns for how many seconds nobody should take it again.
        """
        controller = self.controller
        began = time.perf_counter()
        if self._counts:
            self._counts.began()
        try:
            with about(
                controller=controller.name,
                object=controller.key_text(key),
                reconcile_id=f"{self._random.getrandbits(48):012x}",
            ):
                ending, bug = await self._to_rest(key)
                self._account(key, ending, bug=bug, seconds=time.perf_counter() - began)
            return max(ending.rest, controller.pace.floor)
        finally:
            if self._counts:
                self._counts.ended()

    async def _to_rest(self, key: Key) -> tuple[Ending, BaseException | None]:
        """Raises only when cancelled from outside. The second value is an unexpected exception."""
        controller = self.controller
        try:
            async with asyncio.timeout(controller.timeout) as deadline:
                rest = await reconcile(
                    key,
                    observe=controller.observe,
                    decide=self._decide,
                    executor=self._executor,
                    now=self._clock.now,
                    asker=self._asker,
                    wrote=partial(self._echoes.expect, key),
                    pace=controller.pace,
                )
                return rest, None
        except Failure as error:
            return Ending(Retry(f"{type(error).__name__}: {error}"), error=error), None
        except TimeoutError as error:
            if deadline.expired():
                return Ending(Retry(f"took longer than {controller.timeout:g} s"), error=TimedOut()), None
            return Ending(Retry(str(error))), error
        except Exception as error:
            return Ending(Retry(f"{type(error).__name__}: {error}")), error

    def _decide(self, snapshot: Any, /, *, now: Any) -> Plan:
        began = time.perf_counter()
        try:
            return self.controller.decide(snapshot, now=now)
        finally:
            seconds = time.perf_counter() - began
            if self._counts:
                self._counts.decided(seconds)
            if exceeded := self._budget.spend(seconds):
                self._log.warning("decide takes longer than its budget", controller=self.controller.name, **exceeded)

    def _account(self, key: Key, rest: Ending, *, bug: BaseException | None, seconds: float) -> None:
        result, facts = self._send_back(key, rest)
        if self._counts:
            self._counts.reconciled(
                result,
                seconds,
                writes=rest.writes,
                bug=bug is not None,
                timed_out=isinstance(rest.error, TimedOut),
            )
        if bug is not None:
            level = "error"
        elif result == "error":
            level = "warning"
        elif isinstance(rest.error, Fenced) or (result == "success" and not rest.writes):
            # Nothing to do: at every start and resync that is true for most keys.
            level = "debug"
        else:
            level = "info"
        getattr(self._log, level)(
            "reconciled" if result != "error" else "reconcile failed",
            **facts,
            duration=round(seconds, 6),
            rounds=rest.rounds,
            writes=rest.writes,
            **({"exc_info": bug} if bug is not None else {}),
        )

    def _send_back(self, key: Key, rest: Ending) -> tuple[str, dict[str, Any]]:
        """Update the queue; returns the result for metrics and the facts for the log."""
        match rest:
            case Ending(error=Fenced()):
                delay = self.queue.retry(key, backoff=self.controller.conflict)
                return "requeue", {"outcome": "fenced", "again_in": round(delay, 3)}
            case Ending(next=Retry(), error=Conflict() | AlreadyExists() as error):
                delay = self.queue.retry(key, backoff=self.controller.conflict)
                return "requeue", {"outcome": "conflict", "again_in": round(delay, 3), "error": str(error)}
            case Ending(next=Retry(error=text), error=error):
                delay = self.queue.retry(key, at_least=_retry_after(error))
                return "error", {
                    "outcome": "error",
                    "again_in": round(delay, 3),
                    "failures": self.queue.failures(key),
                    "error": text,
                }
            case Ending(next=RequeueAfter(seconds=seconds, why=why)):
                self.queue.forget(key)
                self.queue.add_after(key, seconds := max(seconds, _retry_after(rest.error)))
                return "requeue_after", {"outcome": "requeue_after", "again_in": seconds, **note(why)}
            case Ending(next=WaitFor(what=what, safety=seconds)):
                self.queue.forget(key)
                self.queue.add_after(key, seconds := max(seconds, _retry_after(rest.error)))
                return "requeue_after", {"outcome": "waiting", "again_in": seconds, **note(what)}
        self.queue.forget(key)
        return "success", {"outcome": "done", **note(getattr(rest.next, "note", ""))}


class TimedOut(KubeError):
    """A reconcile took longer than its controller allows."""

    transient = True


def _retry_after(error: Failure | None) -> float:
    """Seconds that the other side asked us to wait."""
    return (error.retry_after or 0.0) if error else 0.0


def note(text: str) -> dict[str, str]:
    return {"note": text} if text else {}


# Checks the p99 of a function's running time against a limit.
#
# Decisions run on the event loop and block it. A single slow call is an accident; if the p99 exceeds the budget, the
# work belongs in a thread, memoised by content.
#
#     budget = Budget("machine-sync", limit=0.005)
#     if exceeded := budget.spend(seconds):
#         log.warning("decide takes longer than its budget", **exceeded)


class Budget:
    """At most one of a hundred calls may take longer than `limit` seconds; judged over windows of `window` calls."""

    def __init__(self, name: str, *, limit: float = 0.005, window: int = 1000) -> None:
        self.name = name
        self.limit = limit
        self._window = window
        self._calls = 0
        self._slow: list[float] = []

    def spend(self, seconds: float) -> dict[str, float | int] | None:
        """Count one call. Returns the figures once 1% of the window was slow, then starts a new window."""
        self._calls += 1
        if seconds > self.limit:
            self._slow.append(seconds)
        if len(self._slow) > self._window // 100:
            figures = {
                "budget": self.limit,
                "slow_calls": len(self._slow),
                "calls": self._calls,
                "slowest": round(max(self._slow), 6),
            }
            self._reset()
            return figures
        if self._calls >= self._window:
            self._reset()
        return None

    def _reset(self) -> None:
        self._calls = 0
        self._slow.clear()
