"""Cancels tasks until they have ended."""

import asyncio
from typing import Any

_ASK_AGAIN = 1.0


async def end(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel `tasks` and return when all have ended. Their exceptions are not raised here.

    It cancels repeatedly, because a cancellation can get lost: `asyncio.wait_for` of Python 3.11 swallows one that
    arrives together with the result it waits for.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_ASK_AGAIN)
