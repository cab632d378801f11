"""Polls: when the outside is asked, what its answers wake, and what its failures do."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from windlass.kube.backoff import Exponential
from windlass.kube.control.poll import Poll, PollEach, Polled
from windlass.kube.control.queue import Priority
from windlass.kube.errors import Failure
from windlass.testing.clock import run
from windlass.testing.logs import captured


class Outside:
    """Answers with what stands in `answers`, one each, then with nothing; notes when it was asked, and what about."""

    def __init__(self, *answers: Polled[str] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[float] = []
        self.about: list[str] = []
        self.takes = 0.0

    async def __call__(self, key: str = "") -> Polled[str]:
        self.asked.append(round(asyncio.get_running_loop().time(), 3))
        self.about.append(key)
        await asyncio.sleep(self.takes)
        answer = self.answers.pop(0) if self.answers else Polled()
        if isinstance(answer, Exception):
            raise answer
        return answer


class Woken(list[str]):
    def __call__(self, key: str, /, *, priority: Priority = Priority.NORMAL) -> None:
        self.append(key)


BACKOFF = Exponential(2.0).at_most(60.0)


def poll(outside: Outside, *, period: float = 10.0) -> Poll[str]:
    return Poll("cloud", outside, period=period, backoff=BACKOFF, random=Random(1))


def scenario(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def in_virtual_time() -> None:
        async def main() -> None:
            await test()

        run(main())

    in_virtual_time.__name__ = test.__name__
    return in_virtual_time


@scenario
async def test_answers_wake_keys_and_say_when_to_ask_again() -> None:
    outside, woken = Outside(Polled(("a", "b"), again=3.0), Polled(("c",), again=100.0)), Woken()
    detach = poll(outside).attach(woken)
    await asyncio.sleep(115)
    assert woken == ["a", "b", "c"]
    assert outside.asked == [0, 3, 103, 113], "as the answers say, and else every period"
    detach()
    await asyncio.sleep(100)
    assert len(outside.asked) == 4


@scenario
async def test_failures_back_off_are_logged_once_and_never_stop_the_stream() -> None:
    outside, woken = Outside(*[OSError("away")] * 3, Polled(("a",))), Woken()
    polling = poll(outside)
    with captured() as logs:
        polling.attach(woken)
        await asyncio.sleep(20)
    assert outside.asked == [0, 2, 6, 14]
    assert woken == ["a"]
    assert polling.failures == 3
    assert [line["level"] for line in logs] == ["warning", "debug", "debug", "info"]
    assert logs[0]["error"] == "OSError: away"


@scenario
async def test_delays_after_failures_are_stretched_at_random() -> None:
    def moments(seed: int) -> tuple[Outside, Poll[str]]:
        outside = Outside(*[OSError("away")] * 5)
        return outside, Poll("cloud", outside, period=10.0, random=Random(seed))

    (one, first), (other, second) = moments(1), moments(2)
    first.attach(Woken()), second.attach(Woken())
    await asyncio.sleep(60)
    assert one.asked[0] == other.asked[0] == 0
    assert not set(one.asked[1:]) & set(other.asked[1:])


@scenario
async def test_an_outside_that_hangs_is_a_failure_too() -> None:
    outside, woken = Outside(Polled(("late",)), Polled(("a",))), Woken()
    outside.takes = 31.0
    polling = poll(outside)
    polling.attach(woken)
    await asyncio.sleep(30.5)
    assert polling.failures == 1
    outside.takes = 0.0
    await asyncio.sleep(5)
    assert woken == ["late"], "the answer that was cut off was not used up"


@scenario
async def test_soon_asks_now_and_many_of_them_ask_once_a_second() -> None:
    outside = Outside()
    polling = poll(outside, period=1000.0)
    polling.attach(Woken())
    await asyncio.sleep(50)
    for _ in range(100):
        polling.soon()
        await asyncio.sleep(0.03)
    assert outside.asked == [0, 50, 51, 52, 53][: len(outside.asked)]
    assert len(outside.asked) >= 4


@scenario
async def test_soon_while_being_asked_asks_once_more() -> None:
    outside = Outside()
    outside.takes = 5.0
    polling = poll(outside, period=1000.0)
    polling.attach(Woken())
    await asyncio.sleep(1)
    polling.soon()
    await asyncio.sleep(100)
    assert outside.asked == [0, 5]


@scenario
async def test_soon_does_not_wait_for_a_backoff() -> None:
    outside = Outside(*[OSError("away")] * 5)
    polling = poll(outside)
    polling.attach(Woken())
    await asyncio.sleep(20)
    assert outside.asked == [0, 2, 6, 14]
    polling.soon()
    await asyncio.sleep(0.1)
    assert outside.asked[-1] == 20


@scenario
async def test_an_outside_that_asks_for_a_pause_gets_it_even_if_asked_soon() -> None:
    busy = Failure("too many requests")
    busy.retry_after = 30.0
    outside = Outside(busy)
    polling = poll(outside)
    detach = polling.attach(Woken())
    await asyncio.sleep(1.5)
    polling.soon()
    await asyncio.sleep(35.0)
    assert outside.asked == [0.0, 30.0]
    detach()


@scenario
async def test_until_the_first_answer_it_is_not_ready_and_says_why() -> None:
    outside = Outside(OSError("no route to host"), Polled(), OSError("again"))
    polling = poll(outside)
    assert (polling.trouble, polling.age) == ("", None), "a standby asks nothing"
    detach = polling.attach(Woken())
    assert polling.trouble == "no answer yet"
    await asyncio.sleep(1)
    assert polling.trouble == "no answer yet: OSError: no route to host"
    assert polling.age is None
    await asyncio.sleep(2)
    assert polling.trouble == ""
    assert polling.age == pytest.approx(1)
    await asyncio.sleep(10)
    assert (polling.trouble, polling.failures) == ("", 2)
    assert polling.age == pytest.approx(11)
    detach()
    assert (polling.trouble, polling.age, polling.failures) == ("", None, 2)


@scenario
async def test_of_two_that_are_attached_both_are_woken_by_one_question() -> None:
    outside, one, other = Outside(Polled(("a",)), Polled(("b",))), Woken(), Woken()
    polling = poll(outside)
    polling.attach(one)
    await asyncio.sleep(5)
    detach = polling.attach(other)
    await asyncio.sleep(1)
    detach()
    await asyncio.sleep(5)
    assert (one, other) == (["a", "b"], ["b"])
    assert outside.asked == [0, 5]


@scenario
async def test_each_key_is_asked_about_at_its_own_period() -> None:
    woken = Woken()
    asked: list[tuple[str, float]] = []

    async def look(key: str) -> Polled[str]:
        asked.append((key, round(asyncio.get_running_loop().time(), 3)))
        return Polled((key,), again=5.0 if key == "building" else None)

    polling = PollEach("servers", look, period=12.0)
    polling.follow("building")
    polling.attach(woken)
    polling.follow("active")
    polling.follow("active")
    await asyncio.sleep(13)
    assert asked == [("building", 0), ("active", 0), ("building", 5), ("building", 10), ("active", 12)]
    assert woken == [key for key, _ in asked]
    polling.unfollow("building")
    polling.unfollow("building")
    polling.soon("active")
    polling.soon("unknown")
    await asyncio.sleep(9)
    assert asked[5:] == [("active", 13)]


@scenario
async def test_what_is_followed_is_asked_about_while_attached_only() -> None:
    outside = Outside(OSError("away"))
    polling: PollEach[str] = PollEach("servers", outside, period=10.0, backoff=BACKOFF)
    polling.follow("a")
    await asyncio.sleep(20)
    assert (outside.asked, polling.trouble) == ([], "")
    detach = polling.attach(Woken())
    await asyncio.sleep(1)
    assert polling.trouble == "no answer yet: OSError: away"
    polling.follow("b")
    await asyncio.sleep(0.5)
    assert polling.trouble == ""
    assert polling.age == pytest.approx(0.5)
    polling.unfollow("a")
    assert polling.failures == 1, "a counter never goes back"
    detach()
    await asyncio.sleep(100)
    assert outside.about == ["a", "b"]


def test_times_of_a_poll_must_be_positive() -> None:
    with pytest.raises(ValueError, match="poll cloud: period must be positive"):
        poll(Outside(), period=0)
