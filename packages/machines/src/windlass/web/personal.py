"""Reads with the rights of whoever looks, where the source of a view has nothing to rely on.

| who looks, and may | sees |
|---|---|
| what `View.rule` says, and the source has something to rely on | what the source publishes |
| what `Personal.rule` says | what is read with the rights of somebody who looks and may the same |
| only what `View.rule` says | what the source publishes, which says what is missing |

Viewers with the same rights share a reading. It is done with the credentials of one of them, and with those of another
as soon as that viewer looks no more. The cluster is not read while nobody looks.
"""

import asyncio
from collections.abc import Hashable
from typing import Final

from windlass.kube.logger import Logger
from windlass.web.access import Access, ClientOf, Visitor
from windlass.web.board import Board
from windlass.web.view import ELSEWHERE, Personal, Refused, View

ABSENT: Final = 25.0
"""Seconds without a look after which a viewer looks no more. Open pages look every ten."""
MOST: Final = 8
"""Readings at the same time, of viewers with different rights."""

log = Logger(__name__)


class _Reading:
    """`lender`: whose credentials are used; `lent`, `seen`: when that one looked last, and when anybody did."""

    def __init__(self, view: View, personal: Personal, lender: Visitor, now: float) -> None:
        self.board = Board(view.clock)
        self.personal = personal
        self.lender = lender
        self.lent = self.seen = now
        self.task: asyncio.Task[None] | None = None


class Readings:
    """See the module. `absent`: see `ABSENT`."""

    def __init__(self, access: Access, client: ClientOf, *, absent: float = ABSENT) -> None:
        self._access = access
        self._client = client
        self._absent = absent
        self._readings: dict[tuple[str, Hashable], _Reading] = {}

    @property
    def count(self) -> int:
        """Readings that go on."""
        return len(self._readings)

    async def board(self, visitor: Visitor, view: View, shared: Board) -> Board:
        """The board that a visitor sees at this moment, who may see the view. `shared` is the board of the source.
        Raises Refused."""
        if view.personal is None:
            return shared
        shares = await self._access.shares(visitor, view)
        if shares and ELSEWHERE not in shared:
            return shared
        rights = await self._access.rights(visitor, view)
        if rights is None:
            if shares:
                return shared
            raise Refused(503, "the API server cannot be asked about your rights: trying again")
        return self._look(view, view.personal, (view.name, rights), visitor).board

    async def close(self) -> None:
        """End all readings."""
        tasks = [reading.task for reading in self._readings.values() if reading.task is not None]
        self._readings.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _look(self, view: View, personal: Personal, key: tuple[str, Hashable], visitor: Visitor) -> _Reading:
        now = asyncio.get_running_loop().time()
        reading = self._readings.get(key)
        if reading is None:
            if len(self._readings) >= MOST:
                raise Refused(503, f"the cluster is read for {MOST} groups of people already: try again later")
            reading = self._readings[key] = _Reading(view, personal, visitor, now)
        reading.seen = now
        if visitor == reading.lender:
            reading.lent = now
        gone = now - reading.lent > self._absent
        if reading.task is None or reading.task.done() or gone:
            # The credentials of somebody who has left, or signed out, are used no longer.
            if reading.task is not None:
                reading.task.cancel()
            reading.lender, reading.lent = visitor, now
            reading.task = asyncio.create_task(self._read(key, reading, visitor), name=f"read {view.name}")
        return reading

    async def _read(self, key: tuple[str, Hashable], reading: _Reading, lender: Visitor) -> None:
        """Read until nobody looks any more."""
        loop = asyncio.get_running_loop()
        try:
            async with self._client(lender) as client:
                source = asyncio.ensure_future(reading.personal.source(client, reading.board))
                try:
                    while not source.done() and loop.time() - reading.seen <= self._absent:
                        await asyncio.wait({source}, timeout=self._absent / 4)
                    if source.done():
                        source.result()
                finally:
                    source.cancel()
                    await asyncio.gather(source, return_exceptions=True)
        except Exception:
            log.exception("reading for those who look failed in an unforeseen way")
        if self._readings.get(key) is reading and reading.task is asyncio.current_task():
            del self._readings[key]
