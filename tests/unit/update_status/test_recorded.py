"""What `oc adm upgrade status` printed of recorded cases, byte for byte."""

from datetime import UTC, datetime

import pytest

from tests.shared import fixtures
from tests.unit.update_status.recorded import CASES
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.text import Details, render
from windlass.update_status.times import of_datetime

PRINTED = {Details.NONE: ".output", Details.ALL: ".detailed-output"}


def said(name: str, details: Details) -> str:
    path = fixtures("update_status") / f"{name}-cv.yaml"
    read = read_mock(str(path), wall=of_datetime(datetime.now(UTC)))
    report = assess(read.sources, now=read.now, wall=read.wall)
    return render(report, now=read.now, details=details)


def test_all_cases_are_here() -> None:
    there = {path.name.removesuffix("-cv.yaml") for path in fixtures("update_status").glob("*-cv.yaml")}
    assert there == set(CASES)


@pytest.mark.parametrize("details", PRINTED)
@pytest.mark.parametrize("name", CASES)
def test_the_text_is_what_oc_printed(name: str, details: Details) -> None:
    folder = fixtures("update_status")
    error = folder / f"{name}.error"
    if error.exists():
        with pytest.raises(Problem) as problem:
            said(name, details)
        assert f"error: {problem.value}\n" == error.read_text(encoding="utf-8")
    else:
        assert said(name, details) == (folder / f"{name}{PRINTED[details]}").read_text(encoding="utf-8")
