"""The versions of an update, by the history of ClusterVersion."""

import pytest

from windlass.api.config import ClusterOperator, ClusterVersion, ClusterVersionStatus, Release, UpdateHistory
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


def loaded(architecture: str) -> str:
    return f'Payload loaded version="4.16.1" image="quay.io/r@sha256:b" architecture="{architecture}"'


@pytest.mark.parametrize(
    ("desired", "message", "same_arch"),
    [
        ("", loaded("amd64"), True),
        ("", loaded("Multi"), False),
        ("Multi", loaded("amd64"), False),
        # Older operators do not tell the architecture: then it is as `oc` guesses.
        ("", 'Payload loaded version="4.16.1" image="quay.io/r@sha256:b"', False),
        ("", 'Retrieving payload failed version="4.16.2" image="b" architecture="amd64"', False),
        ("", None, False),
    ],
)
def test_another_image_of_a_version_is_a_migration_unless_its_architecture_is_known(
    desired: str, message: str | None, same_arch: bool
) -> None:
    history = [UpdateHistory(state="Completed", version="4.16.1", image=image) for image in ("b", "a")]
    accepted = PlainCondition(type="ReleaseAccepted", status="True", message=message or "")
    status = ClusterVersionStatus(
        desired=Release(version="4.16.1", image="b", architecture=desired),
        conditions=[PlainCondition(type="Progressing", status="True"), *([] if message is None else [accepted])],
        history=history,
    )
    found = Sources(
        cluster_version=ClusterVersion(metadata=ObjectMeta(name="version"), status=status),
        operators=(ClusterOperator(metadata=ObjectMeta(name="dns")),),
    )
    seen = assess(found, now=0).control_plane.versions
    assert seen is not None
    assert (seen.multi_arch, seen.same_arch) == (True, same_arch)
