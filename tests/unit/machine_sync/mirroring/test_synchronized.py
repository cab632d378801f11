"""The one status write, and the condition that it carries."""

from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.control.executor import event_name
from windlass.kube.control.plan import Done, Emit, Merge, Plan, Retry, Target, target
from windlass.kube.control.seen import Absent, Present, seen
from windlass.kube.object import Object
from windlass.machine_sync.mirroring.synchronized import (
    MESSAGE_LIMIT,
    Fault,
    Verdict,
    authority,
    failed,
    fill_authority,
    status_write,
    verdict_write,
)

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
OK, BAD, GOING = Verdict(True, "R", "m"), Verdict(False, "R", "m"), Verdict(None, "R", "m")


def machine(status: Any = None, *, spec: str = "ClusterAPI") -> Present[mapi.Machine]:
    tree = {
        "metadata": {"name": "w", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"authoritativeAPI": spec},
        **({"status": status} if status is not None else {}),
    }
    found = seen(Object.of(mapi.Machine, tree))
    assert isinstance(found, Present)
    return found


def patch(write: Merge) -> dict[str, Any]:
    status: dict[str, Any] = write.patch["status"]
    return status


@pytest.mark.parametrize(
    ("verdict", "status", "severity"), [(OK, "True", None), (BAD, "False", "Error"), (GOING, "Unknown", "Info")]
)
def test_severity_follows_status(verdict: Verdict, status: str, severity: str | None) -> None:
    assert (verdict.condition["status"], verdict.condition.get("severity")) == (status, severity)


def test_a_message_is_never_longer_than_a_condition_admits() -> None:
    """An API server that refuses an object may quote all of it."""
    long = Verdict(False, "R", "spec: Invalid value: " + "word " * 10_000)
    message = long.condition["message"]
    assert len(message) <= MESSAGE_LIMIT
    assert message.endswith("more characters)")
    said = verdict_write(machine({}), long, now=NOW).desired["status"]
    assert not verdict_write(machine(dict(said)), long, now=NOW).needed


@pytest.mark.parametrize(
    ("generation", "noted", "written"), [(5, None, 5), (5, 4, 5), (5, 5, None), (5, 9, 5), (None, 4, None)]
)
def test_the_generation_is_set_by_success_alone_and_is_that_of_the_source(
    generation: int | None, noted: int | None, written: int | None
) -> None:
    status = {"authoritativeAPI": "ClusterAPI", **({"synchronizedGeneration": noted} if noted else {})}
    write = status_write(machine(status), None, verdict=OK, generation=generation, now=NOW)
    assert patch(write).get("synchronizedGeneration") == written


def test_a_whole_status_replaces_all_but_what_conversion_does_not_decide() -> None:
    kept = {
        "lastOperation": {"type": "Create"},
        "authoritativeAPI": "ClusterAPI",
        "synchronizedAPI": "ClusterAPI",
        "synchronizedGeneration": 3,
        "conditions": [{"type": "Paused", "status": "True"}],
    }
    found = machine({**kept, "phase": "Running", "errorMessage": "old"})
    write = status_write(found, {"phase": "Failed"}, verdict=OK, generation=3, now=NOW)
    said = write.desired["status"]
    assert {key: said[key] for key in kept if key != "conditions"} == {
        k: v for k, v in kept.items() if k != "conditions"
    }
    assert [condition["type"] for condition in said["conditions"]] == ["Paused", "Synchronized"]
    assert (said["phase"], "errorMessage" in said) == ("Failed", False)


def test_nothing_is_sent_when_nothing_changed() -> None:
    first = verdict_write(machine({"authoritativeAPI": "ClusterAPI"}), BAD, now=NOW)
    again = verdict_write(machine(dict(first.desired["status"])), BAD, now=datetime(2027, 1, 1, tzinfo=UTC))
    assert not again.needed


@pytest.mark.parametrize(
    ("status", "spec", "who"),
    [({"authoritativeAPI": "Migrating"}, "MachineAPI", "Migrating"), ({}, "MachineAPI", "MachineAPI"), (None, "", "")],
)
def test_who_is_authoritative(status: Any, spec: str, who: str) -> None:
    assert authority(machine(status, spec=spec).object) == who


def test_an_empty_authority_is_filled_once() -> None:
    plan = fill_authority(machine(), "")
    (write,) = plan.needed
    assert isinstance(write, Merge)
    assert write.patch == {"status": {"authoritativeAPI": "ClusterAPI"}}
    assert fill_authority(machine({"authoritativeAPI": "MachineAPI"}), "filled").next == Done("filled")


@pytest.mark.parametrize(("retry", "reason"), [(True, "SynchronizationWarning"), (False, "SynchronizationError")])
def test_a_failure_is_a_condition_and_an_event_where_there_is_an_object_to_bear_them(retry: bool, reason: str) -> None:
    found = machine()
    plan = failed(Fault("R", "m", retry=retry, remedy="Do this."), found, source=None, now=NOW)
    event, write = plan.needed
    assert isinstance(event, Emit)
    assert (event.type, event.reason, event.note, event.target) == ("Warning", reason, "m. Do this.", target(found))
    assert isinstance(write, Merge)
    assert write.desired["status"]["conditions"][0]["message"] == "m"
    assert plan.next == (Retry("m") if retry else Done())


def test_what_fails_the_same_way_after_it_had_healed_is_another_event() -> None:
    def event_after(well_since: str) -> str:
        well = [{"type": "Synchronized", "status": "True", "reason": "R", "lastTransitionTime": well_since}]
        event, _ = failed(Fault("R", "m"), machine({"conditions": well}), source=None, now=NOW).needed
        assert isinstance(event, Emit)
        return event_name(event)

    assert event_after("2026-05-01T10:00:00Z") == event_after("2026-05-01T10:00:00Z")
    assert event_after("2026-05-01T10:00:00Z") != event_after("2026-05-01T11:00:00Z")


def test_a_failure_that_was_said_is_not_said_again() -> None:
    fault = Fault("R", "m", retry=False)
    said = failed(fault, machine(), source=None, now=NOW).needed[-1]
    assert isinstance(said, Merge)
    again = failed(fault, machine(said.desired["status"]), source=None, now=NOW)
    assert again == Plan.nothing("m")


@pytest.mark.parametrize(("retry", "reason"), [(True, "SynchronizationWarning"), (False, "SynchronizationError")])
def test_without_one_it_is_an_event_about_the_source(retry: bool, reason: str) -> None:
    source = Target(capi.Machine, "w", "n", "u")
    plan = failed(Fault("R", "m", retry=retry), Absent(confirmed=True), source=source, now=NOW)
    (event,) = plan.actions
    assert isinstance(event, Emit)
    assert (event.type, event.reason, event.note, event.target) == ("Warning", reason, "m", source)
    assert plan.next == (Retry("m") if retry else Done())


def test_without_either_it_is_told_to_whoever_asks() -> None:
    assert failed(Fault("R", "m", retry=False), Absent(), source=None, now=NOW).next == Done("m")
