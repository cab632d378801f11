"""Blocking calls in threads: bounded, with a deadline each, waited for at the end."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from windlass.openstack.cloud.threads import NotStarted, Threads


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set it to end calls that wait for it."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_call_returns_or_raises_what_it_returns_or_raises() -> None:
    threads = Threads(2)
    assert await threads.run(lambda: 7, seconds=5) == 7
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0, seconds=5)
    assert await threads.run(lambda: 8, seconds=5) == 8


async def test_calls_run_at_the_same_time_up_to_the_bound() -> None:
    threads = Threads(4)
    lock, under_way, most = threading.Lock(), 0, 0

    def call() -> str:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.005)
        with lock:
            under_way -= 1
        return threading.current_thread().name

    names = await asyncio.gather(*(threads.run(call, seconds=5) for _ in range(40)))
    assert most == 4
    assert len(set(names)) == 4


async def test_threads_are_daemons_and_started_as_they_are_needed() -> None:
    threads = Threads(16, name="few")
    for _ in range(10):
        assert await threads.run(lambda: threading.current_thread().daemon, seconds=5)
    assert sum(thread.name.startswith("few-") for thread in threading.enumerate()) == 1


async def test_a_call_that_is_too_slow_is_given_up_and_its_thread_works_on(release: threading.Event) -> None:
    threads = Threads(1)
    with pytest.raises(TimeoutError):
        await threads.run(release.wait, seconds=0.05)
    release.set()
    assert await threads.run(lambda: 1, seconds=5) == 1


async def test_a_call_that_found_no_thread_in_time_was_never_made(release: threading.Event) -> None:
    threads = Threads(1)
    first = asyncio.create_task(threads.run(release.wait, seconds=5))
    await asyncio.sleep(0)
    made: list[int] = []
    with pytest.raises(NotStarted):
        await threads.run(lambda: made.append(1), seconds=0.05)
    release.set()
    await first
    assert await threads.run(lambda: 2, seconds=5) == 2
    assert made == []


async def test_a_call_that_is_cancelled_before_it_began_is_never_made(release: threading.Event) -> None:
    threads = Threads(1)
    first = asyncio.create_task(threads.run(release.wait, seconds=5))
    made: list[int] = []
    second = asyncio.create_task(threads.run(lambda: made.append(1), seconds=5))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    release.set()
    await first
    await threads.run(lambda: None, seconds=5)
    assert (second.cancelled(), made) == (True, [])


async def test_drain_waits_for_calls_under_way_even_if_nobody_else_does(release: threading.Event) -> None:
    threads, begun = Threads(2), threading.Event()

    def call() -> None:
        begun.set()
        release.wait(5)

    task = asyncio.create_task(threads.run(call, seconds=5))
    assert await asyncio.to_thread(begun.wait, 5)
    assert await threads.drain(0.05) == 1
    release.set()
    assert await threads.drain(5) == 0
    await task


async def test_an_answer_to_a_loop_that_is_closed_is_dropped(release: threading.Event) -> None:
    threads, begun, ended = Threads(1, name="late"), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        release.wait(5)
        ended.set()

    async def start() -> None:
        task = asyncio.create_task(threads.run(call, seconds=5))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()

    await asyncio.to_thread(asyncio.run, start())
    release.set()
    assert await asyncio.to_thread(ended.wait, 5)
    assert await threads.run(lambda: 3, seconds=5) == 3
