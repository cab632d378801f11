"""Recorded runs of OpenShift's machine controllers, synchronization and migration, repeated on a real API server.

The recordings were made on a fake client that validates nothing. Here each run begins with its objects completed so
that the API server admits them (`complete`), with the server's own uids, and with deletions made by deleting; then our
controller takes the machine to rest, and what is there is compared with the recording by the same rules and the same
list of deviations as on the in-memory model. Runs that the server does not admit stand in `REFUSED` with its reason. Of
migration all are admissible; asked are, as there, the rules of migration alone.
"""

import copy
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.api import config as openshift
from windlass.api.meta import KubernetesObject, Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.errors import AlreadyExists, Invalid
from windlass.kube.executor import Executor
from windlass.kube.merge import changes
from windlass.kube.permissions import Declared
from windlass.kube.plan import Retry
from windlass.kube.reader import CacheReader
from windlass.kube.rounds import Decide, Rest, reconcile
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.infra_machine import ORPHAN_FINALIZER
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.platforms import PLATFORMS, Platform
from windlass.testing import ControlPlane

from ...unit.machine_sync.machine import test_recorded_migrations as migrations
from ...unit.machine_sync.machine.test_recorded import (
    COMPARED,
    DEVIATIONS,
    NOW,
    Deviation,
    label,
    recorded,
    scrubbed,
)
from .examples import Tree
from .stage import eventually

pytestmark = [pytest.mark.plane, pytest.mark.xdist_group("machine-sync")]

RECORDED_NAMESPACES = Namespaces()

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


COUNTED: dict[Any, Tree] = {capi.Machine: {"minReadySeconds": 1}, mapi.Machine: {"taints": []}}
"""A field of the spec by which a recorded generation is reached."""


class Pod:
    """Owner of some recorded machines."""

    RESOURCE = Resource("", "v1", "Pod", "pods")


