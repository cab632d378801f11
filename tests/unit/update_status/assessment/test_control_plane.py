"""The control plane, rule by rule."""

import pytest

from windlass.api.config import ClusterOperator, UpdateHistory
from windlass.api.meta import PlainCondition
from windlass.update_status.assessment.control_plane import Problem, assess_control_plane
from windlass.update_status.report import ControlPlane, Health, Operator, State
from windlass.update_status.sources import Sources, Unknown
from windlass.update_status.times import HOUR, MINUTE, ZERO

from .objects import (
    BEGUN,
    INSTALLED,
    OF_THE_RELEASE,
    PREVIOUS,
    START,
    TARGET,
    UPDATED_BEFORE,
    after,
    cluster_version,
    item,
    operator,
    said,
    sources,
)


def assessed(found: Sources) -> ControlPlane:
    plane, gaps = assess_control_plane(found)
    assert gaps == []
    return plane


def only(plane: ControlPlane) -> Operator:
    (one,) = plane.operators
    return one


def test_there_is_no_report_without_operators() -> None:
    nothing = Sources(cluster_version=cluster_version(), operators=())
    with pytest.raises(Problem, match=r"^no cluster operator information available - you must be connected to an "):
        assess_control_plane(nothing)


def test_there_is_no_report_without_the_condition_progressing() -> None:
    found = sources(version=cluster_version(said("Failing", "False")))
    with pytest.raises(Problem, match=r"^no current Progressing info, see `oc describe clusterversion` for more det"):
        assess_control_plane(found)


def test_of_conditions_of_the_cluster_version_the_first_of_a_type_counts() -> None:
    version = cluster_version(said("Progressing", "False", 1), said("Progressing", "True", 2))
    assert assessed(sources(version=version)).updating == "False"


@pytest.mark.parametrize(
    ("annotations", "counts"),
    [
        (OF_THE_RELEASE, True),
        ({"exclude.release.openshift.io/internal-openshift-hosted": "true"}, True),
        ({"include.release.openshift.io/x": ""}, True),
        ({"include.release.openshift.io": "true"}, False),
        ({"x.include.release.openshift.io/x": "true"}, False),
        ({}, False),
    ],
)
def test_only_operators_of_the_release_count(annotations: dict[str, str], counts: bool) -> None:
    assert bool(assessed(sources(operator("dns", annotations=annotations))).operators) is counts


def test_a_control_plane_without_operators_of_the_release_is_updated() -> None:
    assert assessed(sources(operator("mine", version="1.0", annotations={}))).all_updated


@pytest.mark.parametrize(
    ("version", "progressing", "state"),
    [
        (TARGET, "False", State.UPDATED),
        (TARGET, "True", State.UPDATED),
        (PREVIOUS, "True", State.PROGRESSING),
        (PREVIOUS, "False", State.PENDING),
        (PREVIOUS, "Unknown", State.UNKNOWN),
        (PREVIOUS, "", State.UNKNOWN),
    ],
)
def test_the_state_of_an_operator(version: str, progressing: str, state: State) -> None:
    found = sources(operator("dns", said("Progressing", progressing), version=version))
    assert only(assessed(found)).state is state


def test_an_operator_that_says_nothing_of_its_progress_is_in_no_bucket() -> None:
    found = only(assessed(sources(operator("dns", version=PREVIOUS, without="Progressing"))))
    assert (found.state, found.since, found.reason) == (State.UNKNOWN, ZERO, "")


def test_operators_are_compared_with_the_desired_version_not_with_the_history() -> None:
    found = sources(operator("dns", version="4.17.0"), version=cluster_version(desired="4.17.0"))
    assert only(assessed(found)).state is State.UPDATED


@pytest.mark.parametrize(
    ("name", "version", "images", "running", "updated"),
    [
        ("machine-config", TARGET, ("new",), "new", True),
        ("machine-config", TARGET, ("new", "new"), "new", True),
        ("machine-config", TARGET, ("old",), "new", False),
        ("machine-config", TARGET, ("new", "old"), "new", False),
        ("machine-config", TARGET, (), "new", True),
        ("machine-config", TARGET, (), "", True),
        ("machine-config", TARGET, ("new",), "", False),
        ("machine-config", PREVIOUS, ("new",), "new", False),
        ("dns", TARGET, ("old",), "new", True),
    ],
)
def test_the_machine_config_operator_has_arrived_when_it_runs_the_image(
    name: str, version: str, images: tuple[str, ...], running: str, updated: bool
) -> None:
    found = assessed(sources(operator(name, version=version, images=images), operator_image=running))
    assert found.all_updated is updated


def test_of_an_unknown_image_only_the_version_is_compared_and_the_report_says_so() -> None:
    mco = operator("machine-config", images=("old",))
    plane, gaps = assess_control_plane(sources(mco, operator_image=Unknown("deployments is forbidden")))
    assert plane.all_updated
    assert gaps == ["whether machine-config runs the image of the target: deployments is forbidden"]


