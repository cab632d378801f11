"""Slots for servers: how many creations of servers may be under way at once.

Nova compares with the quota before it accepts a server, and again before it builds it. It counts a server some time
after it has accepted it. So of requests that come together it accepts more than fit, and the servers that do not fit
end in ERROR. Here one creation is always allowed, and others beside it only as far as the quota reaches.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from windlass.openstack.cloud.failures import CloudFailure, NotSent, OverQuota

_OLD: Final = 60.0
_OLD_IF_FULL: Final = 5.0
"""Seconds until the numbers are asked for again."""
_COUNTED: Final = 5.0
"""Seconds after which Nova counts a server that it has accepted."""


class ServerSlots:
    """`left` asks how many more servers fit, None if there is no limit. It is called only while several creations wait.
    `clock` is a monotonic one, in seconds."""

    def __init__(self, left: Callable[[], Awaitable[int | None]], clock: Callable[[], float]) -> None:
        self._ask = left
        self._clock = clock
        self._at = float("-inf")
        self._limit: int | None = None
        """Of `_made`: how many may have been made in all."""
        self._made = self._under_way = 0
        self._made_at = float("-inf")
        self._asking = asyncio.Lock()
        self._one_ended = asyncio.Event()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Within it a server may be created; waits while others are being created. Raises NotSent if there is no slot
        beside those that were created a moment ago."""
        await self._wait()
        self._under_way += 1
        try:
            yield
            self._made, self._made_at = self._made + 1, self._clock()
        finally:
            self._under_way -= 1
            self._one_ended.set()
            self._one_ended = asyncio.Event()

    async def _wait(self) -> None:
        while self._under_way or self._is_full:
            if self._is_old:
                await self._look()
            elif not self._is_full:
                return
            elif self._under_way:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_OLD_IF_FULL):
                        await self._one_ended.wait()
            elif self._at >= self._made_at + _COUNTED:
                return  # Nova says no, or counts better than we do
            else:
                text = "the servers that are being created use up the quota"
                failure = NotSent("compute", text, retry_after=_COUNTED)
                failure.why = OverQuota("compute", text)
                raise failure

    @property
    def _is_full(self) -> bool:
        return self._limit is not None and self._limit - self._made <= self._under_way

    @property
    def _is_old(self) -> bool:
        return self._clock() - self._at > (_OLD_IF_FULL if self._is_full else _OLD)

    async def _look(self) -> None:
        async with self._asking:
            if not self._is_old:
                return
            made = self._made  # those that are made from now on may not be in the answer
            try:
                left = await self._ask()
            except CloudFailure:  # Nova itself says no, then
                left = None
            self._limit = None if left is None else made + left
            self._at = self._clock()
