"""Blocking calls in threads: bounded, with a deadline each, shared fairly, waited for at the end."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from windlass.openstack.cloud.threads import OWN, Answering, NotStarted, Share, Threads, ended


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


class Crowd:
    """Calls that wait for `release`, and who has begun."""

    def __init__(self, release: threading.Event, **how: Any) -> None:
        self.threads = Threads(16, **how)
        self.begun: list[Share] = []
        self._release = release
        self._changed = threading.Condition()

    def begin(self, share: Share, *, times: int = 1) -> None:
        for _ in range(times):
            self.threads.begin(lambda: self._call(share), share=share)

    def _call(self, share: Share) -> None:
        with self._changed:
            self.begun.append(share)
            self._changed.notify_all()
        self._release.wait(10)

    async def settled(self, count: int) -> Counter[str]:
        """How many calls of each tenant have begun, as soon as `count` have."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= count, 5)
        return Counter(each.tenant for each in self.begun)


async def test_a_tenant_has_a_quarter_of_the_threads_at_the_most(release: threading.Event) -> None:
    crowd = Crowd(release)
    for number in range(20):
        crowd.begin(Share("greedy", f"10.0.0.{number}:5000"))
    crowd.begin(Share("modest", "10.0.1.1:5000"))
    assert await crowd.settled(5) == {"greedy": 4, "modest": 1}


async def test_the_next_call_is_of_the_tenant_with_the_fewest(release: threading.Event) -> None:
    crowd, first = Crowd(release), threading.Event()
    crowd.threads.begin(first.wait)
    crowd.begin(OWN, times=14)
    for tenant in "aab":
        crowd.begin(Share(tenant, "10.0.0.1:5000"))
    assert await crowd.settled(15) == {"": 14, "a": 1}
    first.set()
    assert await crowd.settled(16) == {"": 14, "a": 1, "b": 1}


async def test_a_call_that_has_waited_before_comes_before_the_others_of_its_tenant() -> None:
    threads, first, order = Threads(1), threading.Event(), list[str]()
    threads.begin(first.wait)
    calls = [
        threads.begin(lambda: order.append("late")),
        threads.begin(lambda: order.append("later")),
        threads.begin(lambda: order.append("again"), again=True),
    ]
    first.set()
    await asyncio.gather(*map(ended, calls))
    assert order == ["again", "late", "later"]


async def test_an_endpoint_that_has_not_answered_gets_one_call_at_a_time(release: threading.Event) -> None:
    answering = Answering()
    answering.heard(Share("", "good"), answered=True)
    crowd = Crowd(release, trusts=answering)
    crowd.begin(Share("a", "new"), times=5)
    crowd.begin(Share("b", "good"), times=3)
    assert await crowd.settled(4) == {"a": 1, "b": 3}


async def test_threads_are_kept_for_endpoints_that_answer(release: threading.Event) -> None:
    answering = Answering()
    answering.heard(Share("", "good"), answered=True)
    crowd = Crowd(release, trusts=answering)
    for number in range(100):
        crowd.begin(Share(f"evil-{number}", f"10.0.0.{number}:5000"))
    assert len(await crowd.settled(12)) == 12
    crowd.begin(Share("team", "good"), times=4)
    assert (await crowd.settled(16))["team"] == 4


async def test_our_own_calls_have_all_threads(release: threading.Event) -> None:
    crowd = Crowd(release, trusts=lambda _: False)
    crowd.begin(OWN, times=16)
    assert await crowd.settled(16) == {"": 16}


def test_an_endpoint_is_trusted_after_an_answer_until_a_failure_or_a_quarter_of_an_hour() -> None:
    now = 0.0
    answering, share = Answering(lambda: now), Share("a", "10.0.0.1:5000")
    assert not answering(share)
    answering.heard(share, answered=True)
    assert answering(Share("b", "10.0.0.1:5000"))
    answering.heard(share, answered=False)
    assert not answering(share)
    answering.heard(share, answered=True)
    now = 901.0
    assert not answering(share)
