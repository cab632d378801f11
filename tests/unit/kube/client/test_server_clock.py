"""The time by the clock of the API server."""

from datetime import UTC, datetime, timedelta

import pytest

from windlass.kube.client.server_clock import ServerClock

LOCAL = datetime(2030, 5, 5, tzinfo=UTC)
DATE = "Sun, 29 Nov 2026 09:00:00 GMT"
SERVER = datetime(2026, 11, 29, 9, tzinfo=UTC)


class Local:
    """The clock of a computer that is years off."""

    passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def now(self) -> datetime:
        return LOCAL

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def test_until_the_server_has_answered_the_local_clock_counts() -> None:
    assert ServerClock(Local()).now() == LOCAL


def test_it_goes_on_from_the_last_answer_whatever_the_local_date_is() -> None:
    local = Local()
    clock = ServerClock(local)
    clock.hear(DATE)
    local.passed = 90.5
    assert clock.now() == SERVER + timedelta(seconds=90.5)
    clock.hear("Sun, 29 Nov 2026 10:00:00 GMT")
    assert clock.now() == SERVER + timedelta(hours=1)


def test_of_the_answers_of_one_second_the_first_counts() -> None:
    local = Local()
    clock = ServerClock(local)
    clock.hear(DATE)
    local.passed = 0.9
    clock.hear(DATE)
    assert clock.now() == SERVER + timedelta(seconds=0.9)


@pytest.mark.parametrize("header", ["", "yesterday", "Sun, 29 Nov", "Sun, 99 Nov 2026 09:00:00 GMT", "9" * 10_000])
def test_what_is_no_date_changes_nothing(header: str) -> None:
    clock = ServerClock(Local())
    clock.hear(DATE)
    clock.hear(header)
    assert clock.now() == SERVER
