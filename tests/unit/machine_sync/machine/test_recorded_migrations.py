"""Recorded runs of OpenShift's machine migration controller, taken to rest by our rules of migration alone.

Our controller goes on to synchronize; theirs is another one. So object by object only the rules of migration are
compared; the whole controller must pass through the recorded end on its way.
"""

import pytest

from tests.recorded.machine_migrations import DEVIATIONS, NOT_SO
from tests.recorded.machines import label
from tests.recorded.runs import (
    Standing,
    assert_as_recorded,
    assert_passes_through_the_recorded_end,
    authority_alone,
    recorded,
    standing,
    with_cluster,
)
from windlass.machine_sync.machine.decide import decide

from .cases import Tree
from .recorded import rest_of


@pytest.mark.parametrize("row", [*recorded("machinemigration")])
async def test_a_recorded_migration_ends_as_recorded(row: Tree) -> None:
    assert_as_recorded(row, *await rest_of(row, authority_alone), label=label, deviations=DEVIATIONS)


@pytest.mark.parametrize("row", [*recorded("machinemigration")])
async def test_the_whole_controller_passes_through_the_recorded_end(row: Tree) -> None:
    states: list[Standing] = []

    await rest_of(with_cluster(row), decide, told=lambda api: states.append(standing(api.dump(), label)))

    assert_passes_through_the_recorded_end(row, states, label=label, not_so=NOT_SO)


def test_every_deviation_is_of_a_recorded_migration() -> None:
    assert {*DEVIATIONS, *NOT_SO} <= {str(row.id) for row in recorded("machinemigration")}
