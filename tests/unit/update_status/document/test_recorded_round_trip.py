"""Recorded updates are drawn from the object as from the cluster."""

import pytest

from tests.shared import fixtures
from tests.unit.update_status.recorded import CASES
from windlass.update_status.assessment import assess
from windlass.update_status.document import read, write
from windlass.update_status.document.validity import trouble
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.text import Details, render
from windlass.update_status.times import moment


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("v-error")])
def test_every_text_is_the_same(name: str) -> None:
    mock = read_mock(str(fixtures("update_status") / f"{name}-cv.yaml"), wall=moment("2026-01-01T00:00:00Z"))
    report = assess(mock.sources, now=mock.now, wall=mock.wall)
    status = write(report, now=mock.now)
    assert trouble(status) == ""
    assert {one.type: one.status for one in status.conditions}["Truncated"] == "False"
    again = read(status, now=mock.now)
    for details in Details:
        assert render(again, now=mock.now, details=details) == render(report, now=mock.now, details=details)