class Run:
    """One recorded run on the plane: its namespaces, and which uid became which."""

    def __init__(self, client: Client, namespaces: Namespaces, row: Tree) -> None:
        self.client = client
        self.namespaces = namespaces
        self.row = row
        self.platform: Platform = PLATFORMS[row["platform"]]
        self.uids: dict[str, str] = {}
        """By recorded uid."""
        self.stored: dict[str, Tree] = {}
        """What was compared later, as it was before the run."""
        kinds: list[Any] = [
            capi.Cluster,
            self.platform.infra_cluster,
            mapi.MachineSet,
            capi.MachineSet,
            Pod,
            capi.Machine,
            self.platform.infra_machine,
            mapi.Machine,
        ]
        self.kinds: dict[tuple[str, str], Any] = {
            (kind.RESOURCE.api_version, kind.RESOURCE.kind): kind for kind in kinds
        }

    def home(self, kind: type[KubernetesObject]) -> str:
        ours = kind.RESOURCE.group == mapi.Machine.RESOURCE.group
        return self.namespaces.machine_api if ours else self.namespaces.cluster_api

    async def load(self) -> None:
        """Make the objects of the run, owners first. Raises Invalid for what the server refuses."""
        await self._describe()
        trees = [complete(tree) for tree in self.row["objects"] if tree["kind"] != "CustomResourceDefinition"]
        order = list(self.kinds)
        trees += self._missing_owners(trees)
        trees.sort(key=lambda tree: order.index((tree["apiVersion"], tree["kind"])))
        for tree in trees:
            await self._make(tree)
        for tree in trees:
            kind = self.kinds[tree["apiVersion"], tree["kind"]]
            if tree["metadata"].get("deletionTimestamp"):
                await self.client.delete(kind, tree["metadata"]["name"], namespace=self.home(kind))
        self.stored = {label(tree): tree for tree in await self.compared()}

    async def _describe(self) -> None:
        """What the cluster says about itself: one object for all runs, which therefore go one after the other."""
        described = {**self.row["infrastructure"], "spec": {}}
        status = described.pop("status", {})
        with suppress(AlreadyExists):
            await self.client.create(openshift.Infrastructure, {**described, "metadata": {"name": "cluster"}})
        body = {"status": {"infrastructureName": None, "platformStatus": None, **status}}
        await self.client.patch(openshift.Infrastructure, "cluster", body, type=PatchType.MERGE, subresource="status")

    @property
    def of_machine_api(self) -> bool:
        """The Machine API is authoritative, or begins to be: its mirror is what the run is about."""
        machines = [tree for tree in self.row["objects"] if label(tree) == "machine_api" and tree["kind"] == "Machine"]
        return any((tree.get("status") or {}).get("authoritativeAPI") != "ClusterAPI" for tree in machines)

    async def _make(self, tree: Tree) -> None:
        kind = self.kinds[tree["apiVersion"], tree["kind"]]
        place: dict[str, Any] = {"namespace": self.home(kind)}
        recorded = tree["metadata"]
        metadata = {key: recorded[key] for key in ("name", "labels", "annotations", "finalizers") if recorded.get(key)}
        if recorded.get("ownerReferences"):
            metadata["ownerReferences"] = [
                {**owner, "uid": self.uids.get(owner["uid"], owner["uid"])} for owner in recorded["ownerReferences"]
            ]
        spec = tree.get("spec") or {}
        # Every change of the spec counts, so a field that the run lacks comes and goes until that many have been made.
        field: Tree = COUNTED.get(kind, {})
        wanted = recorded.get("generation", 1) if field and not field.keys() & spec.keys() else 1
        first = {**spec, **field} if wanted % 2 == 0 else spec
        made = await self.client.create(kind, {"metadata": metadata, "spec": first}, **place)
        for generation in range(2, wanted + 1):
            body: Tree = {"spec": dict.fromkeys(field) if generation % 2 == wanted % 2 else field}
            made = await self.client.patch(kind, made.name, body, type=PatchType.MERGE, **place)
        assert not field or made.metadata.generation == wanted
        if tree.get("status"):
            status = {key: value for key, value in tree["status"].items() if value != ""}
            await self.client.patch(
                kind, made.name, {"status": status}, type=PatchType.MERGE, subresource="status", **place
            )
        if recorded.get("uid"):
            self.uids[recorded["uid"]] = made.uid

    def _missing_owners(self, trees: list[Tree]) -> list[Tree]:
        """Owners that were not recorded: without them the garbage collector would take what they own."""
        known = {tree["metadata"].get("uid") for tree in trees}
        owners = [owner for tree in trees for owner in tree["metadata"].get("ownerReferences") or ()]
        missing = [
            owner
            for owner in owners
            if owner["uid"] not in known and (owner["apiVersion"], owner["kind"]) in self.kinds
        ]
        return [
            complete(
                {
                    "apiVersion": owner["apiVersion"],
                    "kind": owner["kind"],
                    "metadata": {"name": owner["name"], "uid": owner["uid"]},
                }
            )
            for owner in missing
        ]

    async def to_rest(self, rules: Decide[MachineSnapshot]) -> Rest:
        rest = await self._once_to_rest(rules)
        while await self._orphaning():
            # The garbage collector lets go of it before long, and there is more to do then.
            await eventually(self._orphaning, lambda still: not still, what="the infra machine to go")
            rest = await self._once_to_rest(rules)
        return rest

    async def _orphaning(self) -> bool:
        kind = self.platform.infra_machine
        found = await self.client.list(kind, namespace=self.home(kind))
        return any(ORPHAN_FINALIZER in infra.metadata.finalizers for infra in found.items)

    async def _once_to_rest(self, rules: Decide[MachineSnapshot]) -> Rest:
        reader = CacheReader(self.client)
        controller = machine_controller(reader, platform=self.platform, namespaces=self.namespaces)
        return await reconcile(
            self.row["request"],
            observe=controller.observe,
            decide=rules,
            executor=Executor(self.client, permits=Declared(controller.declared), now=lambda: NOW),
            now=lambda: NOW,
        )

    async def compared(self) -> list[Tree]:
        """The objects that recordings show, in the words of the recording."""
        found = []
        items: list[tuple[Any, Any]] = []
        for kind in (kind for kind in self.kinds.values() if kind.RESOURCE.kind in COMPARED):
            items += [(kind, one) for one in (await self.client.list(kind, namespace=self.home(kind))).items]
        names = {one.uid: "created-uid-1" for _, one in items}
        names |= {made: recorded for recorded, made in self.uids.items()}
        for kind, item in items:
            text = json.dumps({"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **item.tree()})
            for uid, original in names.items():
                text = text.replace(uid, original)
            for real, original in zip(self.namespaces, RECORDED_NAMESPACES, strict=True):
                text = text.replace(real, original)
            found.append(json.loads(text))
        return found

    async def differences(self, rest: Rest, *, expected_paths: set[str]) -> dict[str, str]:
        """Path and change of everything that is not as recorded.

        Of the Machine API's Machine everything counts, and of its mirror. What the server's own defaults and our
        completions make of the objects of Cluster API is not ours: while that is authoritative, their metadata is
        compared with the recording, and the rest with what it was before.
        """
        recorded = {label(tree): tree for tree in self.row["final"] or () if tree["kind"] in COMPARED}
        now = {label(tree): tree for tree in await self.compared()}
        introduced = set(self.stored) - {label(t) for t in self.row["objects"] if t["kind"] in COMPARED}
        expected = {side: self._expected(side, tree) for side, tree in recorded.items()}
        ours = {side: _comparable(tree) for side, tree in now.items() if side not in introduced}
        found = {change.path: str(change) for change in changes(expected, ours)}
        found = {
            path: change for path, change in found.items() if path in expected_paths or not _is_default(path, change)
        }
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


def _is_default(path: str, change: str) -> bool:
    """A field that the server adds by itself, or we did to please it."""
    return change.startswith("+") and path.startswith(("cluster_api.spec.", "infra.spec.", "machine_api_set.spec."))


def _comparable(tree: Tree) -> Any:
    """`scrubbed`, with deletions told by their fact and not their time."""
    tree = copy.deepcopy(tree)
    if tree["metadata"].get("deletionTimestamp"):
        tree["metadata"]["deletionTimestamp"] = "deleting"
    return scrubbed(tree)


def complete(tree: Tree) -> Tree:
    """A copy with what the API server requires of its kind, where the recording left it out."""
    tree = copy.deepcopy(tree)
    match tree["kind"]:
        case "Cluster":
            tree["spec"] = {
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "OpenStackCluster",
                    "name": tree["metadata"]["name"],
                }
            }
        case "Pod":
            tree["spec"] = {"containers": [{"name": "c", "image": "i"}]}
        case "MachineSet" if not tree.get("spec"):
            labels = {"machine.openshift.io/cluster-api-machineset": tree["metadata"]["name"]}
            tree["spec"] = {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"providerSpec": {}}},
            }
    return tree


