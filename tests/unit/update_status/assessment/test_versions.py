"""The versions of an update, by the history of ClusterVersion."""

import pytest

from windlass.api.config import ClusterOperator, ClusterVersion, ClusterVersionStatus, UpdateHistory
from windlass.api.meta import ObjectMeta, PlainCondition
from windlass.update_status.assessment import assess
from windlass.update_status.report import Versions
from windlass.update_status.sources import Sources


def versions(*history: str) -> Versions | None:
    """Those of a history, newest first; a version that ends in `?` was never completed."""
    items = [
        UpdateHistory(state="Partial" if item.endswith("?") else "Completed", version=item.rstrip("?"))
        for item in history
    ]
    status = ClusterVersionStatus(conditions=[PlainCondition(type="Progressing", status="True")], history=items)
    found = Sources(
        cluster_version=ClusterVersion(metadata=ObjectMeta(name="version"), status=status),
        operators=(ClusterOperator(metadata=ObjectMeta(name="dns")),),
    )
    return assess(found, now=0).control_plane.versions


@pytest.mark.parametrize(
    ("history", "incomplete", "unfinished", "completed"),
    [
        (["4.16.1?", "4.16.0"], False, (), "4.16.0"),
        (["4.16.2?", "4.16.1?", "4.16.0", "4.15.0?", "4.14.0"], True, ("4.16.1",), "4.16.0"),
        (["4.16.3?", "4.16.2?", "4.16.1?", "4.16.0"], True, ("4.16.2", "4.16.1"), "4.16.0"),
        (["4.16.1?", "4.16.0?"], True, ("4.16.0",), None),
        (["4.16.1?"], False, (), None),
    ],
)
def test_updates_that_were_never_completed(
    history: list[str], incomplete: bool, unfinished: tuple[str, ...], completed: str | None
) -> None:
    found = versions(*history)
    assert found is not None
    assert (found.incomplete, found.unfinished, found.completed) == (incomplete, unfinished, completed)


@pytest.mark.parametrize(
    ("history", "rollback"),
    [
        (["4.16.1?", "4.16.0"], False),
        (["4.16.0?", "4.16.1"], True),
        (["4.16.0?", "4.16.1?", "4.16.0"], True),
        (["4.16.0?", "4.16.0"], False),
        (["4.16.0?"], False),
        (["4.16.0?", ""], False),
    ],
)
def test_an_update_to_an_older_version_is_a_rollback(history: list[str], rollback: bool) -> None:
    found = versions(*history)
    assert found is not None
    assert found.rollback is rollback
