"""Requests that are made together end together."""

import asyncio
from typing import Any

import pytest

from windlass.kube.together import both, together


async def answer(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def fail(error: Exception) -> int:
    raise error


async def test_answers_come_in_the_order_of_the_questions() -> None:
    async def after(event: asyncio.Event) -> int:
        await event.wait()
        return 1

    async def before(event: asyncio.Event) -> int:
        event.set()
        return 2

    event = asyncio.Event()
    assert await together([after(event), before(event)]) == [1, 2]
    assert await together([]) == []


async def test_two_may_answer_different_things() -> None:
    async def words() -> str:
        return "three"

    assert await both(answer(3), words()) == (3, "three")


async def test_the_first_error_is_raised_as_it_is_when_the_others_have_ended() -> None:
    ended: list[str] = []

    async def wait_for_ever() -> Any:
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)
            ended.append("the other")

    with pytest.raises(KeyError, match="first"):
        await together([wait_for_ever(), fail(KeyError("first")), fail(ValueError("second"))])
    assert ended == ["the other"]


async def test_an_error_among_those_that_are_together_in_something_that_is_together_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="inner"):
        await together([both(answer(1), fail(KeyError("inner"))), both(answer(1), answer(2))])


async def test_who_is_cancelled_cancels_them() -> None:
    asked = asyncio.Event()

    async def wait_for_ever() -> Any:
        asked.set()
        return await asyncio.get_running_loop().create_future()

    before = asyncio.all_tasks()
    waiting = asyncio.create_task(together([wait_for_ever(), answer(1)]))
    await asked.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() == before
