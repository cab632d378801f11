"""People at the web page of a cluster: one who reads it all the time, one who takes all that he can get, and strangers.

The reader must not notice the others: her session lasts, and the page answers her.
"""

import asyncio
import ssl
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from http import HTTPStatus
from itertools import count
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout, CookieJar, TCPConnector

from tests.waiting import eventually

FLOODS: Final = 5
"""Strangers who sign in with tokens that are none, each as fast as they are answered."""
STREAMS: Final = 100
"""Pages that the greedy user opens at a time; he may have 20."""


class Page:
    """The page at `url`, for people whose browser trusts it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.answers = Counter[int]()
        self.seconds: list[float] = []

    def browser(self) -> ClientSession:
        return ClientSession(
            self.url,
            connector=TCPConnector(ssl=self.tls, limit=0),
            cookie_jar=CookieJar(unsafe=True),
            timeout=ClientTimeout(total=30),
        )

    async def sign_in(self, session: ClientSession, token: str) -> int:
        sent = {"token": token}
        async with session.post("/api/session", json=sent, headers={"Origin": self.url}) as answer:
            return answer.status

    async def read(self, token: str) -> None:
        """Sign in once and read until cancelled. Fails when the session is gone or the page stays away.

        `seconds` are those of each answer about the session, for which nobody else is asked.
        """
        async with self.browser() as session:
            # The API server, which is asked about the token, may have a bad moment.
            await eventually(lambda: self.sign_in(session, token), lambda status: status == HTTPStatus.NO_CONTENT)
            while True:
                began = time.monotonic()
                async with session.get("/api/session") as answer:
                    assert answer.status == HTTPStatus.OK, "the session of the reader is gone"
                self.seconds.append(time.monotonic() - began)
                await eventually(lambda: self._document(session), lambda status: status == HTTPStatus.OK, within=90)
                await asyncio.sleep(1)

    async def _document(self, session: ClientSession) -> int:
        async with session.get("/api/views/update-status/document") as answer:
            self.answers[answer.status] += 1
            return answer.status

    async def take_all(self, token: str) -> None:
        """Sign in again and again, and open more pages than one may; until cancelled."""
        while True:
            with suppress(ClientError, TimeoutError, OSError):
                for _ in range(20):
                    async with self.browser() as once:
                        await self.sign_in(once, token)
                async with self.browser() as session, AsyncExitStack() as opened:
                    await self.sign_in(session, token)
                    for _ in range(STREAMS):
                        await opened.enter_async_context(session.get("/api/views/update-status/changes"))
                    await asyncio.sleep(10)

    async def flood(self, name: str) -> None:
        """Sign in with tokens that are none, until cancelled."""
        async with self.browser() as session:
            for number in count():
                with suppress(ClientError, TimeoutError, OSError):
                    await self.sign_in(session, f"bogus-{name}-{number}")
                await asyncio.sleep(0.05)
