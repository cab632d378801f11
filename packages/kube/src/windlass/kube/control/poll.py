"""Polls systems that cannot be watched (a cloud, a builder, a registry) and wakes the keys that they report.

    async def look() -> Polled[str]:
        builds = await registry.changed_builds()
        return Polled(tuple(build.pool for build in builds), again=5.0 if any_runs(builds) else 300.0)

    polling = Poll("builds", look, period=60.0)
    Controller(name="os-build", sources=(polling,), ...)
    polling.soon()                     # something was started: do not wait for the period

| what happens | when it is asked again |
|---|---|
| an answer | after `again` seconds if the answer says so, else after `period` |
| `soon()` | now; if it is being asked, once more when the answer is there |
| an error, or no answer within `timeout` seconds | after growing delays with jitter; `soon()` still means now |
| a `Failure` with `retry_after` | not before that, whatever `soon()` says |

Two polls begin at least `at_least` seconds apart. An error is logged once, and polling continues whatever is raised.

`Poll` asks one question about everything, `PollEach` one for each followed key, each with its own period.

A poll runs only while it is attached, that is, while its controller works: a standby does not poll. `trouble`, for
readiness, says that no answer has come yet. After the first answer it stays empty: if the other system fails later,
keys are woken late, but a restart would not help. The manager collects it, and `age` and `failures` for metrics.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from random import Random
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from windlass.kube.backoff import Backoff, Exponential
from windlass.kube.control.queue import Priority
from windlass.kube.control.source import Detach, Wake
from windlass.kube.errors import Failure
from windlass.kube.logger import Logger

Key = TypeVar("Key", bound=Hashable)

UNREACHABLE = Exponential(1.0).at_most(300.0).jittered(0.5)
"""Between polls of a system that does not answer: from 1 s, doubling, to 5 min."""


class Polled(Struct, Generic[Key], frozen=True):
    """An answer: the keys that it concerns, and in how many seconds to ask again (None: after the usual period)."""

    keys: tuple[Key, ...] = ()
    again: float | None = None


class Polling(Protocol):
    """The state of a poll, for readiness and metrics."""

    @property
    def name(self) -> str: ...
    @property
    def trouble(self) -> str:
        """Says that no answer has come yet, so its wake-ups may be missing. Empty otherwise, and while not attached."""
        ...

    @property
    def age(self) -> float | None:
        """Seconds since the last answer; None before the first and while not attached."""
        ...

    @property
    def failures(self) -> int:
        """Questions that failed, since the start."""
        ...


class Poll(Generic[Key]):
    """Asks `look` every `period` seconds; see the module. Times are seconds. ValueError if one is not positive."""

    def __init__(
        self,
        name: str,
        look: Callable[[], Awaitable[Polled[Key]]],
        *,
        period: float,
        at_least: float = 1.0,
        timeout: float = 30.0,
        backoff: Backoff = UNREACHABLE,
        random: Random | None = None,
    ) -> None:
        for what, value in (("period", period), ("at_least", at_least), ("timeout", timeout)):
            if value <= 0:
                raise ValueError(f"poll {name}: {what} must be positive, not {value:g} s")
        self.name = name
        self.failures = 0
        self._look = look
        self._period = period
        self._at_least = at_least
        self._timeout = timeout
        self._backoff = backoff
        self._random = random or Random()
        self._wakes: dict[object, Wake[Key]] = {}
        self._task: asyncio.Task[None] | None = None
        self._soon = asyncio.Event()
        self._earliest = 0.0
        self._failed_in_a_row = 0
        self._answered_at: float | None = None
        self._error = ""
        self._log = Logger(__name__)

    def attach(self, wake: Wake[Key]) -> Detach:
        """Ask from now on, the first time at once, and wake what the answers concern."""
        ticket = object()
        self._wakes[ticket] = wake
        if self._task is None:
            self._answered_at, self._failed_in_a_row, self._error = None, 0, ""
            self._task = asyncio.create_task(self._run(), name=f"poll {self.name}")
        else:
            self.soon()  # this listener has not had the earlier answers

        def detach() -> None:
            self._wakes.pop(ticket, None)
            if not self._wakes and self._task is not None:
                self._task.cancel()
                self._task = None

        return detach

    def soon(self) -> None:
        """Do not wait for the period: something outside has probably changed."""
        self._soon.set()

    @property
    def trouble(self) -> str:
        if self._task is None or self._answered_at is not None:
            return ""
        return f"no answer yet: {self._error}" if self._error else "no answer yet"

    @property
    def age(self) -> float | None:
        if self._task is None or self._answered_at is None:
            return None
        return asyncio.get_running_loop().time() - self._answered_at

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._soon.clear()
            self._earliest = loop.time() + self._at_least
            pause = await self._ask()
            try:
                async with asyncio.timeout(pause):
                    await self._soon.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(self._earliest - loop.time())

    async def _ask(self) -> float:
        """Ask once and wake; returns the seconds until the next question."""
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._look()
        except Exception as error:
            return self._failed(error)
        if self._failed_in_a_row > 1:
            self._log.info("polling again", poll=self.name, after_failures=self._failed_in_a_row)
        self._failed_in_a_row, self._error = 0, ""
        self._answered_at = asyncio.get_running_loop().time()
        for key in answer.keys:
            for wake in list(self._wakes.values()):
                wake(key)
        return self._period if answer.again is None else answer.again

    def _failed(self, error: Exception) -> float:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        say = self._log.debug if said == self._error else self._log.warning
        self.failures += 1
        self._failed_in_a_row += 1
        self._error = said
        pause = self._backoff.delay(self._failed_in_a_row, self._random)
        if isinstance(error, Failure) and error.retry_after:
            self._earliest = asyncio.get_running_loop().time() + error.retry_after
            pause = max(pause, error.retry_after)
        say("polling failed", poll=self.name, error=said, again_in=round(pause, 3))
        return pause


class PollEach(Generic[Key]):
    """Asks `look(key)` about every key that is followed, each at its own period; `how` is as for `Poll`.

    `trouble` is empty from the first answer about any key: the other system is reachable.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[Key], Awaitable[Polled[Key]]],
        *,
        period: float,
        at_least: float = 1.0,
        timeout: float = 30.0,
        backoff: Backoff = UNREACHABLE,
        random: Random | None = None,
    ) -> None:
        self.name = name
        self._poll = partial(
            Poll[Key], name, period=period, at_least=at_least, timeout=timeout, backoff=backoff, random=random
        )
        self._look = look
        self._followed: dict[Key, Poll[Key]] = {}
        self._detach: dict[Key, Detach] = {}
        self._wakes: dict[object, Wake[Key]] = {}
        self._failures_of_others = 0

    def follow(self, key: Key) -> None:
        """Ask about `key` from now on. Does nothing if it is followed already."""
        if key not in self._followed:
            self._followed[key] = self._poll(look=partial(self._look, key))
            if self._wakes:
                self._detach[key] = self._followed[key].attach(self._wake)

    def unfollow(self, key: Key) -> None:
        """Stop asking about `key`. Does nothing if it is not followed."""
        if detach := self._detach.pop(key, None):
            detach()
        if poll := self._followed.pop(key, None):
            self._failures_of_others += poll.failures

    def soon(self, key: Key) -> None:
        """Ask about `key` now. Does nothing if it is not followed."""
        if poll := self._followed.get(key):
            poll.soon()

    def attach(self, wake: Wake[Key]) -> Detach:
        """Ask about the followed keys from now on."""
        ticket = object()
        self._wakes[ticket] = wake
        for key, poll in self._followed.items():
            if key in self._detach:
                poll.soon()
            else:
                self._detach[key] = poll.attach(self._wake)

        def detach() -> None:
            self._wakes.pop(ticket, None)
            if not self._wakes:
                while self._detach:
                    self._detach.popitem()[1]()

        return detach

    @property
    def trouble(self) -> str:
        troubles = [poll.trouble for poll in self._followed.values()]
        return troubles[0] if troubles and all(troubles) else ""

    @property
    def age(self) -> float | None:
        """The age of the oldest answer among the followed keys."""
        return max((age for poll in self._followed.values() if (age := poll.age) is not None), default=None)

    @property
    def failures(self) -> int:
        return self._failures_of_others + sum(poll.failures for poll in self._followed.values())

    def _wake(self, key: Key, /, *, priority: Priority = Priority.NORMAL) -> None:
        for wake in list(self._wakes.values()):
            wake(key, priority=priority)
