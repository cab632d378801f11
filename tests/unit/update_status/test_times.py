"""Moments and durations are those of Go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.update_status.times import (
    HOUR,
    MINUTE,
    SECOND,
    ZERO,
    moment,
    rfc3339,
    rfc3339_nano,
    rounded,
    short,
    since,
    text,
    truncated,
    wrapped,
)

LIMIT = 2**63 - 1


@pytest.mark.parametrize(
    ("duration", "whole", "shortened"),
    [
        (0, "0s", "now"),
        (1, "1ns", "1ns"),
        (368975, "368.975µs", "6m8s"),
        (350_500_000, "350.5ms", "5m50s"),
        (350_000_000, "350ms", "350ms"),
        (45 * SECOND, "45s", "45s"),
        (45 * SECOND + 368975, "45.000368975s", "45s"),
        (2 * MINUTE + 300_000, "2m0.0003s", "2m"),
        (24 * MINUTE, "24m0s", "24m"),
        (HOUR + 10 * SECOND, "1h0m10s", "1h0m10s"),
        (84 * MINUTE, "1h24m0s", "1h24m"),
        (2 * HOUR, "2h0m0s", "2h"),
        (-SECOND, "-1s", "-1s"),
        (LIMIT, "2562047h47m16.854775807s", "2562047h47m16s"),
    ],
)
def test_a_duration_prints_as_go_and_oc_print_it(duration: int, whole: str, shortened: str) -> None:
    assert (text(duration), short(duration)) == (whole, shortened)


@pytest.mark.parametrize(
    ("written", "read_back"),
    [
        ("2024-02-27T15:42:58Z", "2024-02-27T15:42:58Z"),
        ("2024-02-27T15:42:58.120Z", "2024-02-27T15:42:58.12Z"),
        ("2024-02-27T15:42:58.000368975Z", "2024-02-27T15:42:58.000368975Z"),
        ("2024-02-27T15:42:58+02:00", "2024-02-27T13:42:58Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        (None, "0001-01-01T00:00:00Z"),
        ("", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59-14:00", "10000-01-01T13:59:59Z"),
        ("0001-01-01T00:00:00+14:00", "0000-12-31T10:00:00Z"),
    ],
)
def test_a_moment_is_kept_to_the_nanosecond(written: str | None, read_back: str) -> None:
    assert rfc3339_nano(moment(written)) == read_back


@pytest.mark.parametrize("wrong", ["yesterday", "2024-02-30T00:00:00Z", "2024-02-27", "2024-02-27T15:42:58"])
def test_a_malformed_time_is_named(wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        moment(wrong)


def test_differences_saturate_and_sums_wrap_around() -> None:
    assert since(ZERO, moment("2024-02-27T15:42:58Z")) == LIMIT
    assert since(moment("2024-02-27T15:42:58Z"), ZERO) == -LIMIT - 1
    assert wrapped(LIMIT + 1) == -LIMIT - 1
    assert rounded(LIMIT, HOUR) == LIMIT


@pytest.mark.parametrize(
    ("duration", "nearest", "cut"),
    [(30, 60, 0), (29, 0, 0), (-30, -60, 0), (-29, 0, 0), (-90, -120, -60), (61, 60, 60)],
)
def test_rounding_is_half_away_from_zero_and_truncation_toward_it(duration: int, nearest: int, cut: int) -> None:
    assert (rounded(duration, 60), truncated(duration, 60)) == (nearest, cut)


@given(st.integers(min_value=0, max_value=9998 * 365 * 86400))
def test_a_moment_in_whole_seconds_survives_its_text(seconds: int) -> None:
    when = ZERO + seconds * SECOND
    assert moment(rfc3339(when)) == when
