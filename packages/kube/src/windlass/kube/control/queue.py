"""Deduplicates, delays and orders keys: no two workers have the same key, and no change is lost.

Producers say *that* something about a key changed, not what. Workers take a key, observe the present state, and hand
the key back:

    from windlass.kube.control.queue import Closed, Queue

    queue: Queue[str] = Queue()

    async def worker() -> None:
        while True:
            key = await queue.take()          # raises Closed when the queue is
            try:
                await reconcile(key)
            except Exception:
                queue.retry(key)              # comes back, later after each failure
            else:
                queue.forget(key)             # the next failure counts as the first
            finally:
                queue.done(key)

Guarantees:

1. *One worker.* Between `take` and `done` nobody else gets the key.
2. *Nothing is lost.* After every `add(key)` a `take` that starts later returns the key. A key that is added while in
   work is kept back and becomes ready when it is `done`.
3. *Deduplication.* A key that waits is not added twice.
4. *The earliest wins.* `add_after(key, 5)` and `add_after(key, 60)` are one wake-up in 5 s; `add(key)` makes both
   unnecessary. So a delay means "at the latest", and a key that is woken earlier must be delayed again.
5. *Changes before lists.* Keys of priority LOW (the initial list, a resync) wait behind those that changed, but not
   for ever: one of every `LOW_SHARE` + 1 takes is theirs. When a delay of such a key ends, the key moves up.
6. *In turn.* Within a priority keys leave in the order in which they came; a key that is added again and again
   goes to the end of the line each time.
7. *Growing delays.* `retry` waits as its `Backoff` says for the number of failures in a row, jitter included.
8. *Rest.* After `done(key, rest=5)` nobody gets the key for 5 s, however it is woken; what happens meanwhile is
   coalesced.

Cancelling a waiting `take` loses nothing. All methods belong to one event loop; only `take` and `idle` wait. The clock
is the loop's, so `windlass.testing.clock.VirtualLoop` controls it. `tests/unit/kube/control/test_queue.py` checks the
guarantees with a hypothesis state machine.
"""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from enum import IntEnum
from itertools import count
from random import Random
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from windlass.kube.backoff import RECONCILE, Backoff

Key = TypeVar("Key", bound=Hashable)

LOW_SHARE = 8
"""Keys of normal priority that may be taken in a row while one of low priority waits."""


class Priority(IntEnum):
    LOW = 0
    """Nothing is known to have changed: the initial list, a resync."""
    NORMAL = 1
    """Something changed, or a requested delay is over."""


class Closed(Exception):
    """The queue was closed: there is nothing more to take."""


class Timings(Protocol):
    """Receives the times that keys wait and are worked on; `windlass.kube.control.metrics` implements it."""

    def waited(self, seconds: float) -> None: ...

    def worked(self, seconds: float) -> None: ...


class _Delayed(Struct):
    when: float
    entry: int
    priority: Priority


class _Waiting(Struct):
    priority: Priority
    since: float