def admissible() -> Iterator[Any]:
    yield from (row for row in recorded("machinesync") if row.id not in SWEPT_AWAY)


@pytest.fixture
async def client(machine_sync_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=machine_sync_plane.kubeconfig()), field_manager="recorded") as client:
        yield client


async def assert_as_recorded(
    plane: ControlPlane,
    client: Client,
    row: Tree,
    rules: Decide[MachineSnapshot],
    *,
    deviations: Mapping[str, Deviation],
) -> None:
    """Repeat the run by `rules`, unless the server refuses what it must."""
    name = f"{row['platform']}-{row['case']}"
    namespaces = Namespaces(await plane.create_namespace("mapi-"), await plane.create_namespace("capi-"))
    run = Run(client, namespaces, row)
    if name in REFUSED:
        with pytest.raises(Invalid, match=REFUSED[name]):
            await run.load()
    else:
        await run.load()
        rest = await run.to_rest(rules)
        paths = deviations[name].paths if name in deviations else set()
        found = await run.differences(rest, expected_paths=paths)
        assert sorted(found) == sorted(paths), found


@pytest.mark.parametrize("row", [*admissible()])
async def test_a_recorded_run_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, client: Client, row: Tree
) -> None:
    await assert_as_recorded(machine_sync_plane, client, row, decide, deviations=DEVIATIONS)


@pytest.mark.parametrize("row", [*recorded("machinemigration")])
async def test_a_recorded_migration_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, client: Client, row: Tree
) -> None:
    rules, deviations = migrations.authority_alone, migrations.DEVIATIONS
    await assert_as_recorded(machine_sync_plane, client, row, rules, deviations=deviations)


def test_most_of_the_recorded_runs_are_admissible() -> None:
    names = {row.id for row in recorded("machinesync")}
    assert set(REFUSED) < names
    assert names >= SWEPT_AWAY
    assert (len(names), len(REFUSED), len(SWEPT_AWAY)) == (73, 5, 2)
    assert len([*recorded("machinemigration")]) == 28
