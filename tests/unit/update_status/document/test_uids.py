"""The same thing keeps its uid, and two things never share one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from windlass.api.update_insights import LABEL
from windlass.update_status.document.uids import health_uids, uid
from windlass.update_status.report import Impact, Insight, Level, Reference
from windlass.update_status.times import MINUTE, moment

STARTED = moment("2026-01-02T12:00:00Z")
ALERT = Insight(
    level=Level.WARNING,
    impact=Impact.UNKNOWN,
    summary="Alert is firing: 93 % full",
    description="",
    reference="https://runbook",
    started=STARTED,
    resources=(Reference("config.openshift.io", "alerts", "DiskFull", "openshift-etcd"),),
)
OPERATOR = structs.replace(ALERT, resources=(Reference("config.openshift.io", "clusteroperators", "etcd"),))


@pytest.mark.parametrize("name", ["etcd", "n" * 58, "a-b"])
def test_a_name_that_fits_is_kept(name: str) -> None:
    assert uid("node", name) == f"node-{name}"


@given(st.text(max_size=300))
def test_any_name_becomes_a_label(name: str) -> None:
    found = uid("node", name)
    assert len(found) <= 63
    assert re.fullmatch(LABEL, found)


@pytest.mark.parametrize(("one", "other"), [("a.b", "a-b"), ("n" * 252 + "a", "n" * 252 + "b"), ("A", "a")])
def test_names_that_look_alike_as_labels_differ(one: str, other: str) -> None:
    assert uid("node", one) != uid("node", other)


def test_texts_levels_and_starts_that_change_do_not_change_what_it_is() -> None:
    later = structs.replace(
        OPERATOR, summary="down for 5 min", description="x", level=Level.ERROR, started=STARTED + MINUTE
    )
    assert health_uids([OPERATOR]) == health_uids([later])


@pytest.mark.parametrize(
    "other",
    [
        structs.replace(OPERATOR, impact=Impact.API_AVAILABILITY),
        structs.replace(OPERATOR, reference="https://other"),
        structs.replace(OPERATOR, pool="worker"),
        structs.replace(OPERATOR, resources=(Reference("config.openshift.io", "clusteroperators", "dns"),)),
    ],
)
def test_another_thing_has_another_uid(other: Insight) -> None:
    assert health_uids([OPERATOR]) != health_uids([other])


def test_an_alert_keeps_its_uid_when_an_older_one_of_its_name_ends() -> None:
    newer = structs.replace(ALERT, started=STARTED + MINUTE)
    assert health_uids([ALERT, newer])[1:] == health_uids([newer])


def test_insights_that_are_alike_are_numbered() -> None:
    first, second = health_uids([OPERATOR, OPERATOR])
    assert second == f"{first}-1"