class Queue(Generic[Key]):
    """See the module.

    `adds` (entries into a line) and `retries` count since the start; `timings`, if set, is called with each duration.
    """

    def __init__(
        self,
        *,
        backoff: Backoff = RECONCILE,
        random: Random | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._backoff = backoff
        self.timings: Timings | None = None
        self._random = random or Random()
        self._lines: tuple[OrderedDict[Key, float], ...] = (OrderedDict(), OrderedDict())
        self._working: dict[Key, float] = {}
        self._again: dict[Key, _Waiting] = {}
        self._due: dict[Key, _Delayed] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._sequence = count()
        self._timer: asyncio.TimerHandle | None = None
        self._failures: dict[Key, int] = {}
        self._not_before: OrderedDict[Key, float] = OrderedDict()
        self._takers: deque[asyncio.Future[None]] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._normal_in_a_row = 0
        self._closed = False
        self.adds = 0
        self.retries = 0

    # for producers

    def add(self, key: Key, *, priority: Priority = Priority.NORMAL) -> None:
        """Something about `key` changed (or, at low priority, may have): look at it as soon as possible."""
        if self._closed:
            return
        if key in self._working:
            self._keep_back(key, priority)
            return
        not_before = self._not_before.get(key, 0.0)
        if not_before > self._loop.time():
            self._schedule(key, not_before, priority)
        else:
            self._put_in_line(key, _Waiting(priority, self._loop.time()))

    def add_after(self, key: Key, seconds: float, *, priority: Priority = Priority.NORMAL) -> None:
        """Look at `key` in `seconds` at the latest."""
        if seconds <= 0:
            self.add(key, priority=priority)
        elif not self._closed and not self._comes_soon(key, priority):
            self._schedule(key, max(self._loop.time() + seconds, self._not_before.get(key, 0.0)), priority)

    # for workers

    async def take(self) -> Key:
        """The next key, once there is one. Hand it back with `done`. Raises Closed."""
        while True:
            if self._closed:
                raise Closed
            if self._lines[Priority.NORMAL] or self._lines[Priority.LOW]:
                return self._pop()
            taker = self._loop.create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker in self._takers:
                    self._takers.remove(taker)
                elif self.ready:  # this waiter was woken for a key, so another one must be woken instead
                    self._wake_one()
                raise

    def done(self, key: Key, *, rest: float = 0.0) -> None:
        """Hand `key` back; if it changed meanwhile it is ready again after `rest` seconds. ValueError if not taken."""
        began = self._working.pop(key, None)
        if began is None:
            raise ValueError(f"{key!r} is not in work: it was never taken, or handed back twice")
        now = self._loop.time()
        if self.timings:
            self.timings.worked(now - began)
        if rest > 0:
            self._remember_rest(key, now + rest)
        again = self._again.pop(key, None)
        if again is not None and not self._closed:
            if rest > 0:
                self._schedule(key, now + rest, again.priority)
            else:
                self._put_in_line(key, again)
        if not self._working:
            self._wake_idle()

    def retry(self, key: Key, *, backoff: Backoff | None = None, at_least: float = 0.0) -> float:
        """`key` failed: it comes back after the delay of `backoff`, and not before `at_least` seconds.

        Returns the delay in seconds. `backoff` defaults to the queue's; failures are counted together until `forget`.
        """
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = max((backoff or self._backoff).delay(failures, self._random), at_least)
        self.retries += 1
        self.add_after(key, delay)
        return delay

    def forget(self, key: Key) -> None:
        """`key` succeeded: its next failure counts as the first."""
        self._failures.pop(key, None)

    def failures(self, key: Key) -> int:
        """How often `key` failed in a row."""
        return self._failures.get(key, 0)

    # for the owner of the queue

    def close(self) -> None:
        """Hand out and accept no more keys. Keys in work may still be handed back."""
        self._closed = True
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._takers:
            self._wake_one()

    async def idle(self) -> None:
        """Wait until no key is in work."""
        while self._working:
            waiter = self._loop.create_future()
            self._idle.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._idle:
                    self._idle.remove(waiter)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def ready(self) -> int:
        """How many keys a worker could take now."""
        return sum(map(len, self._lines))

    @property
    def depth(self) -> Mapping[Priority, int]:
        """How many keys are ready, by priority."""
        return {priority: len(self._lines[priority]) for priority in Priority}

    @property
    def working(self) -> Mapping[Key, float]:
        """The keys in work, and the loop's time when each was taken."""
        return MappingProxyType(self._working)

    def ages(self) -> list[float]:
        """Seconds that each key in work has been there."""
        now = self._loop.time()
        return [now - began for began in self._working.values()]

    # implementation

    def _pop(self) -> Key:
        low, normal = self._lines
        turn_of_low = bool(low) and (not normal or self._normal_in_a_row >= LOW_SHARE)
        self._normal_in_a_row = 0 if turn_of_low or not low else self._normal_in_a_row + 1
        key, since = (low if turn_of_low else normal).popitem(last=False)
        self._due.pop(key, None)
        now = self._loop.time()
        self._working[key] = now
        if self.timings:
            self.timings.waited(now - since)
        return key

    def _comes_soon(self, key: Key, priority: Priority) -> bool:
        """Whether `key` waits in a line of at least this priority, or will when it is handed back."""
        again = self._again.get(key)
        if again is not None and again.priority >= priority:
            return True
        return any(key in line for line in self._lines[priority:])

    def _keep_back(self, key: Key, priority: Priority) -> None:
        known = self._again.setdefault(key, _Waiting(priority, self._loop.time()))
        known.priority = max(known.priority, priority)
        self._outrun(key, priority)

    def _outrun(self, key: Key, priority: Priority) -> None:
        """Forget the delay of a key that waits in a line now, unless only its end would bring it to the front."""
        due = self._due.get(key)
        if due is not None and due.priority <= priority:
            del self._due[key]

    def _put_in_line(self, key: Key, waiting: _Waiting) -> None:
        low, normal = self._lines
        if key in normal or (key in low and waiting.priority is Priority.LOW):
            return
        since = low.pop(key, None)  # promoted: its waiting time so far counts
        if since is None:
            since = waiting.since
            self.adds += 1
        self._outrun(key, waiting.priority)
        self._lines[waiting.priority][key] = since
        self._wake_one()

    def _schedule(self, key: Key, when: float, priority: Priority) -> None:
        known = self._due.get(key)
        if known is not None:
            priority = known.priority = max(priority, known.priority)
            if known.when <= when:
                return
        entry = next(self._sequence)
        self._due[key] = _Delayed(when, entry, priority)
        heapq.heappush(self._heap, (when, entry, key))
        if len(self._heap) > 2 * len(self._due) + 64:
            self._drop_outdated()
        self._set_timer()

    def _drop_outdated(self) -> None:
        """Remove stale entries: they stay in the heap when their key comes earlier, and must not pile up."""
        self._heap = [entry for entry in self._heap if self._is_current(entry)]
        heapq.heapify(self._heap)

    def _is_current(self, entry: tuple[float, int, Key]) -> bool:
        due = self._due.get(entry[2])
        return due is not None and due.entry == entry[1]

    def _set_timer(self) -> None:
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)
        if not self._heap:
            return
        first = self._heap[0][0]
        if self._timer is not None:
            if not self._timer.cancelled() and self._timer.when() <= first:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(first, self._become_ready)

    def _become_ready(self) -> None:
        self._timer = None
        # The loop runs timers up to its clock resolution early; without the slack such a key would wait for another.
        now = self._loop.time() + 1e-6
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if self._is_current(entry):
                key = entry[2]
                priority = self._due.pop(key).priority
                if key in self._working:
                    self._keep_back(key, priority)
                elif (not_before := self._not_before.get(key, 0.0)) > now:
                    self._schedule(key, not_before, priority)
                else:
                    self._put_in_line(key, _Waiting(priority, self._loop.time()))
        self._set_timer()

    def _remember_rest(self, key: Key, until: float) -> None:
        while self._not_before:
            oldest, over = next(iter(self._not_before.items()))
            if over > self._loop.time():
                break
            del self._not_before[oldest]
        self._not_before[key] = until
        self._not_before.move_to_end(key)

    def _wake_one(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _wake_idle(self) -> None:
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
