"""The waits of all tests: for a condition, with a deadline, and a failure that says what there was instead.

| wait | for |
|---|---|
| `eventually` | what is asked of a server: `look` is awaited, and `holds` judges what it found |
| `until` | what can be seen in this process |
| `patiently` | a request to an API server that is away |
| `wait_until` | the same as `eventually`, without an event loop |
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from tests.patience import PATIENCE
from windlass.kube.errors import Busy, KubeError, TransportError
from windlass.testing.plane.waiting import wait_for

T = TypeVar("T")


async def eventually(
    look: Callable[[], Awaitable[T]], holds: Callable[[T], Any] = bool, *, within: float = PATIENCE, what: str = ""
) -> T:
    """What `look` finds once `holds` is true of it. Fails with what there is instead."""
    looked = time.monotonic()
    deadline = looked + within
    there: object
    while True:
        try:
            if holds(found := await look()):
                return found
            there = found
        except (Busy, TransportError) as error:
            # A starved API server does not answer a list of hundreds of objects in time.
            there = error
        if (now := time.monotonic()) > deadline:
            instead = str(there)[:20_000]
            pytest.fail(f"not seen within {within:g} s: {what or 'the condition'}; there is: {instead}")
        # Listing hundreds of objects takes CPU from the program that the test waits for.
        await asyncio.sleep(max(0.05, now - looked))
        looked = time.monotonic()


async def until(true: Callable[[], Any], *, within: float = PATIENCE) -> None:
    """Return once `true()` is, in real or virtual time."""
    async with asyncio.timeout(within):
        while not true():  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.05)


async def patiently(do: Callable[[], Awaitable[object]]) -> None:
    """Repeat until the API server is there to answer."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await do()
            except KubeError:
                await asyncio.sleep(0.1)
            else:
                return


def wait_until(what: str, look: Callable[[], T | None]) -> T:
    """What `look` finds once that is true; `what` is for the failure."""
    found = wait_for(lambda: look() or None, seconds=PATIENCE)
    assert found is not None, f"not seen within {PATIENCE:g} s: {what}"
    return found
