"""Laws of durations: what is left of one that has lasted, sums, and the last of several."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.update_status.expectation.law import SHORTEST, Law, Left, largest, law_of
from windlass.update_status.times import MINUTE, SECOND

NODE = Law(mean=600, deviation=200, median=560, sigma=0.4)


@pytest.mark.parametrize(
    ("passed", "low", "middle", "high"),
    [
        (0, 335, 560, 935),
        (300, 70, 270, 640),
        (560, 29, 175, 520),
        (1200, 32, 192, 832),
        (3600, 152, 912, 3952),
    ],
)
def test_what_is_left_shrinks_until_it_is_late_and_grows_from_then_on(
    passed: float, low: float, middle: float, high: float
) -> None:
    left = NODE.left(passed)
    assert (left.low, left.middle, left.high) == pytest.approx((low, middle, high), rel=0.06)


@given(
    st.floats(1, 10_000),
    st.floats(0.15, 2),
    st.floats(0, 3_000_000),
)
def test_what_is_left_is_a_range_that_moves_smoothly(median: float, sigma: float, passed: float) -> None:
    law = Law(mean=median, deviation=median, median=median, sigma=sigma)
    left, later = law.left(passed), law.left(passed + 1)
    assert 0 <= left.low <= left.middle <= left.high
    assert all(map(math.isfinite, (left.low, left.middle, left.high)))
    assert abs(later.middle + 1 - left.middle) < 0.1 * left.middle


def test_a_law_is_that_of_its_samples_by_their_weight() -> None:
    law = law_of([(100, 1), (300, 3)])
    assert (law.mean, law.weight) == (250, 4)
    assert law.deviation == pytest.approx(86.6, abs=0.1)
    assert law.median == pytest.approx(math.exp(math.log(100) / 4 + 3 * math.log(300) / 4))


def test_samples_that_are_all_alike_leave_room_for_another() -> None:
    law = law_of([(300, 5)])
    assert (law.deviation, law.sigma) == (0, 0.15)


def test_one_after_the_other_varies_less_than_both_ranges_together() -> None:
    one = Left(low=60, middle=100, high=130, basis="one")
    both = one.after(Left(low=20, middle=50, high=90, basis="other"))
    assert both == Left(low=100, middle=150, high=200, basis="one")


def test_the_last_of_several_is_later_than_each() -> None:
    one = Left(low=60, middle=100, high=180)
    assert largest([one]) == one
    three = largest([one, one, one])
    assert one.low < three.low < one.middle < three.middle < one.high
    assert largest([one, Left(low=1, middle=5, high=9)]).middle == pytest.approx(100, rel=0.01)


def test_an_estimate_has_moments() -> None:
    found = Left(low=60, middle=90, high=1e12, basis="x").as_estimate(7 * MINUTE)
    assert (found.earliest, found.middle, found.basis) == (8 * MINUTE, 8 * MINUTE + 30 * SECOND, "x")
    assert found.latest == 7 * MINUTE + 30 * 86400 * SECOND


def test_what_goes_on_takes_a_moment_more() -> None:
    assert Law(mean=1, deviation=1, median=1, sigma=0.15).left(1).middle == SHORTEST
