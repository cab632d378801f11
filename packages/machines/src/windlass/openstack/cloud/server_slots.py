"""Slots for servers: how many creations of servers may be under way at once.

Nova compares with the quotas of instances, cores and memory before it accepts a server, and again before it builds it.
It counts a server some time after it has accepted it. So of requests that come together it accepts more than fit, and
the servers that do not fit end in ERROR. Here one creation is always allowed, and others beside it only as far as the
quotas reach. What a server needs follows from its flavor.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

from msgspec import Struct

from windlass.openstack.cloud.failures import CloudFailure, NotSent, OverQuota

_OLD: Final = 60.0
_OLD_IF_FULL: Final = 5.0
"""Seconds until the numbers are asked for again."""
_COUNTED: Final = 5.0
"""Seconds after which Nova counts a server that it has accepted."""

Amounts: TypeAlias = Mapping[str, int]
"""By quota: `instances`, `cores`, `ram` in MiB."""


class Left(Struct, frozen=True):
    """What is left of the quotas that have a limit, and what a server of each flavor needs beside one instance, by the
    flavor's ID. A flavor that is not there needs nothing that is known."""

    amounts: Amounts = {}
    flavors: Mapping[str, Amounts] = {}

    def short(self, servers: Mapping[str, int]) -> str:
        """The quota that these servers, numbers by flavor, use up; empty if they fit."""
        for quota, left in self.amounts.items():
            if left < sum(number * self._need(flavor).get(quota, 0) for flavor, number in servers.items()):
                return quota
        return ""

    def _need(self, flavor: str) -> Amounts:
        return {"instances": 1, **self.flavors.get(flavor, {})}


class ServerSlots:
    """`left` asks what fits. It is called only while several creations wait. `clock` is a monotonic one, in seconds."""

    def __init__(self, left: Callable[[], Awaitable[Left]], clock: Callable[[], float]) -> None:
        self._ask = left
        self._clock = clock
        self._at = float("-inf")
        self._left = Left()
        self._since: Counter[str] = Counter()
        """The servers, by flavor, that were made since `left` was asked."""
        self._under_way: Counter[str] = Counter()
        self._made_at = float("-inf")
        self._asking = asyncio.Lock()
        self._one_ended = asyncio.Event()

    @asynccontextmanager
    async def taken(self, flavor: str) -> AsyncIterator[None]:
        """Within it a server of the flavor may be created; waits while others are being created. Raises NotSent if
        there is no slot beside those that were created a moment ago."""
        await self._wait(flavor)
        self._under_way[flavor] += 1
        try:
            yield
            self._since[flavor] += 1
            self._made_at = self._clock()
        finally:
            self._under_way -= Counter((flavor,))
            self._one_ended.set()
            self._one_ended = asyncio.Event()

    async def _wait(self, flavor: str) -> None:
        while self._under_way or self._short(flavor):
            if self._is_old(flavor):
                await self._look(flavor)
            elif not self._short(flavor):
                return
            elif self._under_way:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_OLD_IF_FULL):
                        await self._one_ended.wait()
            elif self._at >= self._made_at + _COUNTED:
                return  # Nova says no, or counts better than we do
            else:
                text = f"the servers that are being created use up the quota of {self._short(flavor)}"
                failure = NotSent("compute", text, retry_after=_COUNTED)
                failure.why = OverQuota("compute", text)
                raise failure

    def _short(self, flavor: str) -> str:
        """The quota that one more server would use up; empty if it fits."""
        return self._left.short(self._since + self._under_way + Counter((flavor,)))

    def _is_old(self, flavor: str) -> bool:
        return self._clock() - self._at > (_OLD_IF_FULL if self._short(flavor) else _OLD)

    async def _look(self, flavor: str) -> None:
        async with self._asking:
            if not self._is_old(flavor):
                return
            before = Counter(self._since)  # those that are made from now on may not be in the answer
            try:
                left = await self._ask()
            except CloudFailure:  # Nova itself says no, then
                left = Left()
            self._left = left
            self._since -= before
            self._at = self._clock()
