"""Recorded runs of OpenShift's machine set migration controller, taken to rest by our rules of migration alone.

Our controller would go on to synchronize; theirs is another one. So only what moves authority is asked here.
"""

from datetime import datetime
from typing import Any

import pytest

from windlass.kube.plan import Plan
from windlass.kube.seen import Present
from windlass.machine_sync.constants import MIGRATING
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.mirroring.synchronized import fill_authority

from .test_recorded import Deviation, differences, recorded, rest_of

WAITS = Deviation("upstream reports an error where something is only not there yet; ours waits for it", {"error"})
DEVIATIONS: dict[str, Deviation] = {
    "AWS-no-conditions-field": WAITS,
    "AWS-to-mapi-mirror-missing": WAITS,
    "OpenStack-no-conditions-field": WAITS,
}


def authority_alone(seen: MachineSetSnapshot, *, now: datetime) -> Plan:
    found = seen.machine_api
    if not isinstance(found, Present):
        return Plan.nothing()
    if not found.object.status.authoritative_api:
        return fill_authority(found, "")
    if found.object.status.authoritative_api == MIGRATING:
        return migration.proceed(seen.move, now=now)
    if seen.move.requested and migration.synchronized(seen.move, authority=seen.move.status):
        return migration.begin(seen.move)
    return Plan.nothing()


@pytest.mark.parametrize("row", [*recorded("machinesetmigration")])
async def test_a_recorded_migration_ends_as_recorded(row: dict[str, Any]) -> None:
    api, rest = await rest_of(row, authority_alone)
    deviation = DEVIATIONS.get(f"{row['platform']}-{row['case']}")
    found = differences(row, api, rest)
    assert sorted(found) == sorted(deviation.paths if deviation else ()), "\n".join(found.values())


def test_every_deviation_is_of_a_recorded_migration() -> None:
    assert set(DEVIATIONS) <= {str(row.id) for row in recorded("machinesetmigration")}
