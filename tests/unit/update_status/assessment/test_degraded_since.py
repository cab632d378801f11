"""Since when a node is degraded: only its MachineConfigNode tells."""

import pytest
from msgspec import structs

from windlass.api.machineconfiguration import MachineConfigNode, MachineConfigNodeStatus
from windlass.api.meta import Condition, ObjectMeta
from windlass.update_status.assessment import assess
from windlass.update_status.sources import Sources
from windlass.update_status.times import Moment

from .objects import after, at, node, sources


def degraded_since(found: Sources) -> Moment | None:
    """Of the only node."""
    (only,) = (node for pool in assess(found, now=after(9)).pools for node in pool.nodes)
    return only.degraded_since


@pytest.mark.parametrize(
    ("state", "status", "minutes", "since"),
    [
        ("Degraded", "True", 7, 7),
        ("Unreconcilable", "True", 7, 7),
        ("Degraded", "True", None, None),
        ("Degraded", "False", 7, None),
        ("Done", "True", 7, None),
    ],
)
def test_a_degraded_node_is_dated_by_its_machine_config_node(
    state: str, status: str, minutes: float | None, since: float | None
) -> None:
    told = Condition(type="NodeDegraded", status=status, last_transition_time=None if minutes is None else at(minutes))
    progress = MachineConfigNode(metadata=ObjectMeta(name="n1"), status=MachineConfigNodeStatus(conditions=[told]))
    found = structs.replace(sources(nodes=[node("n1", state=state)]), progress={"n1": progress})
    assert degraded_since(found) == (None if since is None else after(since))


def test_without_a_machine_config_node_nobody_knows() -> None:
    assert degraded_since(sources(nodes=[node("n1", state="Degraded")])) is None
