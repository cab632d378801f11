"""Runs blocking calls in a bounded number of daemon threads, which namespaces and clouds share fairly.

asyncio's default executor also looks names up: slow clouds would starve it, and its threads keep a process from ending.

    threads = Threads(64, trusts=Answering())
    answer = await threads.run(lambda: session.get(url), seconds=30, share=Share("team-a", "10.0.0.1:8774"))

| calls | run at the same time, at most |
|---|---|
| of one endpoint | `OF_ENDPOINT`; 1 while it is not trusted: the others wait for its answer |
| of one tenant | a quarter of the threads; half of that to endpoints that are not trusted |
| to endpoints that are not trusted | three quarters of the threads: the rest is kept for those that answer |
| of no tenant: our own | all threads |

The next call is one of the tenant that has the fewest under way.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from msgspec import Struct

T = TypeVar("T")

OF_ENDPOINT: Final = 16
LATELY: Final = 900.0
_MOST_KNOWN: Final = 5000


class NotStarted(Exception):
    """The deadline passed while the call was still waiting for a thread: it was never made."""


class Share(Struct, frozen=True):
    """Whose call it is. `tenant`: the namespace of the credentials; empty: our own. `endpoint`: address and port."""

    tenant: str = ""
    endpoint: str = ""


OWN: Final = Share()


class Answering:
    """Which endpoints have answered lately: the last call was answered, in the last `LATELY` seconds. May be used by
    several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: dict[str, float] = {}

    def __call__(self, share: Share) -> bool:
        return self._clock() - self._at.get(share.endpoint, -LATELY) < LATELY

    def heard(self, share: Share, *, answered: bool) -> None:
        self._at.pop(share.endpoint, None)
        if answered:
            if len(self._at) >= _MOST_KNOWN:  # the first was heard longest ago
                self._at.pop(next(iter(self._at), ""), None)
            self._at[share.endpoint] = self._clock()


class _Job(Struct, eq=False):
    """`trusted`: its endpoint was, when the call began."""

    call: Callable[[], Any]
    share: Share
    done: "Future[Any]"
    trusted: bool = True


class Threads:
    """`size` threads at most, started as they are needed. `trusts` says whether an endpoint has answered lately; it is
    called while a lock is held."""

    def __init__(
        self, size: int = 16, *, name: str = "cloud", trusts: Callable[[Share], bool] = lambda _: True
    ) -> None:
        self.size = size
        self._name = name
        self._trusts = trusts
        self._of_tenant = max(size // 4, 1)
        self._lock = threading.Lock()
        self._threads = 0
        self._idle: list[queue.SimpleQueue[_Job]] = []
        self._waiting: list[_Job] = []
        self._running: Counter[Any] = Counter()
        self._under_way: set[Future[Any]] = set()

    async def run(self, call: Callable[[], T], *, seconds: float, share: Share = OWN, again: bool = False) -> T:
        """The result of `call`. Raises what it raises, TimeoutError if it takes longer than `seconds`, and NotStarted
        if it was not begun by then. A call that was begun goes on in its thread; its result is dropped. `again`: it has
        waited before, so it comes before the others of its tenant."""
        done = self.begin(call, share=share, again=again)
        try:
            async with asyncio.timeout(seconds):
                await ended(done)
        except TimeoutError:
            if done.cancel():
                raise NotStarted(f"no thread was free for {seconds:g} s") from None
            raise
        except asyncio.CancelledError:
            done.cancel()
            raise
        return done.result()

    def begin(self, call: Callable[[], T], *, share: Share = OWN, again: bool = False) -> "Future[T]":
        """Run `call` in a thread. Cancelling the future takes the call back, unless it was begun."""
        job = _Job(call, share, Future())
        self._under_way.add(job.done)
        job.done.add_done_callback(self._under_way.discard)
        with self._lock:
            self._waiting.insert(0 if again else len(self._waiting), job)
            self._dispatch()
        return job.done

    async def drain(self, seconds: float) -> int:
        """Wait until all calls under way have ended, at most `seconds`; returns how many have not."""
        waiters = [asyncio.create_task(ended(each)) for each in self._under_way.copy()]
        if waiters:
            _, left = await asyncio.wait(waiters, timeout=seconds)
            for each in left:
                each.cancel()
        return len(self._under_way)

    # with the lock held

    def _dispatch(self) -> None:
        while (self._idle or self._threads < self.size) and (job := self._next()) is not None:
            self._waiting.remove(job)
            if not job.done.set_running_or_notify_cancel():
                continue
            job.trusted = not job.share.tenant or self._trusts(job.share)
            self._count(job, 1)
            (self._idle.pop() if self._idle else self._start()).put(job)

    def _next(self) -> _Job | None:
        self._waiting = [job for job in self._waiting if not job.done.cancelled()]
        free = (job for job in self._waiting if self._may_begin(job.share))
        return min(free, key=lambda job: self._running["tenant", job.share.tenant], default=None)

    def _may_begin(self, share: Share) -> bool:
        trusted = not share.tenant or self._trusts(share)
        if share.endpoint and self._running["endpoint", share.endpoint] >= (OF_ENDPOINT if trusted else 1):
            return False
        if not share.tenant:
            return True
        if self._running["tenant", share.tenant] >= self._of_tenant:
            return False
        return trusted or (
            self._running["not trusted"] < self.size - self.size // 4
            and self._running["not trusted", share.tenant] < max(self._of_tenant // 2, 1)
        )

    def _count(self, job: _Job, by: int) -> None:
        share = job.share
        keys: list[Any] = [("tenant", share.tenant), ("endpoint", share.endpoint)]
        if not job.trusted:
            keys += ["not trusted", ("not trusted", share.tenant)]
        for key in keys:
            self._running[key] += by
            if not self._running[key]:
                del self._running[key]

    def _start(self) -> "queue.SimpleQueue[_Job]":
        self._threads += 1
        jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(jobs,), name=f"{self._name}-{self._threads}", daemon=True).start()
        return jobs

    # in a thread

    def _work(self, jobs: "queue.SimpleQueue[_Job]") -> None:
        while True:
            job = jobs.get()
            settle: Callable[[Any], None]
            try:
                settle, result = job.done.set_result, job.call()
            except BaseException as error:
                settle, result = job.done.set_exception, error
            with self._lock:  # before anybody is told, who may have the next call for this thread
                self._count(job, -1)
                self._idle.append(jobs)
                self._dispatch()
            settle(result)
            del job, settle, result  # a thread that waits for its next call keeps no answer


async def ended(done: "Future[Any]") -> None:
    """Wait for the end of a call. Cancelling the wait leaves the call alone."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_end, waiter)

    done.add_done_callback(wake)
    await waiter


def _end(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
