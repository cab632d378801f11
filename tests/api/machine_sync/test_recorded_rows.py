"""Recorded runs of OpenShift's machine sync controller, repeated on a real API server.

The recordings were made on a fake client that validates nothing. Here each run begins with its objects completed so
that the API server admits them (`complete`), with the server's own uids, and with deletions made by deleting; then our
controller takes the machine to rest, and what is there is compared with the recording by the same rules and the same
list of deviations as on the in-memory model. Runs that the server does not admit stand in `REFUSED` with its reason.
"""

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.errors import Invalid
from windlass.kube.executor import Executor
from windlass.kube.merge import changes
from windlass.kube.permissions import Declared
from windlass.kube.plan import Retry
from windlass.kube.reader import CacheReader
from windlass.kube.rounds import Rest, reconcile
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.platforms import PLATFORMS, Platform
from windlass.testing import ControlPlane

from ...unit.machine_sync.machine.test_recorded import COMPARED, DEVIATIONS, NOW, label, rows, scrubbed
from .examples import Tree

pytestmark = [pytest.mark.plane, pytest.mark.xdist_group("machine-sync")]

RECORDED_NAMESPACES = Namespaces()

REFUSED: dict[str, str] = {
    "AWS-capi-auth-clustername-empty": "spec.clusterName",
    "OpenStack-capi-auth-clustername-empty": "spec.clusterName",
}
"""Runs whose point is what the API server refuses, and the field that it names."""


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

    async def _make(self, tree: Tree) -> None:
        kind = self.kinds[tree["apiVersion"], tree["kind"]]
        place: dict[str, Any] = {"namespace": self.home(kind)}
        recorded = tree["metadata"]
        metadata = {key: recorded[key] for key in ("name", "labels", "annotations", "finalizers") if recorded.get(key)}
        if recorded.get("ownerReferences"):
            metadata["ownerReferences"] = [
                {**owner, "uid": self.uids.get(owner["uid"], owner["uid"])} for owner in recorded["ownerReferences"]
            ]
        wanted = recorded.get("generation", 1) if kind is capi.Machine else 1
        spec = tree.get("spec") or {}
        # Every change of the spec counts, so it goes to and fro until the generation is the recorded one.
        other = {**spec, "minReadySeconds": 1}
        first = other if wanted % 2 == 0 else spec
        made = await self.client.create(kind, {"metadata": metadata, "spec": first}, **place)
        for generation in range(2, wanted + 1):
            body = {"spec": {"minReadySeconds": None if generation % 2 == wanted % 2 else 1}}
            made = await self.client.patch(kind, made.name, body, type=PatchType.MERGE, **place)
        assert kind is not capi.Machine or made.metadata.generation == wanted
        if tree.get("status"):
            await self.client.patch(
                kind, made.name, {"status": tree["status"]}, type=PatchType.MERGE, subresource="status", **place
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

    async def to_rest(self) -> Rest:
        reader = CacheReader(self.client)
        controller = machine_controller(reader, platform=self.platform, namespaces=self.namespaces)
        return await reconcile(
            self.row["request"],
            observe=controller.observe,
            decide=controller.decide,
            executor=Executor(self.client, permits=Declared(controller.declared), now=lambda: NOW),
            now=lambda: NOW,
        )

    async def compared(self) -> list[Tree]:
        """The objects that recordings show, in the words of the recording."""
        found = []
        names = {v: k for k, v in self.uids.items()}
        for kind in self.kinds.values():
            if kind.RESOURCE.kind not in COMPARED:
                continue
            for item in (await self.client.list(kind, namespace=self.home(kind))).items:
                text = json.dumps({"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **item.tree()})
                for uid, recorded in names.items():
                    text = text.replace(uid, recorded)
                for real, recorded in zip(self.namespaces, RECORDED_NAMESPACES, strict=True):
                    text = text.replace(real, recorded)
                found.append(json.loads(text))
        return found

    async def differences(self, rest: Rest) -> dict[str, str]:
        """Path and change of everything that is not as recorded.

        Of the mirror everything counts. What the server's own defaults and our completions make of the others is not
        ours: of them the metadata is compared with the recording, and the rest with what it was before.
        """
        recorded = {label(tree): tree for tree in self.row["final"] or () if tree["kind"] in COMPARED}
        now = {label(tree): tree for tree in await self.compared()}
        introduced = set(self.stored) - {label(t) for t in self.row["objects"] if t["kind"] in COMPARED}
        expected = {side: self._expected(side, tree) for side, tree in recorded.items()}
        ours = {side: _comparable(tree) for side, tree in now.items() if side not in introduced}
        found = {change.path: str(change) for change in changes(expected, ours)}
        if bool(self.row["passes"][-1].get("error")) != isinstance(rest.next, Retry):
            found["error"] = f"{self.row['passes'][-1].get('error')!r} -> {rest.next}"
        return found

    def _expected(self, side: str, recorded: Tree) -> Any:
        if side == "mirror" or side not in self.stored:
            return _comparable(recorded)
        before = self.stored[side]
        kept: Tree = {key: before[key] for key in ("spec", "status") if key in before}
        bare = {key: value for key, value in recorded.items() if key not in ("spec", "status")}
        return _comparable({**bare, **kept})


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


@pytest.fixture
async def client(machine_sync_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=machine_sync_plane.kubeconfig()), field_manager="recorded") as client:
        yield client


@pytest.mark.parametrize("row", [*rows()])
async def test_a_recorded_run_ends_as_recorded_on_a_real_api_server(
    machine_sync_plane: ControlPlane, client: Client, row: Tree
) -> None:
    name = f"{row['platform']}-{row['case']}"
    plane = machine_sync_plane
    namespaces = Namespaces(await plane.create_namespace("mapi-"), await plane.create_namespace("capi-"))
    run = Run(client, namespaces, row)
    if name in REFUSED:
        with pytest.raises(Invalid, match=REFUSED[name]):
            await run.load()
    else:
        await run.load()
        rest = await run.to_rest()
        deviation = DEVIATIONS.get(name)
        found = await run.differences(rest)
        assert sorted(found) == sorted(deviation.paths if deviation else ()), found
    for namespace in namespaces:
        await plane.delete_namespace(namespace)


def test_all_but_two_of_the_recorded_runs_are_admissible() -> None:
    names = {row.id for row in rows()}
    assert set(REFUSED) < names
    assert (len(names), len(REFUSED)) == (29, 2)
