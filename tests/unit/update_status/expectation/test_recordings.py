"""What is told of the end in recordings of real clusters, which nobody here made."""

from pathlib import Path

import pytest

from bench.recorded_updates import looks, recordings
from tests.shared import fixtures


@pytest.fixture(params=[path.name for path in recordings()] or [""])
def recording(request: pytest.FixtureRequest) -> Path:
    name: str = request.param
    return fixtures("update_recordings") / name


def test_no_look_at_an_installation_names_an_end(recording: Path) -> None:
    found = looks(recording, as_update=False)
    assert len(found) > 30
    assert [look for look in found if look.told is not None] == []


def test_seen_as_an_update_fewer_than_a_third_of_the_looks_name_an_end_that_is_too_early(recording: Path) -> None:
    found = looks(recording, as_update=True)
    assert all(look.told is not None for look in found)
    assert sum(look.early for look in found) < len(found) / 3
