"""Whether a controller runs, as its Leases tell."""

from datetime import UTC, datetime, timedelta

import pytest

from windlass.api.coordination import Lease, LeaseSpec
from windlass.kube.clock import rfc3339_micro
from windlass.web.running import SLACK, Controller, Holder, Runs, alive

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
OWN, SHARED, THEIRS = Holder("home", "own"), Holder("machines", "shared"), Holder("capo", "theirs", "another provider")
CONTROLLER = Controller("Toys", (OWN, SHARED), beside=(THEIRS,))


def lease(holder: str | None, *, age: float = 1.0, seconds: int | None = 15) -> Lease:
    renewed = rfc3339_micro(NOW - timedelta(seconds=age))
    return Lease(spec=LeaseSpec(holder_identity=holder, renew_time=renewed, lease_duration_seconds=seconds))


def at(renewed: str) -> Lease:
    return Lease(spec=LeaseSpec(holder_identity="windlass_x", renew_time=renewed))


US, THEM = lease("windlass_a_1"), lease("migration-controller-7f_1")


@pytest.mark.parametrize(
    ("own", "shared", "theirs", "state", "told"),
    [
        (US, None, None, Runs.RUNS, "Toys runs"),
        (None, US, None, Runs.RUNS, "Toys runs"),
        (US, THEM, None, Runs.RUNS, "Toys runs"),
        (US, None, "forbidden", Runs.RUNS, "Toys runs"),
        (None, THEM, None, Runs.OTHER, "Toys does not run: another program holds Lease machines/shared"),
        (US, None, THEM, Runs.OTHER, "Toys idles: another provider runs and holds Lease capo/theirs"),
        (None, None, None, Runs.ABSENT, "there is no Lease home/own"),
        (None, lease(""), None, Runs.ABSENT, "there is no Lease home/own"),
        (lease(""), None, None, Runs.STOPPED, "nobody holds Lease home/own since 2026-11-29T11:59:59"),
        (lease(None), None, None, Runs.STOPPED, "nobody holds Lease home/own"),
        (lease("windlass_a_1", age=15 + SLACK - 1), None, None, Runs.RUNS, "Toys runs"),
        (lease("windlass_a_1", age=15 + SLACK + 1), None, None, Runs.STOPPED, "nobody holds Lease home/own since"),
        (lease("windlass_a_1", age=-3600), None, None, Runs.RUNS, "Toys runs"),
        ("forbidden", None, None, Runs.UNKNOWN, "whether Toys runs is unknown: forbidden"),
        (at("soon"), None, None, Runs.STOPPED, "nobody holds Lease home/own since soon"),
        (at("2026-11-29T12:00:00"), None, None, Runs.STOPPED, "nobody holds Lease home/own"),
    ],
)
def test_the_leases_tell_whether_it_runs(
    own: Lease | str | None, shared: Lease | str | None, theirs: Lease | str | None, state: Runs, told: str
) -> None:
    found = alive(CONTROLLER, {OWN: own, SHARED: shared, THEIRS: theirs}, now=NOW)
    assert found.state is state
    assert told in found.text


def test_leases_are_read_by_name_and_nothing_else() -> None:
    assert [(each.resource, each.verbs, each.namespace, each.names) for each in CONTROLLER.needs] == [
        ("leases", ("get",), None, (name,)) for name in ("own", "shared", "theirs")
    ]
