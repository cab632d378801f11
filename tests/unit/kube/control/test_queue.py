"""The queue's promises, one by one and then all together as a state machine."""

import asyncio
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.explore import examples
from windlass.kube.backoff import Constant, Exponential
from windlass.kube.control.queue import LOW_SHARE, Closed, Priority, Queue
from windlass.testing.clock import VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def queue_on(loop: VirtualLoop, **settings: object) -> Queue[str]:
    return Queue(loop=loop, random=Random(0), **settings)  # type: ignore[arg-type]


def take(loop: VirtualLoop, queue: Queue[str]) -> str:
    return loop.run_until_complete(queue.take())


def take_and_finish(loop: VirtualLoop, queue: Queue[str]) -> str:
    key = take(loop, queue)
    queue.done(key)
    return key


def test_a_key_that_waits_is_not_added_twice(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    for _ in range(3):
        queue.add("a")
    assert take(loop, queue) == "a"
    assert queue.ready == 0


def test_a_key_that_changes_while_in_work_comes_back_when_it_is_handed_back(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("a")
    take(loop, queue)
    queue.add("a")
    assert queue.ready == 0
    queue.done("a")
    assert take(loop, queue) == "a"


def test_the_earliest_of_several_delays_wins(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add_after("a", 60)
    queue.add_after("a", 5)
    queue.add_after("a", 30)
    assert take_and_finish(loop, queue) == "a"
    assert loop.time() == pytest.approx(5)
    loop.advance(100)
    assert queue.ready == 0


def test_a_change_makes_a_delay_unnecessary(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add_after("a", 60)
    queue.add("a")
    assert take_and_finish(loop, queue) == "a"
    assert loop.time() == 0
    loop.advance(100)
    assert queue.ready == 0


def resync(queue: Queue[str], count: int = 1000) -> None:
    for number in range(count):
        queue.add(f"listed-{number}", priority=Priority.LOW)


def test_a_resync_does_not_put_off_a_promised_wake_up(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add_after("a", 5)
    resync(queue)
    queue.add("a", priority=Priority.LOW)
    loop.advance(5)
    assert take(loop, queue) == "a"
    queue.done("a")
    loop.advance(100)
    assert queue.ready == 1000, "it came once, not twice"


def test_a_delay_asked_for_behind_a_resync_is_kept(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    resync(queue)
    queue.add("a", priority=Priority.LOW)
    queue.add_after("a", 5)
    loop.advance(5)
    assert take(loop, queue) == "a"


def test_a_delay_asked_for_in_work_is_kept_although_a_resync_came_first(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("a")
    take(loop, queue)
    resync(queue)
    queue.add("a", priority=Priority.LOW)
    queue.add_after("a", 5)
    queue.done("a")
    loop.advance(5)
    assert take(loop, queue) == "a"


def test_a_key_taken_before_its_delay_ends_comes_once(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add_after("a", 5)
    queue.add("a", priority=Priority.LOW)
    assert take_and_finish(loop, queue) == "a"
    loop.advance(10)
    assert queue.ready == 0


def test_a_delay_that_ends_while_the_key_is_in_work_is_kept_for_later(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("a")
    take(loop, queue)
    queue.add_after("a", 5)
    loop.advance(10)
    assert queue.ready == 0
    queue.done("a")
    assert queue.ready == 1


def test_changed_keys_go_before_those_of_the_initial_list(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("listed", priority=Priority.LOW)
    queue.add("changed")
    assert [take(loop, queue), take(loop, queue)] == ["changed", "listed"]


def test_a_listed_key_that_changes_moves_up(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    for key in ("a", "b", "c"):
        queue.add(key, priority=Priority.LOW)
    queue.add("c")
    assert [take(loop, queue) for _ in range(3)] == ["c", "a", "b"]


def test_a_stream_of_changes_does_not_starve_the_initial_list(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("listed", priority=Priority.LOW)
    for number in range(2 * LOW_SHARE):
        queue.add(f"changed-{number}")
    taken = [take(loop, queue) for _ in range(LOW_SHARE + 1)]
    assert taken[-1] == "listed"


def test_a_key_that_is_added_again_and_again_goes_to_the_end_of_the_line(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("busy")
    queue.add("patient")
    assert take(loop, queue) == "busy"
    queue.add("busy")
    queue.done("busy")
    assert take(loop, queue) == "patient"


def test_retries_wait_longer_each_time_until_forgotten(loop: VirtualLoop) -> None:
    queue = queue_on(loop, backoff=Exponential(1.0).at_most(5.0))
    delays = [queue.retry("a") for _ in range(5)]
    assert delays == [1, 2, 4, 5, 5]
    queue.forget("a")
    assert queue.retry("a") == 1


def test_a_retry_respects_what_the_server_asked_for(loop: VirtualLoop) -> None:
    queue = queue_on(loop, backoff=Constant(1))
    assert queue.retry("a", at_least=30) == 30
    assert take(loop, queue) == "a"
    assert loop.time() == pytest.approx(30)


def test_a_key_is_left_alone_while_it_rests_and_comes_back_once(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    times = []
    queue.add("a")
    for _ in range(3):
        take(loop, queue)
        times.append(loop.time())
        queue.add("a")
        loop.advance(2)
        queue.done("a", rest=10)
        queue.add("a")
        queue.add_after("a", 1)
    assert times == pytest.approx([0, 12, 24])


def test_a_delay_that_was_asked_for_before_the_rest_does_not_end_it(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("a")
    take(loop, queue)
    queue.add_after("a", 5)
    queue.done("a", rest=10)
    assert take_and_finish(loop, queue) == "a"
    assert loop.time() == pytest.approx(10)


def test_a_delay_longer_than_the_rest_is_kept(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("a")
    take(loop, queue)
    queue.add_after("a", 30)
    queue.done("a", rest=10)
    assert take_and_finish(loop, queue) == "a"
    assert loop.time() == pytest.approx(30)


def test_a_key_that_rests_does_not_hold_up_other_keys(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    queue.add("a")
    take(loop, queue)
    queue.done("a", rest=10)
    queue.add("a")
    queue.add("b")
    assert take(loop, queue) == "b"
    assert loop.time() == 0


def test_a_cancelled_take_passes_its_key_on(loop: VirtualLoop) -> None:
    queue = queue_on(loop)

    async def scenario() -> str:
        cancelled, waiting = asyncio.create_task(queue.take()), asyncio.create_task(queue.take())
        await asyncio.sleep(0)
        queue.add("a")
        cancelled.cancel()
        return await waiting

    assert loop.run_until_complete(scenario()) == "a"


def test_closing_ends_takes_and_keeps_keys_in_work_valid(loop: VirtualLoop) -> None:
    queue = queue_on(loop)

    async def scenario() -> None:
        queue.add("a")
        key = await queue.take()
        waiting = asyncio.create_task(queue.take())
        await asyncio.sleep(0)
        queue.close()
        with pytest.raises(Closed):
            await waiting
        idle = asyncio.create_task(queue.idle())
        await asyncio.sleep(0)
        assert not idle.done()
        queue.add("b")
        queue.done(key)
        await idle
        assert queue.ready == 0

    loop.run_until_complete(scenario())


def test_handing_back_what_was_not_taken_is_a_bug_and_says_so(loop: VirtualLoop) -> None:
    with pytest.raises(ValueError, match="'a' is not in work"):
        queue_on(loop).done("a")


def test_outdated_delays_do_not_pile_up(loop: VirtualLoop) -> None:
    queue = queue_on(loop)
    for _ in range(10_000):
        queue.add_after("a", 600)
        queue.add("a")
        take_and_finish(loop, queue)
    assert len(queue._heap) < 100


KEYS = st.sampled_from(["a", "b", "c", "d"])
RESTS = st.sampled_from([0.0, 0.0, 3.0, 7.0])


class QueueMachine(RuleBasedStateMachine):
    """Producers and workers do what they like; a model remembers only what is owed.

    `owed[key]` is the latest moment by which the key must have become ready for a take that starts after it was asked
    for: asked for at once means now, a delay means its end, and a rest may postpone either. `firm[key]` is the
    same for what was asked for at normal priority, which must be ready at that priority.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.queue: Queue[str] = Queue(loop=self.loop, random=Random(0), backoff=Exponential(1.0).at_most(8.0))
        self.owed: dict[str, float] = {}
        self.firm: dict[str, float] = {}
        self.in_work: set[str] = set()
        self.rested: dict[str, float] = {}
        self.failures: dict[str, int] = {}

    def owe(self, key: str, by: float, priority: Priority = Priority.NORMAL) -> None:
        self.owed[key] = min(by, self.owed.get(key, by))
        if priority is Priority.NORMAL:
            self.firm[key] = min(by, self.firm.get(key, by))

    def allowed_at(self, key: str) -> float:
        return self.rested.get(key, 0.0)

    @rule(key=KEYS, priority=st.sampled_from(Priority))
    def something_changes(self, key: str, priority: Priority) -> None:
        self.queue.add(key, priority=priority)
        self.owe(key, self.loop.time(), priority)

    @rule(key=KEYS, seconds=st.sampled_from([0.0, 0.5, 2.0, 10.0]), priority=st.sampled_from(Priority))
    def a_delay_is_asked_for(self, key: str, seconds: float, priority: Priority) -> None:
        self.queue.add_after(key, seconds, priority=priority)
        self.owe(key, self.loop.time() + seconds, priority)

    @rule(key=KEYS)
    def it_fails(self, key: str) -> None:
        self.failures[key] = self.failures.get(key, 0) + 1
        delay = self.queue.retry(key)
        assert delay == min(2.0 ** (self.failures[key] - 1), 8.0)
        self.owe(key, self.loop.time() + delay)

    @rule(key=KEYS)
    def it_succeeds(self, key: str) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @precondition(lambda self: self.queue.ready)
    @rule()
    def a_worker_takes_a_key(self) -> None:
        key = self.loop.run_until_complete(self.queue.take())
        now = self.loop.time()
        assert key not in self.in_work, "one key in two hands"
        assert key in self.owed, "nobody asked for this"
        assert now >= self.allowed_at(key) - 1e-6, "before its rest was over"
        del self.owed[key]
        self.firm.pop(key, None)
        self.in_work.add(key)

    @rule()
    def a_worker_gives_up_waiting(self) -> None:
        async def impatient() -> None:
            task = asyncio.ensure_future(self.queue.take())
            if self.queue.ready:  # it would get one: do not start
                task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.loop.run_until_complete(impatient())

    @precondition(lambda self: self.in_work)
    @rule(data=st.data(), rest=RESTS)
    def a_worker_hands_a_key_back(self, data: st.DataObject, rest: float) -> None:
        key = data.draw(st.sampled_from(sorted(self.in_work)))
        self.queue.done(key, rest=rest)
        self.rested[key] = self.loop.time() + rest
        self.in_work.discard(key)

    @rule(seconds=st.sampled_from([0.25, 1.0, 4.0, 20.0]))
    def time_passes(self, seconds: float) -> None:
        self.loop.advance(seconds)

    @invariant()
    def what_is_owed_is_ready_in_time(self) -> None:
        now = self.loop.time()
        low, normal = self.queue._lines
        for key, by in self.owed.items():
            if key not in self.in_work and max(by, self.allowed_at(key)) < now - 1e-6:
                assert key in low or key in normal, f"{key} was owed by {by}, it is {now}"
        for key, by in self.firm.items():
            if key not in self.in_work and max(by, self.allowed_at(key)) < now - 1e-6:
                assert key in normal, f"{key} was promised by {by}, it is {now}"

    @invariant()
    def every_debt_is_remembered_exactly_once(self) -> None:
        low, normal = self.queue._lines
        for key in "abcd":
            places = [key in low, key in normal, key in self.queue._again]
            due = self.queue._due.get(key)
            if due is not None and any(places):
                assert due.priority is Priority.NORMAL, "only a promise is kept beside a place in a line"
                assert key not in normal
            assert sum(places) <= 1
            assert (any(places) or due is not None) == (key in self.owed), f"{key}: owed {self.owed.get(key)}"

    @invariant()
    def the_queue_knows_what_is_in_work(self) -> None:
        assert set(self.queue.working) == self.in_work

    def teardown(self) -> None:
        for key in self.in_work:
            self.queue.done(key)
        self.in_work.clear()
        self.loop.advance(60)
        while self.queue.ready:
            key = self.loop.run_until_complete(self.queue.take())
            del self.owed[key]
            self.queue.done(key)
        assert not self.owed, "some changes were lost"
        self.loop.close()


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(examples(80), stateful_step_count=40)