@pytest.mark.parametrize(
    ("conditions", "health", "why"),
    [
        ([said("Available", "True"), said("Degraded", "False")], Health.HEALTHY, ""),
        ([said("Available", "True")], Health.HEALTHY, ""),
        ([said("Available", "True"), said("Degraded", "Unknown", reason="D")], Health.HEALTHY, ""),
        ([said("Available", "True"), said("Degraded", "True", reason="D")], Health.DEGRADED, "D"),
        ([said("Available", "False", reason="A"), said("Degraded", "False")], Health.UNAVAILABLE, "A"),
        ([said("Available", "False", reason="A"), said("Degraded", "True", reason="D")], Health.UNAVAILABLE, "A"),
        ([said("Available", "Unknown", reason="A")], Health.UNAVAILABLE, "A"),
        ([], Health.UNAVAILABLE, ""),
        ([said("Available", "False"), said("Available", "True")], Health.HEALTHY, ""),
        ([said("Available", "True"), said("Available", "False", reason="A")], Health.UNAVAILABLE, "A"),
    ],
)
def test_the_health_of_an_operator(conditions: list[PlainCondition], health: Health, why: str) -> None:
    one = operator("dns", without="Available")
    one.status.conditions[:] = conditions
    found = only(assessed(sources(one)))
    assert (found.health, found.health_reason) == (health, why)


def test_of_conditions_of_an_operator_the_last_of_a_type_counts() -> None:
    one = operator("dns", said("Progressing", "True", 1), said("Progressing", "False", 2), version=PREVIOUS)
    found = only(assessed(sources(one)))
    assert (found.state, found.since) == (State.PENDING, after(2))


def migrated(*images: str) -> list[UpdateHistory]:
    return [item(TARGET, state="Partial", started=-number, image=image) for number, image in enumerate(images)]


@pytest.mark.parametrize(
    ("history", "previous", "multi_arch"),
    [
        ([BEGUN], None, False),
        ([BEGUN, UPDATED_BEFORE], PREVIOUS, False),
        ([item(TARGET, state="Partial", started=0, image="a"), UPDATED_BEFORE], PREVIOUS, False),
        (migrated("multi", "single"), TARGET, True),
        (migrated("multi", "single", "single"), TARGET, True),
        (migrated("same", "same"), TARGET, False),
        (migrated("same", "same", "other"), TARGET, False),
    ],
    ids=["installation", "update", "other image", "multi-arch", "multi-arch again", "same image", "same image again"],
)
def test_the_versions(history: list[UpdateHistory], previous: str | None, multi_arch: bool) -> None:
    versions = assessed(sources(version=cluster_version(history=history))).versions
    assert versions is not None
    assert (versions.target, versions.previous, versions.multi_arch) == (TARGET, previous, multi_arch)


def test_without_a_history_there_are_no_versions() -> None:
    assert assessed(sources(version=cluster_version(history=()))).versions is None


@pytest.mark.parametrize(
    ("history", "started"),
    [([BEGUN], START), ([item(TARGET, state="Partial", started=None)], ZERO), ([], after(7))],
    ids=["by the history", "the history has no time", "no history"],
)
def test_the_start(history: list[UpdateHistory], started: int) -> None:
    version = cluster_version(said("Progressing", "True", 7), history=history)
    assert assessed(sources(version=version)).started == started


@pytest.mark.parametrize(
    ("state", "completed", "expected"),
    [("Completed", 90, after(90)), ("Partial", 90, None), ("Partial", None, None), ("Odd", 90, None)],
)
def test_an_update_is_completed_when_its_state_says_so(
    state: str, completed: float | None, expected: int | None
) -> None:
    history = [item(TARGET, state=state, started=0, completed=completed), UPDATED_BEFORE]
    assert assessed(sources(version=cluster_version(history=history))).completed == expected


def test_a_completed_update_without_completion_time_is_reported_with_a_gap() -> None:
    history = [item(TARGET, started=0), UPDATED_BEFORE, INSTALLED]
    plane, gaps = assess_control_plane(sources(version=cluster_version(history=history)))
    assert plane.completed is None
    assert gaps == ["when the update was completed: status.history[0] of ClusterVersion has no completionTime"]


OTHER = item("4.14.1", started=-500, completed=-420)
PARTIAL = item("4.14.2", state="Partial", started=-300, completed=-290)


