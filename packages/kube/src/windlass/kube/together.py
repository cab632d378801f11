"""Awaits several requests at once, and cancels the others when one of them fails.

    listed = await together(client.list(Machine, namespace=name) for name in namespaces)
    machine, machine_set = await both(client.get(Machine, "x"), client.get(MachineSet, "x"))

`asyncio.gather` raises the first error and leaves the others running, perhaps until after the caller has closed the
client. Here they are cancelled and have ended before the error is raised.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Their results, in order. Raises the first error, unwrapped, when the others have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except* Exception as failed:
        first = failed.exceptions[0]
    else:
        return [task.result() for task in tasks]
    raise first


async def both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    """The same for two requests with different result types."""
    found: list[Any] = await together([one, other])
    return found[0], found[1]
