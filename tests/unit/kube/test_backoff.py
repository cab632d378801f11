"""Backoffs: each number that is promised, and that composing them keeps it."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.backoff import CONFLICT, RECONCILE, Backoff, Constant, Exponential


def delays(policy: Backoff, count: int) -> list[float]:
    return [policy.delay(failures, Random(0)) for failures in range(1, count + 1)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Constant(2), [2, 2, 2, 2, 2]),
        (Exponential(1), [1, 2, 4, 8, 16]),
        (Exponential(1, factor=3).at_most(10), [1, 3, 9, 10, 10]),
        (Constant(1) + Exponential(1), [2, 3, 5, 9, 17]),
        (Constant(0.1).times(2).then(Exponential(1)), [0.1, 0.1, 1, 2, 4]),
    ],
)
def test_each_policy_gives_the_delays_it_is_written_as(policy: Backoff, expected: list[float]) -> None:
    assert delays(policy, 5) == expected


@given(failures=st.integers(1, 5000), seed=st.integers())
def test_jitter_only_lengthens_and_never_beyond_its_fraction(failures: int, seed: int) -> None:
    plain = Exponential(0.005).at_most(300)
    assert plain.delay(failures, Random()) <= plain.jittered(0.2).delay(failures, Random(seed))
    assert plain.jittered(0.2).delay(failures, Random(seed)) <= 1.2 * plain.delay(failures, Random())


@pytest.mark.parametrize("policy", [RECONCILE, CONFLICT])
def test_a_key_that_failed_ten_thousand_times_still_gets_a_finite_delay(policy: Backoff) -> None:
    assert policy.delay(10_000, Random(0)) <= 360


def test_reconciles_are_first_repeated_after_five_milliseconds() -> None:
    assert 0.005 <= RECONCILE.delay(1, Random(0)) <= 0.006