@pytest.mark.parametrize(
    ("history", "baseline"),
    [
        ([], HOUR),
        ([BEGUN], HOUR),
        ([BEGUN, UPDATED_BEFORE], HOUR),
        ([BEGUN, UPDATED_BEFORE, INSTALLED], 100 * MINUTE),
        ([BEGUN, OTHER, UPDATED_BEFORE, INSTALLED], 80 * MINUTE),
        ([BEGUN, PARTIAL, OTHER, INSTALLED], 80 * MINUTE),
        ([BEGUN, PARTIAL, INSTALLED], HOUR),
        ([item(TARGET, started=0, completed=5), PARTIAL, INSTALLED], HOUR),
        ([BEGUN, item("4.14.1", started=None, completed=0), INSTALLED], 2**63 - 1),
    ],
    ids=[
        "no history",
        "one item",
        "two items",
        "the installation is left out",
        "the latest",
        "the latest that was completed",
        "none was completed",
        "the newest is left out",
        "a difference saturates",
    ],
)
def test_the_baseline_is_what_the_latest_completed_update_took(history: list[UpdateHistory], baseline: int) -> None:
    assert assessed(sources(version=cluster_version(history=history))).baseline == baseline


def test_an_earlier_update_without_completion_time_is_no_baseline() -> None:
    history = [BEGUN, item(PREVIOUS, started=-60), INSTALLED]
    plane, gaps = assess_control_plane(sources(version=cluster_version(history=history)))
    assert plane.baseline == HOUR
    assert gaps == ["how long earlier updates took: status.history[1] of ClusterVersion has no completionTime"]


def test_a_completed_control_plane_needs_no_baseline() -> None:
    history = [BEGUN, item(PREVIOUS, started=-60), INSTALLED]
    assert assessed(sources(operator("dns"), version=cluster_version(history=history))).all_updated


MCO_PROGRESSING = operator("machine-config", said("Progressing", "True", 4), version=PREVIOUS)
REBOOTED = operator("dns", said("Progressing", "False", 9))


@pytest.mark.parametrize(
    ("operators", "last"),
    [
        ([operator("dns", said("Progressing", "False", 3)), operator("etcd", said("Progressing", "True", 2))], 3),
        ([operator("dns", said("Progressing", "Unknown", 3)), operator("etcd", version=PREVIOUS)], 3),
        ([operator("dns", said("Progressing", "True", 0))], None),
        ([operator("dns", said("Progressing", "True", -5))], None),
        ([operator("dns", without="Progressing")], None),
        ([REBOOTED, MCO_PROGRESSING], 4),
        ([REBOOTED, operator("machine-config", said("Progressing", "True", -4), version=PREVIOUS)], None),
        ([REBOOTED, MCO_PROGRESSING, operator("etcd", version=PREVIOUS)], 9),
        ([REBOOTED, operator("machine-config", said("Progressing", "False", 4), version=PREVIOUS)], 9),
        ([REBOOTED, operator("machine-config", said("Progressing", "True", None), version=PREVIOUS)], 9),
        ([REBOOTED, operator("machine-config", said("Progressing", "True", 4)), operator("x", version=PREVIOUS)], 9),
        ([REBOOTED, MCO_PROGRESSING, operator("mine", version="1", annotations={})], 4),
    ],
    ids=[
        "the latest of all, updated or not",
        "whatever its status",
        "at the start is not after it",
        "before the start",
        "no operator has the condition",
        "only machine-config is left",
        "only machine-config is left, since before the start",
        "another one is left too",
        "machine-config is left and waits",
        "machine-config is left, without a time",
        "another one is left, machine-config is updated",
        "operators of others do not count",
    ],
)
def test_the_last_progress(operators: list[ClusterOperator], last: float | None) -> None:
    found = assessed(sources(*operators))
    assert found.last_progress == (None if last is None else after(last))


def test_without_a_history_there_is_no_last_progress() -> None:
    version = cluster_version(history=())
    assert assessed(sources(REBOOTED, MCO_PROGRESSING, version=version)).last_progress is None


@pytest.mark.parametrize(
    ("progressing", "state", "completed", "doubt"),
    [
        ("True", "Partial", False, ""),
        ("True", "Completed", True, "not Partial"),
        ("True", "Completed", False, "not Partial"),
        ("True", "Partial", True, "has completion time"),
        ("False", "Completed", True, ""),
        ("False", "Partial", False, "not completed"),
        ("False", "Partial", True, "not completed"),
        ("False", "Completed", False, "has no completion time"),
        ("Unknown", "Partial", False, ""),
    ],
)
def test_a_history_that_contradicts_the_condition_is_a_doubt(
    progressing: str, state: str, completed: bool, doubt: str
) -> None:
    history = [item(TARGET, state=state, started=0, completed=5 if completed else None)]
    version = cluster_version(said("Progressing", progressing), history=history)
    found = assess_control_plane(sources(version=version))[0].doubt
    assert found.endswith(doubt) if doubt else found == ""


def test_an_empty_history_is_a_doubt() -> None:
    assert assessed(sources(version=cluster_version(history=()))).doubt == "Empty history in ClusterVersion"
