"""Recorded runs of OpenShift's machine set sync controller, taken to rest by ours on the in-memory model.

`tests.recorded.machine_sets` names the fields in which ours ends elsewhere on purpose, and why.
"""

import pytest

from tests.recorded.machine_sets import DEVIATIONS, label
from tests.recorded.runs import assert_as_recorded, recorded
from windlass.machine_sync.machine_set.decide import decide

from .cases import Tree
from .recorded import rest_of


@pytest.mark.parametrize("row", [*recorded("machinesetsync")])
async def test_a_recorded_run_ends_as_recorded(row: Tree) -> None:
    assert_as_recorded(row, *await rest_of(row, decide), label=label, deviations=DEVIATIONS)


def test_every_deviation_is_of_a_recorded_run() -> None:
    assert set(DEVIATIONS) <= {str(row.id) for row in recorded("machinesetsync")}
