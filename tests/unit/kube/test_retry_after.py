"""What a server asks to wait is read in each form that it may have, and believed up to five minutes."""

from datetime import UTC, datetime

import pytest

from windlass.kube.errors import Status, StatusDetails, api_error
from windlass.kube.retry_after import retry_after

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("30", 30.0),
        ("Mon, 23 Nov 2026 12:01:00 GMT", 60.0),
        ("Mon, 23 Nov 2026 11:00:00 GMT", 0.0),
        ("Mon, 23 Nov 2026 12:01:00 -0000", 60.0),
        ("86400", 300.0),
        ("soon", None),
        ("Mon, 23 Nov 2026 12:01:00 +9999999999999", None),
        ("Mon, 23 Nov 9999999999 12:01:00 GMT", None),
        ("9" * 400, 300.0),
        ("-1", None),
        ("²", None),
        ("", None),
        (None, None),
    ],
)
def test_a_retry_after_is_a_number_or_a_date_and_at_most_five_minutes(said: str | None, seconds: float | None) -> None:
    assert retry_after(said, now=NOW) == seconds


@pytest.mark.parametrize("seconds", [86_400, 10**400])
def test_the_api_server_too_is_believed_up_to_five_minutes(seconds: int) -> None:
    busy = api_error(Status(code=429, details=StatusDetails(retry_after_seconds=seconds)))
    assert busy.retry_after == 300
