"""Whether a node can take Pods, and the texts that say why not."""

import pytest

from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.meta import PlainCondition
from windlass.update_status.assessment.availability import Unavailability, unavailability

from .objects import MCO, WORKER, after, bad, node, pool

LAYERED = {MCO + "layering-enabled": ""}
PROCESSING = "Machine Config Daemon is processing the node"
CORDONED = "Node is marked unschedulable"


def short(one: Node, of: MachineConfigPool = WORKER) -> str:
    why = unavailability(one, of)
    return why.short if why else ""


def why(*conditions: PlainCondition, unschedulable: bool = False) -> Unavailability:
    found = unavailability(node("n1", *conditions, unschedulable=unschedulable), WORKER)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (bad("Ready", "True"), ""),
        (bad("Ready", "False"), "Not ready"),
        (bad("Ready", "Unknown"), "Not ready"),
        (bad("Ready", ""), "Not ready"),
        (bad("DiskPressure", "False"), ""),
        (bad("DiskPressure", "True"), "Disk pressure"),
        (bad("DiskPressure", "Unknown"), "Disk pressure"),
        (bad("NetworkUnavailable", "False"), ""),
        (bad("NetworkUnavailable", "True"), "Network unavailable"),
        (bad("NetworkUnavailable", "Unknown"), "Network unavailable"),
        (bad("MemoryPressure", "True"), ""),
        (bad("PIDPressure", "True"), ""),
    ],
)
def test_the_conditions_that_count(condition: PlainCondition, reason: str) -> None:
    assert short(node("n1", condition)) == reason


def test_conditions_that_are_missing_are_good() -> None:
    assert short(node()) == ""


def test_reasons_come_in_the_order_of_the_conditions_and_unschedulable_last() -> None:
    found = why(bad("NetworkUnavailable", "True"), bad("Ready", "False"), unschedulable=True)
    assert found.short == f"Network unavailable | Not ready | {CORDONED}"


@pytest.mark.parametrize(
    ("current", "desired", "state", "reason"),
    [
        ("old", "old", "Done", ""),
        ("old", "new", "Done", PROCESSING),
        ("old", "old", "Working", PROCESSING),
        ("old", "old", None, PROCESSING),
        ("", "", "Done", PROCESSING),
        (None, None, "Done", PROCESSING),
        (None, None, None, PROCESSING),
        ("old", "new", "Degraded", ""),
        (None, None, "Degraded", ""),
        ("old", "new", "Unreconcilable", ""),
    ],
)
def test_the_machine_config_daemon_has_to_be_done_or_degraded(
    current: str | None, desired: str | None, state: str | None, reason: str
) -> None:
    assert short(node(current=current, desired=desired, state=state)) == reason


def test_the_machine_config_daemon_is_named_only_where_nothing_else_is() -> None:
    assert short(node(state="Working", unschedulable=True)) == CORDONED


@pytest.mark.parametrize(
    ("current", "desired", "newest", "reason"),
    [
        (None, None, None, ""),
        ("a", "a", "a", ""),
        ("a", None, None, PROCESSING),
        ("", None, None, PROCESSING),
        (None, "", None, PROCESSING),
        ("", "", None, PROCESSING),
        ("b", "a", "a", PROCESSING),
        (None, "a", "a", PROCESSING),
    ],
)
def test_the_image_of_the_node_has_to_be_the_desired_one(
    current: str | None, desired: str | None, newest: str | None, reason: str
) -> None:
    annotations = {} if newest is None else {MCO + "newestImageEquivalentConfig": newest}
    of = pool("worker", labels=LAYERED, annotations=annotations)
    assert short(node(currentImage=current, desiredImage=desired), of) == reason


@pytest.mark.parametrize(
    ("layered", "newest", "desired", "unavailable"),
    [
        (False, None, None, True),
        (False, None, "", True),
        (False, None, "a", False),
        (False, "a", "a", False),
        (False, "a", None, True),
        (True, "a", "a", True),
        (True, "a", "b", False),
        (True, "a", None, False),
        (True, "", None, True),
        (True, "", "a", False),
        (True, None, "", True),
        (True, None, "a", False),
    ],
)
def test_a_node_counts_as_unavailable_only_with_the_image_of_its_pool(
    layered: bool, newest: str | None, desired: str | None, unavailable: bool
) -> None:
    annotations = {} if newest is None else {MCO + "newestImageEquivalentConfig": newest}
    of = pool("worker", labels=LAYERED if layered else {}, annotations=annotations)
    assert bool(short(node("n1", bad("Ready", "False"), desiredImage=desired), of)) is unavailable


def test_the_title_names_the_node() -> None:
    found = why(
        bad("Ready", "False"), bad("DiskPressure", "True"), bad("NetworkUnavailable", "True"), unschedulable=True
    )
    assert found.title == (
        f"Node n1 is not ready | Node n1 has disk pressure | Node n1 has unavailable network | {CORDONED}"
    )


def test_the_description_quotes_the_messages() -> None:
    found = why(
        bad("Ready", "Unknown", message='"x"\n'),
        bad("DiskPressure", "True", message="full"),
        bad("NetworkUnavailable", "Unknown"),
        unschedulable=True,
    )
    assert found.text == (
        r'Node has a Ready!=True condition with Reason "Not ready" and message "\"x\"\n" | '
        'Node has a DiskPressure!=False condition with Reason "Disk pressure" and message "full" | '
        'Node has a NetworkUnavailable!=False condition with Reason "Network unavailable" and message "" | '
        f"{CORDONED}"
    )


@pytest.mark.parametrize(
    ("conditions", "since"),
    [
        ([bad("Ready", "False", 3), bad("DiskPressure", "True", 2)], 2),
        ([bad("Ready", "False", None), bad("DiskPressure", "True", 2)], 2),
        ([bad("Ready", "False", None)], None),
        ([bad("Ready", "True", 1), bad("DiskPressure", "True", 2)], 2),
        ([], None),
    ],
)
def test_it_is_unavailable_since_the_earliest_known_time(conditions: list[PlainCondition], since: float | None) -> None:
    assert why(*conditions, unschedulable=True).since == (None if since is None else after(since))
