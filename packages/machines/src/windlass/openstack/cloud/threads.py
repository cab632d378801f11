"""Runs blocking calls in a bounded number of daemon threads, each with a deadline.

asyncio's default executor also looks names up: slow clouds would starve it, and its threads keep a process from ending.

    threads = Threads(16)
    answer = await threads.run(lambda: session.get(url), seconds=30)
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

T = TypeVar("T")


class NotStarted(Exception):
    """The deadline passed while the call was still waiting for a thread: it was never made."""


class _Job(Struct):
    call: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"
    started: bool = False
    dropped: bool = False


class Threads:
    """`size` threads at most, started as they are needed."""

    def __init__(self, size: int = 16, *, name: str = "cloud") -> None:
        self.size = size
        self._name = name
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0
        self._under_way: set[asyncio.Future[Any]] = set()

    async def run(self, call: Callable[[], T], *, seconds: float) -> T:
        """The result of `call`. Raises what it raises, TimeoutError if it takes longer than `seconds`, and NotStarted
        if it was not begun by then. A call that was begun goes on in its thread; its result is dropped."""
        loop = asyncio.get_running_loop()
        job = _Job(call, loop, loop.create_future())
        self._under_way.add(job.done)
        job.done.add_done_callback(self._under_way.discard)
        self._put(job)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(job.done)
        except TimeoutError:
            if self._drop(job):
                raise NotStarted(f"no thread was free for {seconds:g} s") from None
            raise
        except asyncio.CancelledError:
            self._drop(job)
            raise

    async def drain(self, seconds: float) -> int:
        """Wait until all calls under way have ended, at most `seconds`; returns how many have not."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=seconds)
        return len(self._under_way)

    def _put(self, job: _Job) -> None:
        with self._lock:
            self._jobs.put(job)
            self._unfinished += 1
            if self._threads < min(self._unfinished, self.size):
                self._threads += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()

    def _drop(self, job: _Job) -> bool:
        """Take a job back; False if it was begun."""
        with self._lock:
            if not job.started:
                job.dropped = True
                job.done.cancel()
            return not job.started

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with self._lock:
                if job.dropped:
                    self._unfinished -= 1
                    continue
                job.started = True
            try:
                done, result = job.done.set_result, job.call()
            except BaseException as error:
                done, result = job.done.set_exception, error
            with self._lock:  # before anybody is told, who may have the next call for this thread
                self._unfinished -= 1
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                job.loop.call_soon_threadsafe(_finish, job.done, done, result)


def _finish(future: "asyncio.Future[Any]", done: Callable[[Any], None], result: Any) -> None:
    if not future.done():
        done(result)
        if not future.cancelled():
            future.exception()  # it counts as seen, also if nobody waits any more
