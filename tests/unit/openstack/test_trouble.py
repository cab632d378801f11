"""Failures of a cloud as people read them, and when a request that failed is sent again."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from windlass.kube.conditions import condition
from windlass.kube.errors import Failure, Unanswered
from windlass.openstack.cloud.failures import (
    CloudFailure,
    Denied,
    Doubtful,
    InConflict,
    Missing,
    NotSent,
    OverQuota,
    Rejected,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from windlass.openstack.cloud.inventory import Quota
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.instance.spec import Problem
from windlass.openstack.status import AUTHENTICATED, INSTANCE_READY, NETWORK_READY, Reason
from windlass.openstack.trouble import invalid, trouble_of, trouble_of_identity, trouble_of_problems, trouble_since

NOW = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)
KEY = "Invalid key_name provided."

FAILURES: dict[str, tuple[Failure, str, str, bool, tuple[float, float]]] = {
    "Throttled": (Throttled("network", "slow", code=429), INSTANCE_READY, "PortCreateFailed", True, (1, 300)),
    "NotSent": (NotSent("network", "slow"), INSTANCE_READY, "PortCreateFailed", True, (1, 300)),
    "Unavailable": (Unavailable("network", "down", code=503), INSTANCE_READY, "PortCreateFailed", True, (1, 300)),
    "Doubtful": (Doubtful("network", "down", code=503), INSTANCE_READY, "PortCreateFailed", True, (1, 300)),
    "Unanswered": (Unanswered("silence"), INSTANCE_READY, "PortCreateFailed", True, (1, 300)),
    "InConflict": (InConflict("network", "in use", code=409), INSTANCE_READY, "PortCreateFailed", True, (5, 300)),
    "OverQuota": (OverQuota("network", "full", code=409), INSTANCE_READY, "QuotaExceeded", True, (60, 600)),
    "Missing": (Missing("network", "no network", code=404), INSTANCE_READY, "DependencyFailed", True, (60, 600)),
    "key pair": (Rejected("compute", KEY, code=400), INSTANCE_READY, "DependencyFailed", True, (60, 600)),
    "Unauthenticated": (
        Unauthenticated("identity", "no", code=401),
        AUTHENTICATED,
        "OpenStackAuthenticationFailed",
        False,
        (300, 300),
    ),
    "Denied": (Denied("network", "policy", code=403), INSTANCE_READY, "PortCreateFailed", False, (300, 300)),
    "Rejected": (Rejected("network", "bad", code=400), INSTANCE_READY, "InvalidConfiguration", False, (600, 600)),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_class_of_failure_has_its_condition_reason_and_limits(name: str) -> None:
    failure, part, reason, by_itself, limits = FAILURES[name]
    about = trouble_of(failure, doing="create port a-0", reason=Reason.PORT_CREATE_FAILED)
    assert (about.type, about.reason, about.by_itself) == (part, reason, by_itself)
    assert (about.limits.first, about.limits.most) == limits
    assert str(failure) in about.message
    assert (about.condition.status, about.progress(NOW).status) == ("False", str(by_itself))
    assert ("Next attempt at 2026-11-23T02:00:00Z" if by_itself else "minutes") in about.progress(NOW).message


@pytest.mark.parametrize("name", FAILURES)
def test_a_person_is_told_what_to_do_where_one_can_do_something(name: str) -> None:
    remedy = {
        "Denied": "Grant the user",
        "OverQuota": "Raise the quota",
        "Unauthenticated": "Correct Secret shop/cloud",
    }.get(name, "")
    assert remedy in trouble_of(FAILURES[name][0], where="Secret shop/cloud").message


def test_the_numbers_of_a_quota_are_told_with_its_failure() -> None:
    quotas = [Quota("ports", 10, 10), Quota("cores", -1, 4), Quota("instances", 20, 7)]
    message = trouble_of(OverQuota("network", "Quota exceeded for resources: ['port']."), quotas=quotas).message
    assert "In use: 10 of 10 ports, 7 of 20 instances." in message
    assert "cores" not in message


def test_the_caller_says_which_condition_and_reason_a_failure_has() -> None:
    about = trouble_of(Unavailable("network", "down"), part=NETWORK_READY, reason=Reason.NETWORK_CREATE_FAILED)
    assert (about.type, about.reason) == (NETWORK_READY, "NetworkCreateFailed")


@pytest.mark.parametrize("name", FAILURES)
@given(age=st.floats(0, 1e6))
def test_a_delay_is_as_long_as_the_trouble_has_lasted_within_its_limits(name: str, age: float) -> None:
    about = trouble_of(FAILURES[name][0])
    wait = (about.due(NOW, since=NOW - timedelta(seconds=age)) - NOW).total_seconds()
    assert about.limits.first - 0.001 <= wait <= about.limits.most + 0.001
    assert wait == pytest.approx(min(max(age, about.limits.first), about.limits.most), abs=0.001)


def test_a_pause_that_a_service_asks_for_is_kept_up_to_five_minutes() -> None:
    for asked, kept in ((30.0, 30.0), (86_400.0, 300.0)):
        about = trouble_of(Throttled("compute", "slow", code=429, retry_after=asked))
        assert about.due(NOW, since=None) == NOW + timedelta(seconds=kept)


def test_a_request_that_was_held_at_a_gate_is_told_as_the_failure_that_closed_it() -> None:
    held = NotSent("compute", "not asked again yet", retry_after=7.0)
    held.why = OverQuota("compute", "10 of 10", code=403)
    about = trouble_of(held, doing="create server a")
    assert (about.reason, about.message) == ("QuotaExceeded", trouble_of(held.why, doing="create server a").message)
    assert about.due(NOW, since=NOW - timedelta(minutes=5)) == NOW + timedelta(seconds=7)


@pytest.mark.parametrize(("age", "wait"), [(0, 7), (5, 7), (60, 60), (3600, 300)])
def test_while_a_service_is_down_who_has_waited_for_long_waits_longer_than_the_gate(age: float, wait: float) -> None:
    held = NotSent("identity", "not asked again yet", retry_after=7.0)
    held.why = Unavailable("identity", "down", code=503)
    assert trouble_of(held).due(NOW, since=NOW - timedelta(seconds=age)) == NOW + timedelta(seconds=wait)


def test_a_service_that_is_down_for_an_hour_is_asked_some_twenty_times() -> None:
    about, at, attempts = trouble_of(Unavailable("network", "down")), NOW, 0
    while at < NOW + timedelta(hours=1):
        at, attempts = about.due(at, since=NOW), attempts + 1
    assert attempts == 21


NOTHING = Problem("Dependency", "flavor", "no flavor is named m1.none: create it, or correct spec.flavor")
WRONG = Problem("Invalid", "ports[0].network", "spec.ports[0] names no network")


@pytest.mark.parametrize(
    ("problems", "part", "reason", "by_itself"),
    [
        pytest.param([NOTHING], INSTANCE_READY, "DependencyFailed", True, id="nothing of that name"),
        pytest.param([WRONG], INSTANCE_READY, "InvalidConfiguration", False, id="a wrong field"),
        pytest.param([NOTHING, WRONG], INSTANCE_READY, "InvalidConfiguration", False, id="the wrong field wins"),
        pytest.param([Unavailable("image", "down")], INSTANCE_READY, "DependencyFailed", True, id="API error"),
        pytest.param([Rejected("image", "bad")], INSTANCE_READY, "InvalidConfiguration", False, id="a refused query"),
        pytest.param(
            [NOTHING, Unauthenticated("image", "no")], AUTHENTICATED, "OpenStackAuthenticationFailed", False, id="401"
        ),
    ],
)
def test_problems_of_resolving_are_told_together(
    problems: list[Problem | CloudFailure], part: str, reason: str, by_itself: bool
) -> None:
    about = trouble_of_problems(problems)
    assert (about.type, about.reason, about.by_itself) == (part, reason, by_itself)
    if part == INSTANCE_READY:
        assert all((each.message if isinstance(each, Problem) else str(each)) in about.message for each in problems)
        assert trouble_of_problems([*problems, *problems]) == about, "nothing is told twice"


def test_an_identity_without_credentials_is_told_as_the_provider_does() -> None:
    about = trouble_of_identity(IdentityTrouble("Secret shop/cloud does not exist: create it"))
    assert (about.type, about.reason) == (AUTHENTICATED, "OpenStackAuthenticationFailed")
    assert about.message.startswith("Failed to create OpenStack client scope: Secret shop/cloud does not exist")


def test_a_trouble_begins_when_its_condition_became_false() -> None:
    bad = condition(INSTANCE_READY, False, "R")
    assert trouble_since([bad]) is None
    assert trouble_since([replace(bad, last_transition_time="2026-11-23T02:00:00Z")]) == NOW
    assert trouble_since([replace(bad, status="Unknown", last_transition_time="2026-11-23T02:00:00Z")]) is None
    assert trouble_since([replace(bad, last_transition_time="yesterday")]) is None


def test_what_only_a_person_can_correct_waits_ten_minutes() -> None:
    assert invalid("spec.floatingIPPoolRef is not supported").due(NOW, since=NOW) == NOW + timedelta(minutes=10)


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("ports[0].groups[1]", "spec.ports[0].securityGroups[1]"),
        ("ports[0].addresses[0].subnet", "spec.ports[0].fixedIPs[0].subnet"),
        ("groups[0]", "spec.securityGroups[0]"),
        ("server_group", "spec.serverGroup"),
        ("image", "spec.image"),
    ],
)
def test_fields_are_named_as_the_object_has_them(field: str, told: str) -> None:
    about = trouble_of_problems([Problem("Dependency", field, f"nothing matches: create it, or correct `{field}`")])
    assert f"correct `{told}`" in about.message
