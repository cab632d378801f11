"""Recorded runs of OpenShift's machine controllers, synchronization and migration, repeated on a real API server.

Each case is repeated on one platform, and on both with `make explore`: the in-memory model has had them all. Our
controller takes the machine to rest, and what is there is compared with the recording by the same list of
deviations as on the in-memory model. Runs that the server does not admit stand in `REFUSED` with its reason. Of
migration all are admissible; asked are, as there, the rules of migration alone.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.explore import on_one_platform_each
from tests.recorded import machine_migrations, machines
from tests.recorded.runs import authority_alone, recorded
from tests.waiting import eventually
from windlass.kube.control.plan import Delete, Plan
from windlass.kube.control.rounds import Decide, Ending
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.looking import looked
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring.collector import ORPHAN
from windlass.testing import ControlPlane

from .examples import Tree
from .recorded_run import Run, assert_as_recorded

pytestmark = pytest.mark.plane

REFUSED: dict[str, str] = {
    "AWS-capi-auth-clustername-empty": "spec.clusterName",
    "OpenStack-capi-auth-clustername-empty": "spec.clusterName",
    "AWS-mapi-auth-capi-clustername-empty": "spec.clusterName",
    "OpenStack-mapi-auth-capi-clustername-empty": "spec.clusterName",
    "OpenStack-mapi-auth-capi-infraref-empty": "spec.infrastructureRef.name",
}
"""Runs whose point is what the API server refuses, and the field that it names."""

SWEPT_AWAY = {"AWS-mapi-auth-owned-by-other", "OpenStack-mapi-auth-owned-by-other"}
"""Runs whose machine belongs to what is on no cluster: the garbage collector deletes it before anybody looks."""


class MachineRun(Run[MachineSnapshot]):
    """One recorded run of a machine on the plane."""

    DEFAULTED = ("cluster_api.spec.", "infra_machine.spec.", "machine_api_set.spec.")

    def label(self, tree: Tree) -> str:
        return machines.label(tree)

    async def to_rest(self, rules: Decide[MachineSnapshot]) -> Ending:
        """One pass; another after each that orphans, since the garbage collector then writes as well, at any time."""
        orphaned = True

        def noting(snapshot: MachineSnapshot, *, now: datetime) -> Plan:
            nonlocal orphaned
            plan = rules(looked(snapshot), now=now)
            deletions = (action for action in plan.actions if isinstance(action, Delete))
            orphaned = orphaned or any(deletion.propagation == "Orphan" for deletion in deletions)
            return plan

        while orphaned:
            orphaned = False
            rest = await self.reconciled(noting, machine_controller)
            await eventually(self._orphaning, lambda still: not still, what="the infra machine to go")
        return rest

    async def _orphaning(self) -> bool:
        kind = self.platform.infra_machine
        found = await self.client.list(kind, namespace=self.home(kind))
        return any(ORPHAN in infra.metadata.finalizers for infra in found.items)


def admissible() -> Iterator[Any]:
    yield from (row for row in recorded("machinesync") if row.id not in SWEPT_AWAY)


@pytest.mark.parametrize("row", [*on_one_platform_each(admissible())])
async def test_a_recorded_run_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, row: Tree
) -> None:
    await assert_as_recorded(
        MachineRun, row, decide, plane=machine_sync_plane, refused=REFUSED, deviations=machines.DEVIATIONS
    )


@pytest.mark.parametrize("row", [*on_one_platform_each(recorded("machinemigration"))])
async def test_a_recorded_migration_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, row: Tree
) -> None:
    deviations = machine_migrations.DEVIATIONS
    await assert_as_recorded(
        MachineRun, row, authority_alone, plane=machine_sync_plane, refused=REFUSED, deviations=deviations
    )


def test_most_of_the_recorded_runs_are_admissible() -> None:
    names = {row.id for row in recorded("machinesync")}
    assert set(REFUSED) < names
    assert names >= SWEPT_AWAY
    assert (len(names), len(REFUSED), len(SWEPT_AWAY)) == (73, 5, 2)
    assert len([*recorded("machinemigration")]) == 28
