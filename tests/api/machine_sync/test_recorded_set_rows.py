"""Recorded runs of OpenShift's machine set controllers, synchronization and migration, on a real API server.

As `test_recorded_rows` does it for machines: what is there at rest is compared with the recording by the deviations of
the in-memory model.
"""

from typing import Any

import pytest

from tests.explore import on_one_platform_each
from tests.recorded import machine_set_migrations, machine_sets
from tests.recorded.runs import authority_alone, recorded
from windlass.kube.client import Client
from windlass.kube.control.rounds import Decide, Ending
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.machine_set.looking import looked
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.testing import ControlPlane

from .examples import Tree
from .recorded_run import Run, assert_as_recorded

pytestmark = pytest.mark.plane

REFUSED = {"OpenStack-capi-auth-clustername-empty": "spec.clusterName"}
"""Runs whose point is what the API server refuses, and the field that it names."""


class SetRun(Run[MachineSetSnapshot]):
    """One recorded run of a MachineSet on the plane."""

    DEFAULTED = ("cluster_api.spec.", "template ", "machine_api.spec.template.spec.authoritativeAPI")

    def __init__(self, client: Client, namespaces: Namespaces, row: Tree) -> None:
        super().__init__(client, namespaces, row)
        # No rule of sets looks at the machines that were recorded beside them.
        infra_machine = self.platform.infra_machine.RESOURCE.kind
        self.row = {**row, "objects": [tree for tree in row["objects"] if tree["kind"] != infra_machine]}
        template = self.platform.infra_template
        self.kinds[template.RESOURCE.api_version, template.RESOURCE.kind] = template

    def label(self, tree: Tree) -> str:
        return machine_sets.label(tree)

    async def _make(self, tree: Tree) -> None:
        """The object, at its generation: what a set has seen of itself is compared with that."""
        await super()._make(tree)
        if self.label(tree) not in ("machine_api", "cluster_api"):
            return
        kind, meta = self.kinds[tree["apiVersion"], tree["kind"]], tree["metadata"]
        place: dict[str, Any] = {"namespace": self.home(kind)}
        made = await self.client.get(kind, meta["name"], **place)
        # Each change counts, and so will the deletion.
        wanted = meta.get("generation", 1) - bool(meta.get("deletionTimestamp"))
        replicas = made.tree()["spec"]["replicas"]
        for away in reversed(range(wanted - made.metadata.generation)):
            body = {"spec": {"replicas": replicas + away}}
            made = await self.client.patch(kind, made.name, body, type=PatchType.MERGE, **place)
        assert made.metadata.generation == wanted, made.metadata

    async def to_rest(self, rules: Decide[MachineSetSnapshot]) -> Ending:
        return await self.reconciled(lambda seen, *, now: rules(looked(seen), now=now), machine_set_controller)


@pytest.mark.parametrize("row", [*on_one_platform_each(recorded("machinesetsync"))])
async def test_a_recorded_run_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, row: Tree
) -> None:
    await assert_as_recorded(
        SetRun, row, decide, plane=machine_sync_plane, refused=REFUSED, deviations=machine_sets.DEVIATIONS
    )


@pytest.mark.parametrize("row", [*on_one_platform_each(recorded("machinesetmigration"))])
async def test_a_recorded_migration_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, row: Tree
) -> None:
    deviations = machine_set_migrations.DEVIATIONS
    await assert_as_recorded(
        SetRun, row, authority_alone, plane=machine_sync_plane, refused=REFUSED, deviations=deviations
    )


def test_all_but_one_of_the_recorded_runs_are_admissible() -> None:
    names = [str(row.id) for row in recorded("machinesetsync")]
    assert set(REFUSED) < set(names)
    assert (len(names), len([*recorded("machinesetmigration")]), len(REFUSED)) == (38, 23, 1)
