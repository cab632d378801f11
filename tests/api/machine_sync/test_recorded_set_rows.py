"""Recorded runs of OpenShift's machine set controllers, synchronization and migration, on a real API server.

As `test_recorded_rows` does it for machines: objects completed so that the server admits them, its own uids, deletions
by deleting. What is there at rest is compared with the recording by the rules and deviations of the in-memory model.
"""

import copy
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.errors import Invalid
from windlass.kube.executor import Executor
from windlass.kube.merge import Change, changes
from windlass.kube.permissions import Declared
from windlass.kube.plan import Retry
from windlass.kube.pool import CachePool
from windlass.kube.rounds import Decide, Rest, reconcile
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.testing import ControlPlane

from ...unit.machine_sync.machine_set import test_recorded_migrations as migrations
from ...unit.machine_sync.machine_set.test_recorded import DEVIATIONS, NOW, Deviation, label, recorded, scrubbed
from .examples import Tree
from .test_recorded_rows import RECORDED_NAMESPACES, Run

pytestmark = [pytest.mark.plane, pytest.mark.xdist_group("machine-sync")]

REFUSED = {"OpenStack-capi-auth-clustername-empty": "spec.clusterName"}
"""Runs whose point is what the API server refuses, and the field that it names."""

DEFAULTED = ("cluster_api.spec.", "template ", "machine_api.spec.template.spec.authoritativeAPI")
"""What the server fills in by itself."""


class SetRun(Run):
    """One recorded run of a MachineSet on the plane."""

    def __init__(self, client: Client, namespaces: Namespaces, row: Tree) -> None:
        super().__init__(client, namespaces, row)
        # No rule of sets looks at the machines that were recorded beside them.
        infra_machine = self.platform.infra_machine.RESOURCE.kind
        self.row = {**row, "objects": [tree for tree in row["objects"] if tree["kind"] != infra_machine]}
        template = self.platform.infra_template
        self.kinds[template.RESOURCE.api_version, template.RESOURCE.kind] = template

    @property
    def of_machine_api(self) -> bool:
        sets = [tree for tree in self.row["objects"] if label(tree) == "machine_api"]
        return any((tree.get("status") or {}).get("authoritativeAPI") != "ClusterAPI" for tree in sets)

    async def load(self) -> None:
        await super().load()
        self.stored = {label(tree): tree for tree in await self.compared()}

    async def _make(self, tree: Tree) -> None:
        """The object, at its generation: what a set has seen of itself is compared with that."""
        await super()._make(tree)
        if label(tree) not in ("machine_api", "cluster_api"):
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
        assert made.metadata.generation == wanted

    async def rest_by(self, rules: Decide[MachineSetSnapshot]) -> Rest:
        pool = CachePool(self.client)
        controller = machine_set_controller(pool.reader, platform=self.platform, namespaces=self.namespaces)
        try:
            for watch in controller.watches:
                await pool.acquire(watch).wait_settled()
            return await reconcile(
                self.row["request"],
                observe=controller.observe,
                decide=rules,
                executor=Executor(
                    self.client, permits=Declared(controller.declared), ledger=pool.reader, now=lambda: NOW
                ),
                now=lambda: NOW,
            )
        finally:
            await pool.close()

    async def compared(self) -> list[Tree]:
        found = []
        for kind in self.kinds.values():
            for item in (await self.client.list(kind, namespace=self.home(kind))).items:
                tree = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **item.tree()}
                if label(tree):
                    found.append(self._in_words_of_recording(tree))
        return found

    def _in_words_of_recording(self, tree: Tree) -> Tree:
        words = {uid: original for original, uid in self.uids.items()}
        words |= dict(zip(self.namespaces, RECORDED_NAMESPACES, strict=True))
        text = json.dumps(tree)
        for ours, theirs in words.items():
            text = text.replace(ours, theirs)
        translated: Tree = json.loads(text)
        return translated

    async def unlike_recording(self, rest: Rest) -> dict[str, str]:
        recorded = {label(tree): tree for tree in self.row["final"] or () if label(tree)}
        now = {label(tree): tree for tree in await self.compared()}
        expected = {side: self._expected(side, tree) for side, tree in recorded.items()}
        ours = {side: _comparable(tree) for side, tree in now.items()}
        found = {change.path: str(change) for change in changes(expected, ours) if not self._is_default(change)}
        if bool(self.row["passes"][-1].get("error")) != isinstance(rest.next, Retry):
            found["error"] = f"{self.row['passes'][-1].get('error')!r} -> {rest.next}"
        return found

    def _expected(self, side: str, recorded: Tree) -> Any:
        if side == "machine_api" or side not in self.stored or self.of_machine_api:
            return _comparable(recorded)
        before = self.stored[side]
        kept: Tree = {key: before[key] for key in ("spec", "status") if key in before}
        bare = {key: value for key, value in recorded.items() if key not in ("spec", "status")}
        return _comparable({**bare, **kept})

    def _is_default(self, change: Change) -> bool:
        return change.before is None and change.path.startswith(DEFAULTED)


def _comparable(tree: Tree) -> Any:
    """`scrubbed`, with deletions told by their fact and not their time."""
    tree = copy.deepcopy(tree)
    if tree["metadata"].get("deletionTimestamp"):
        tree["metadata"]["deletionTimestamp"] = "deleting"
    return scrubbed(tree)


async def assert_as_recorded(
    plane: ControlPlane,
    client: Client,
    row: Tree,
    rules: Decide[MachineSetSnapshot],
    *,
    deviations: Mapping[str, Deviation],
) -> None:
    """Repeat the run by `rules`, unless the server refuses what it must."""
    namespaces = Namespaces(await plane.create_namespace("mapi-"), await plane.create_namespace("capi-"))
    run, name = SetRun(client, namespaces, row), f"{row['platform']}-{row['case']}"
    if name in REFUSED:
        with pytest.raises(Invalid, match=REFUSED[name]):
            await run.load()
    else:
        await run.load()
        found = await run.unlike_recording(await run.rest_by(rules))
        assert sorted(found) == sorted(deviations[name].paths if name in deviations else ()), "\n".join(found.values())


@pytest.fixture
async def client(machine_sync_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=machine_sync_plane.kubeconfig()), field_manager="recorded") as client:
        yield client


@pytest.mark.parametrize("row", [*recorded("machinesetsync")])
async def test_a_recorded_run_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, client: Client, row: Tree
) -> None:
    await assert_as_recorded(machine_sync_plane, client, row, decide, deviations=DEVIATIONS)


@pytest.mark.parametrize("row", [*recorded("machinesetmigration")])
async def test_a_recorded_migration_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, client: Client, row: Tree
) -> None:
    rules, deviations = migrations.authority_alone, migrations.DEVIATIONS
    await assert_as_recorded(machine_sync_plane, client, row, rules, deviations=deviations)


def test_all_but_one_of_the_recorded_runs_are_admissible() -> None:
    names = [str(row.id) for row in recorded("machinesetsync")]
    assert set(REFUSED) < set(names)
    assert (len(names), len([*recorded("machinesetmigration")]), len(REFUSED)) == (38, 23, 1)
