"""Listens to the server-sent events of a page."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientResponse, ClientSession

WITHIN = 20.0


class Heard:
    """The events of a stream."""

    def __init__(self, answer: ClientResponse) -> None:
        self._answer = answer

    async def next(self, event: str) -> Any:
        """The data of the next event of this kind."""
        async with asyncio.timeout(WITHIN):
            while True:
                block = (await self._answer.content.readuntil(b"\n\n")).decode().splitlines()
                if block[0] == f"event: {event}":
                    return json.loads(block[1].removeprefix("data: "))


@asynccontextmanager
async def following(me: ClientSession, since: str = "", *, view: str = "things") -> AsyncIterator[Heard]:
    async with me.get(f"/api/views/{view}/changes", params={"since": since}) as answer:
        assert answer.status == 200
        yield Heard(answer)
