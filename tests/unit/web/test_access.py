"""How long sessions last."""

import pytest

from windlass.kube.process.guard import Ruling
from windlass.web import access
from windlass.web.access import IDLE, LONGEST, MOST_OF_ONE, Sessions, best_of


class Watch:
    """A clock that stands where the test puts it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def sessions(watch: Watch) -> Sessions:
    return Sessions(watch)  # type: ignore[arg-type]


def test_a_session_is_found_by_its_number_alone(sessions: Sessions) -> None:
    number = sessions.open("ann", "t0ken")
    found = sessions.use(number)
    assert found is not None
    assert (found.user, found.token) == ("ann", "t0ken")
    assert sessions.use("") is None
    assert sessions.use(number[:-1]) is None
    assert "t0ken" not in repr(found)


def test_it_ends_when_it_is_not_used(sessions: Sessions, watch: Watch) -> None:
    number = sessions.open("ann", "t")
    watch.seconds = IDLE - 1
    assert sessions.use(number)
    watch.seconds += IDLE
    assert sessions.use(number) is None
    assert len(sessions) == 0


def test_it_ends_in_the_end_however_much_it_is_used(sessions: Sessions, watch: Watch) -> None:
    number = sessions.open("ann", "t")
    while watch.seconds + IDLE / 2 < LONGEST:
        watch.seconds += IDLE / 2
        assert sessions.use(number)
    watch.seconds = LONGEST
    assert sessions.use(number) is None


def test_a_closed_one_is_gone(sessions: Sessions) -> None:
    number = sessions.open("ann", "t")
    sessions.close(number)
    sessions.close(number)
    assert sessions.use(number) is None


def test_one_user_has_the_newest_sessions_and_ends_nobody_elses(sessions: Sessions) -> None:
    ann = sessions.open("ann", "t")
    bob = [sessions.open("bob", "t") for _ in range(MOST_OF_ONE + 3)]
    assert sessions.use(ann)
    assert [bool(sessions.use(number)) for number in bob] == 3 * [False] + MOST_OF_ONE * [True]


@pytest.mark.parametrize(
    ("found", "told"), [([403, 200], 200), ([403, 429], 429), ([500, 403], 500), ([403, 403], 403), ([429, 401], 401)]
)
def test_a_right_that_could_not_be_checked_is_not_called_missing(found: list[int], told: int) -> None:
    assert best_of([Ruling(status) for status in found]).status == told


def test_the_one_that_was_not_used_for_the_longest_time_makes_room(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MOST", 2)
    first, second = sessions.open("a", "1"), sessions.open("b", "2")
    sessions.use(first)
    third = sessions.open("c", "3")
    assert [bool(sessions.use(number)) for number in (first, second, third)] == [True, False, True]
