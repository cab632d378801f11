"""Whose turn it is to build."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.os_build.turns import AGAIN, Queued, Turn, Turns

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


class Play:
    """Pools that build, and a clock."""

    def __init__(self, *, limit: int) -> None:
        self.building: set[str] = set()
        self.now = NOW
        self._turns = Turns(lambda: self.building, limit=limit, now=lambda: self.now)

    def ask(self, pool: str, *, since: int = 0) -> Queued | None:
        return self._turns.instantly(Turn(pool, NOW + timedelta(seconds=since)))

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_as_many_pools_build_as_may_and_the_next_one_is_told_who_does() -> None:
    play = Play(limit=2)
    assert (play.ask("b"), play.ask("a"), play.ask("c")) == (None, None, Queued(("a", "b"), 0))
    assert play.ask("a") is None, "it has its turn already"


def test_the_longest_wait_comes_first_whoever_asks_first() -> None:
    play = Play(limit=1)
    play.building = {"z"}
    assert play.ask("a-late", since=9) == Queued(("z",), 0)
    assert play.ask("z-early", since=1) == Queued(("z",), 0)
    play.building = set()
    assert play.ask("a-late", since=9) == Queued((), 1)
    assert play.ask("z-early", since=1) is None
    assert play.ask("a-late", since=9) == Queued(("z-early",), 0)


def test_a_turn_that_no_build_takes_and_a_pool_that_asks_no_more_stand_in_nobodys_way() -> None:
    play = Play(limit=1)
    assert play.ask("a") is None
    assert play.ask("b", since=1) is not None
    for _ in range(4):
        play.pass_time(AGAIN)
        found = play.ask("c", since=2)
    assert found is None, "b has not asked again, and a has not begun"


def test_builds_that_run_keep_their_turns_although_they_are_more_than_may() -> None:
    play = Play(limit=1)
    play.building = {"a", "b", "c"}
    assert play.ask("b") is None
    assert play.ask("d") == Queued(("a", "b", "c"), 0)


def test_without_a_limit_all_build() -> None:
    play = Play(limit=0)
    assert [play.ask(str(number)) for number in range(99)] == [None] * 99


@given(st.integers(1, 4), st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=60))
def test_never_more_build_than_may_and_in_the_end_all_have(limit: int, steps: list[tuple[str, bool]]) -> None:
    play, done = Play(limit=limit), set[str]()
    since = {pool: number for number, pool in enumerate("hgfedcba")}
    for pool, ends in [*steps, *(2 * [(pool, True) for pool in "abcdefgh"]) * 8]:
        if ends and pool in play.building:
            play.building.remove(pool)
            done.add(pool)
        elif pool not in done and play.ask(pool, since=since[pool]) is None:
            play.building.add(pool)
        assert len(play.building) <= limit
        play.pass_time(1)
    assert done == set("abcdefgh")


@pytest.mark.parametrize("limit", [1, 2])
def test_another_process_that_knows_only_caches_lets_no_more_build(limit: int) -> None:
    first, second = Play(limit=limit), Play(limit=limit)
    second.building = {pool for pool in "abc" if first.ask(pool) is None}
    assert second.ask("c", since=5) is not None
