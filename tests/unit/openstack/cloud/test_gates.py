"""When a service may be asked, and when a quota may be tried."""

from datetime import UTC, datetime, timedelta

import pytest

from windlass.openstack.cloud.failures import (
    CloudFailure,
    Denied,
    Doubtful,
    Missing,
    NotSent,
    OverQuota,
    Rejected,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from windlass.openstack.cloud.gates import Gates, quota_gate
from windlass.openstack.cloud.wire import Http, Service

START = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
DOWN = Unavailable("compute", "no answer")
FULL = OverQuota("compute", "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances", code=403)


def asked(service: Service = "compute", path: str = "/servers") -> Http:
    return Http(service, "GET", path)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def admits(gates: Gates, seconds: float, *, creates: bool = False, service: Service = "compute") -> bool:
    try:
        gates.admit(asked(service), after(seconds), creates=creates)
    except NotSent:
        return False
    return True


def pauses(failure: CloudFailure, attempts: int, *, creates: bool = False) -> list[float]:
    """How long the gate stays closed if every attempt, made as soon as it may be, ends with `failure`."""
    gates, seconds, found = Gates(), 0.0, []
    for _ in range(attempts):
        gates.admit(asked(), after(seconds), creates=creates)
        gates.settle(asked(), failure, after(seconds), creates=creates)
        [closed] = gates.closed(after(seconds)).values()
        found.append((closed.until - after(seconds)).total_seconds())
        seconds += found[-1]
    return found


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (DOWN, [1, 2, 4, 8, 15, 15]),
        (Unavailable("compute", "later", code=503, retry_after=40.0), [40, 40]),
        (Unavailable("compute", "bad gateway", code=502), [1, 2, 4]),
        (Doubtful("compute", "no answer in 30 s"), [1, 2, 4]),
        (Throttled("compute", "slow down", code=429), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        (Throttled("compute", "slow down", code=429, retry_after=30.0), [30, 30, 30, 30, 30, 32]),
        (FULL, [60, 120, 240, 480, 600, 600]),
        (Unauthenticated("identity", "wrong password", code=401), [300, 300]),
        (Unauthenticated("compute", "unknown token", code=401), [1, 2, 4]),
        (Unavailable("identity", "Keystone does not answer"), [1, 2, 4, 8, 15, 15]),
        (Throttled("identity", "slow down", code=429, retry_after=5.0), [5, 5, 5, 8]),
    ],
    ids=lambda value: f"{value.service} {type(value).__name__}" if isinstance(value, CloudFailure) else "",
)
def test_pauses_grow_with_each_failure_in_a_row(failure: CloudFailure, expected: list[float]) -> None:
    assert pauses(failure, len(expected), creates=isinstance(failure, OverQuota)) == expected


@pytest.mark.parametrize(
    "failure",
    [
        Rejected("compute", "no such flavor", code=400),
        Denied("compute", "not your role", code=403),
        Missing("compute", "no such server", code=404),
        Unavailable("compute", "a bug", code=500),
        None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_answer_about_one_request_closes_no_gate(failure: CloudFailure | None) -> None:
    gates = Gates()
    gates.settle(asked(), failure, START, creates=True)
    assert gates.closed(START) == {}
    assert admits(gates, 0)


def test_after_429_with_retry_after_nothing_is_sent_to_the_service_until_then() -> None:
    gates = Gates()
    gates.settle(asked(), Throttled("compute", "slow down", code=429, retry_after=30.0), START)
    assert not admits(gates, 29.9)
    assert admits(gates, 0, service="network")
    with pytest.raises(NotSent, match="slow down") as refused:
        gates.admit(asked(), after(10))
    assert refused.value.retry_after == 20.0
    assert admits(gates, 30)


def test_when_a_gate_opens_one_request_tries_and_the_others_wait_for_its_answer() -> None:
    gates = Gates()
    gates.settle(asked(), DOWN, START)
    assert [admits(gates, 1), admits(gates, 1), admits(gates, 2)] == [True, False, False]
    gates.settle(asked(), None, after(3))
    assert [admits(gates, 3), admits(gates, 3)] == [True, True]


def test_a_request_that_tries_and_never_ends_is_followed_by_another_one() -> None:
    gates = Gates()
    gates.settle(asked(), DOWN, START)
    assert [admits(gates, 1), admits(gates, 30.9), admits(gates, 31)] == [True, False, True]


def test_requests_that_fail_together_count_as_one_failure() -> None:
    gates = Gates()
    for _ in range(10):
        gates.settle(asked(), Throttled("compute", "slow down", code=429, retry_after=0.0), START)
    assert not admits(gates, 0.9)
    assert admits(gates, 1)


def test_a_shorter_pause_does_not_cut_a_longer_one() -> None:
    gates = Gates()
    gates.settle(asked(), Throttled("compute", "slow down", code=429, retry_after=30.0), START)
    gates.settle(asked(), DOWN, after(1))
    assert not admits(gates, 29)


def test_the_answer_to_an_earlier_request_does_not_open_a_gate() -> None:
    gates = Gates()
    gates.settle(asked(), Throttled("compute", "slow down", code=429, retry_after=30.0), START)
    gates.settle(asked(), None, after(1))
    assert not admits(gates, 29)


def test_a_full_quota_stops_what_creates_and_nothing_else() -> None:
    gates = Gates()
    gates.settle(asked(), FULL, START, creates=True)
    assert list(gates.closed(START)) == ["quota:compute/servers"]
    assert [admits(gates, 1, creates=True), admits(gates, 1), admits(gates, 1)] == [False, True, True]
    gates.settle(asked(path="/servers/s-1"), None, after(2))  # a read, which has no gate of its own
    assert set(gates.gates) == {"identity", "compute", "quota:compute/servers"}
    assert not admits(gates, 3, creates=True)
    assert [admits(gates, 60, creates=True), admits(gates, 60, creates=True)] == [True, False]
    gates.settle(asked(), None, after(61), creates=True)
    assert [admits(gates, 61, creates=True), admits(gates, 61, creates=True)] == [True, True]


def test_a_full_quota_stops_only_what_it_counts() -> None:
    gates, full = Gates(), OverQuota("network", "Quota exceeded for resources: ['router'].", code=409)
    router, port = asked("network", "/v2.0/routers"), asked("network", "/v2.0/ports")
    gates.settle(router, full, START, creates=True)
    gates.admit(port, after(1), creates=True)
    with pytest.raises(NotSent):
        gates.admit(router, after(1), creates=True)
    gates.settle(port, None, after(2), creates=True)
    with pytest.raises(NotSent):
        gates.admit(router, after(3), creates=True)
    assert quota_gate(asked("load-balancer", "/v2.0/lbaas/pools/p-1/members")) == "quota:load-balancer/members"


def test_one_request_tries_wrong_credentials_again_and_success_opens_all_services() -> None:
    gates = Gates()
    gates.settle(asked(), Unauthenticated("identity", "wrong password", code=401), START)
    assert not admits(gates, 299, service="network")
    assert admits(gates, 300, service="network")
    gates.settle(asked("network"), None, after(301))
    assert [admits(gates, 301), admits(gates, 301, service="network")] == [True, True]
