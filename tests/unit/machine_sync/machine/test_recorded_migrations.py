"""Recorded runs of OpenShift's machine migration controller, taken to rest by our rules of migration alone.

Our controller would go on to synchronize; theirs is another one. So only what moves authority is asked here.
"""

import pytest

from ..recorded_runs import WAITS, Deviation, assert_as_recorded, authority_alone, recorded
from .cases import Tree
from .test_recorded import label, rest_of

DEVIATIONS: dict[str, Deviation] = {
    "AWS-no-conditions-field": WAITS,
    "AWS-to-mapi-mirror-missing": WAITS,
    "AWS-to-mapi-migrating-infra-condition-missing": WAITS,
    "OpenStack-no-conditions-field": WAITS,
    "OpenStack-to-mapi-mirror-missing": WAITS,
}


@pytest.mark.parametrize("row", [*recorded("machinemigration")])
async def test_a_recorded_migration_ends_as_recorded(row: Tree) -> None:
    assert_as_recorded(row, *await rest_of(row, authority_alone), label=label, deviations=DEVIATIONS)


def test_every_deviation_is_of_a_recorded_migration() -> None:
    assert set(DEVIATIONS) <= {str(row.id) for row in recorded("machinemigration")}
