"""Plays builders by itself: begins each that is new, does its work in a task, and says how it ended."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from msgspec import Struct

from windlass.kube.errors import KubeError
from windlass.kube.object import Object

Outcome = TypeVar("Outcome")


class Part(Struct, Generic[Outcome], frozen=True):
    """What an actor does at each turn of a builder.

    look      all builders
    is_new    it has not begun yet
    is_unwanted  its work is to be stopped
    """

    look: Callable[[], Awaitable[Iterable[Object[Any]]]]
    is_new: Callable[[Object[Any]], bool]
    is_unwanted: Callable[[Object[Any]], bool]
    begin: Callable[[Object[Any]], Awaitable[object]]
    finish: Callable[[Object[Any], Outcome], Awaitable[object]]
    stop: Callable[[Object[Any]], Awaitable[object]]


async def play(part: Part[Outcome], work: Callable[[Object[Any]], Awaitable[Outcome]], *, every: float = 0.05) -> None:
    """Play until cancelled, looking every `every` seconds. `work` gives the outcome; it is cancelled if unwanted."""
    tasks: dict[str, asyncio.Task[Outcome]] = {}
    try:
        while True:
            with suppress(KubeError):  # a conflict, or an object that went: the next look shows what there is
                await _turn(part, work, tasks)
            await asyncio.sleep(every)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


async def _turn(
    part: Part[Outcome], work: Callable[[Object[Any]], Awaitable[Outcome]], tasks: dict[str, asyncio.Task[Outcome]]
) -> None:
    found = {each.uid: each for each in await part.look()}
    for uid in [uid for uid in tasks if uid not in found]:
        tasks.pop(uid).cancel()
    for uid, each in found.items():
        if part.is_unwanted(each):
            if uid in tasks:
                tasks.pop(uid).cancel()
            await part.stop(each)
        elif part.is_new(each):
            await part.begin(each)
            tasks[uid] = asyncio.ensure_future(work(each))
        elif uid in tasks and tasks[uid].done():
            await part.finish(each, tasks[uid].result())
            del tasks[uid]
