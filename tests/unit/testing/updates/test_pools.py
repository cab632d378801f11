"""What the simulator says of a pool with one Node. With `make explore` the real controller judges that."""

from typing import Any

import pytest

from windlass.api.machineconfiguration import GROUP
from windlass.testing.updates.mco import pool_status
from windlass.testing.updates.objects import condition

WORKS, FAILS, REFUSES = (
    {"currentConfig": "old", "state": state, "reason": why}
    for state, why in (("Working", ""), ("Degraded", "disk full"), ("Unreconcilable", "cannot"))
)


def node(said: dict[str, str], *, ready: bool = True, cordoned: bool = False) -> dict[str, Any]:
    named = {"currentConfig": "new", "desiredConfig": "new", "state": "Done"} | said
    annotations = {f"{GROUP}/{key}": value for key, value in named.items()}
    status = {"conditions": [condition("Ready", ready)]}
    return {
        "metadata": {"name": "n", "annotations": annotations},
        "spec": {"unschedulable": cordoned},
        "status": status,
    }


@pytest.mark.parametrize(
    ("found", "updated", "ready", "away", "degraded"),
    [
        (node({}), 1, 1, 0, 0),
        (node({}, cordoned=True), 1, 0, 1, 0),
        (node({}, ready=False), 1, 0, 1, 0),
        (node(WORKS), 0, 0, 1, 0),
        (node(FAILS), 0, 0, 0, 1),
        (node(REFUSES), 0, 0, 0, 1),
        (node(FAILS, cordoned=True), 0, 0, 1, 1),
        (node({"state": "Degraded"}), 0, 0, 1, 1),
    ],
)
def test_the_counts_of_a_pool(found: dict[str, Any], updated: int, ready: int, away: int, degraded: int) -> None:
    counts, conditions = pool_status([found], "new", paused=False)
    assert [*counts.values()] == [1, updated, ready, away, degraded]
    told = {one["type"]: one["status"] == "True" for one in conditions}
    assert (told["Updated"], told["Updating"], told["Degraded"]) == (ready == 1, ready == 0, degraded == 1)


@pytest.mark.parametrize(("why", "message"), [("disk full", 'Node n is reporting: "disk full"'), ("", "")])
def test_a_degraded_pool_names_the_nodes_that_say_why(why: str, message: str) -> None:
    _, conditions = pool_status([node({**FAILS, "reason": why})], "new", paused=False)
    told = {one["type"]: one["message"] for one in conditions}
    assert (told["NodeDegraded"], told["Degraded"]) == (message, message)
