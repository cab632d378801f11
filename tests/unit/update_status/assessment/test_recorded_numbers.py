"""The intermediate numbers of recorded cases, as `oc` computed them."""

import pytest

from tests.shared import fixtures
from windlass.update_status.assessment import assess
from windlass.update_status.estimate import progress
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.times import MINUTE, SECOND, rfc3339, since, text, truncated

REBOOTS = "4.14.1-workers-started-updating-multiple-pools"
SLOW = "4.15.0-ec2-unavailable-mco-20m"


@pytest.mark.parametrize(
    ("name", "now", "updated", "passed", "to_last_progress", "baseline", "estimate"),
    [
        ("4.14.1-degraded", "2023-11-03T17:26:54Z", (32, 33), "1h58m50s", "54m9s", "1h0m0s", -2060),
        (REBOOTS, "2024-02-07T16:45:07Z", (32, 33), "14m4s", "12m54s", "1h0m0s", 318),
        ("4.15.0-ec2-early", "2023-11-21T15:04:15Z", (1, 33), "1m29s", "1m29s", "1h12m22s", 5103),
        (SLOW, "2023-11-24T15:48:28Z", (32, 33), "58m53s", "37m33s", "1h0m0s", -252),
        ("4.16.0-single-node", "2024-08-05T16:00:26Z", (2, 33), "2m54s", "2m54s", "1h0m0s", 4111),
    ],
)
def test_the_numbers_of_a_recorded_update(
    name: str,
    now: str,
    updated: tuple[int, int],
    passed: str,
    to_last_progress: str,
    baseline: str,
    estimate: int,
) -> None:
    read = read_mock(str(fixtures("update_status") / f"{name}-cv.yaml"), wall=0)
    plane = assess(read.sources, now=read.now).control_plane
    last = read.now if plane.last_progress is None else plane.last_progress
    assert rfc3339(read.now) == now
    assert read.now % SECOND == 368975
    assert (plane.updated, len(plane.operators)) == updated
    assert text(truncated(since(plane.started, read.now), SECOND)) == passed
    assert text(truncated(since(plane.started, last), SECOND)) == to_last_progress
    assert text(plane.baseline) == baseline
    found = progress(plane, read.now).estimate
    assert found == (estimate * SECOND if estimate < 10 * 60 else (estimate + 30) // 60 * MINUTE)
