"""The order of versions."""

import itertools

import pytest

from windlass.update_status.semver import is_older

ORDERED = [
    "4.9.11",
    "4.14.0-0.nightly-2024-08-01-082745",
    "4.14.0-ec.2",
    "4.14.0-ec.10",
    "4.14.0-rc",
    "4.14.0-rc.0",
    "4.14.0-rc.0.1",
    "4.14.0",
    "4.14.2",
    "4.14.10",
    "4.15.0-ec.0",
    "5.0.0",
]


def test_versions_are_ordered_by_semantic_versioning() -> None:
    for (one, older), (other, newer) in itertools.product(enumerate(ORDERED), repeat=2):
        assert is_older(older, newer) is (one < other), (older, newer)


def test_what_a_build_adds_does_not_count() -> None:
    assert not is_older("4.14.0+a", "4.14.0+b")
    assert not is_older("4.14.0", "4.14.0+b")


@pytest.mark.parametrize("text", ["", "unknown", "4.14", "4.14.0-", "v4.14.0", "4.14.0\n", f"4.{'9' * 5000}.0"])
def test_another_text_is_neither_older_nor_newer(text: str) -> None:
    assert not is_older(text, "4.14.0")
    assert not is_older("4.14.0", text)
