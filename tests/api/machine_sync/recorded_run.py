"""One recorded run of OpenShift's controllers of Machines and MachineSets, repeated on a real API server.

The recordings were made on a fake client that validates nothing. Here a run begins with its objects completed so that
the API server admits them (`complete`), with the server's own uids, and with deletions made by deleting. What is there
once ours has taken it to rest is compared with the recording by the rules of the in-memory model.
"""

import asyncio
import copy
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from msgspec.structs import replace

from tests.objects import new_namespaces
from tests.recorded.runs import NOW, Deviation, is_of_encoding, name_of, other_end, scrubbed
from windlass.api import capi, mapi
from windlass.api import config as openshift
from windlass.api.meta import KubernetesObject, Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.merge import FieldChange, changes
from windlass.kube.control.permissions import Declared
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.rounds import Decide, Ending
from windlass.kube.errors import AlreadyExists, Invalid
from windlass.kube.process.pool import CachePool
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.platforms import PLATFORMS, Platform
from windlass.testing import ControlPlane

from .examples import Tree

RECORDED_NAMESPACES = Namespaces()

S = TypeVar("S")

COUNTED: dict[Any, tuple[Tree, ...]] = {
    capi.Machine: ({"minReadySeconds": 1},),
    mapi.Machine: ({"taints": []}, {"providerID": "counted"}),
}
"""Fields of the spec by which a recorded generation is reached: the first that the run does not have."""


class Pod:
    """Owner of some recorded machines."""

    RESOURCE = Resource("", "v1", "Pod", "pods")


class Run(ABC, Generic[S]):
    """One recorded run on the plane: its namespaces, and which uid became which. `S` is what its rules look at."""

    DEFAULTED: ClassVar[tuple[str, ...]]
    """Where the server fills in what nobody has written, or we do to please it: how such paths begin."""

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

    @abstractmethod
    def label(self, tree: Tree) -> str:
        """What an object is called in paths; empty if it is not compared."""

    @abstractmethod
    async def to_rest(self, rules: Decide[S]) -> Ending:
        """How our controller ends, whose rules are these."""

    async def reconciled(self, rules: Decide[S], make: Callable[..., Controller[str, S]]) -> Ending:
        """How one pass of the controller that `make` gives ends, with its caches filled and `rules` in its place."""
        pool, reader = CachePool(self.client), CacheReader(self.client)
        controller = make(reader, platform=self.platform, namespaces=self.namespaces)
        try:
            for watch in controller.watches:
                cache = pool.acquire(watch)
                reader.add(cache, watch)
                await cache.wait_settled()
            return await replace(controller, decide=rules).reconcile(
                self.row["request"],
                executor=Executor(
                    self.client, permits=Declared(controller.declared), ledger=pool.ledger, now=lambda: NOW
                ),
                now=lambda: NOW,
            )
        finally:
            await pool.close()

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
        self.stored = {self.label(tree): tree for tree in await self.compared()}

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
        found = [tree for tree in self.row["objects"] if self.label(tree) == "machine_api"]
        return any((tree.get("status") or {}).get("authoritativeAPI") != "ClusterAPI" for tree in found)

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
        field: Tree = next((each for each in COUNTED.get(kind, ()) if not each.keys() & spec.keys()), {})
        wanted = recorded.get("generation", 1) if field else 1
        first = {**spec, **field} if wanted % 2 == 0 else spec
        made = await self.client.create(kind, {"metadata": metadata, "spec": first}, **place)
        for generation in range(2, wanted + 1):
            body: Tree = {"spec": dict.fromkeys(field) if generation % 2 == wanted % 2 else field}
            made = await self.client.patch(kind, made.name, body, type=PatchType.MERGE, **place)
        assert not field or made.metadata.generation == wanted, made.metadata
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
                    # A set of machines that are synchronized is synchronized, too.
                    **({"status": self._synchronized()} if owner["kind"] == "MachineSet" else {}),
                }
            )
            for owner in missing
        ]

    def _synchronized(self) -> Tree:
        return {"authoritativeAPI": "MachineAPI" if self.of_machine_api else "ClusterAPI", "synchronizedGeneration": 1}

    async def compared(self) -> list[Tree]:
        """The objects that recordings show, in the words of the recording."""
        found = []
        for kind in self.kinds.values():
            for item in (await self.client.list(kind, namespace=self.home(kind))).items:
                tree = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **item.tree()}
                if self.label(tree):
                    found.append(tree)
        words = {tree["metadata"]["uid"]: "created-uid-1" for tree in found}
        words |= {made: recorded for recorded, made in self.uids.items()}
        words |= dict(zip(self.namespaces, RECORDED_NAMESPACES, strict=True))
        return [_translated(tree, words) for tree in found]

    async def differences(self, rest: Ending, *, expected_paths: set[str]) -> dict[str, str]:
        """Path and change of everything that is not as recorded.

        Of the Machine API's object everything counts, and of its mirror. What the server's own defaults and our
        completions make of the objects of Cluster API is not ours: while that is authoritative, their metadata is
        compared with the recording, and the rest with what it was before.
        """
        recorded = {self.label(tree): tree for tree in self.row["final"] or () if self.label(tree)}
        now = {self.label(tree): tree for tree in await self.compared()}
        introduced = set(self.stored) - {self.label(tree) for tree in self.row["objects"]}
        expected = {side: self._expected(side, tree) for side, tree in recorded.items()}
        ours = {side: _comparable(tree) for side, tree in now.items() if side not in introduced}
        found = {
            change.path: str(change)
            for change in changes(expected, ours)
            if not is_of_encoding(change) and (change.path in expected_paths or not self._is_default(change))
        }
        return found | other_end(self.row, rest)

    def _expected(self, side: str, recorded: Tree) -> Any:
        if side == "machine_api" or side not in self.stored or self.of_machine_api:
            return _comparable(recorded)
        before = self.stored[side]
        kept: Tree = {key: before[key] for key in ("spec", "status") if key in before}
        bare = {key: value for key, value in recorded.items() if key not in ("spec", "status")}
        return _comparable({**bare, **kept})

    def _is_default(self, change: FieldChange) -> bool:
        return change.before is None and change.path.startswith(self.DEFAULTED)


def _comparable(tree: Tree) -> Any:
    """`scrubbed`, with deletions told by their fact and not their time."""
    tree = copy.deepcopy(tree)
    if tree["metadata"].get("deletionTimestamp"):
        tree["metadata"]["deletionTimestamp"] = "deleting"
    return scrubbed(tree)


def _translated(tree: Tree, words: Mapping[str, str]) -> Tree:
    text = json.dumps(tree)
    for ours, theirs in words.items():
        text = text.replace(ours, theirs)
    translated: Tree = json.loads(text)
    return translated


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
        case "OpenStackCluster":
            tree["spec"] = {"identityRef": {"name": "x", "cloudName": "x"}, **(tree.get("spec") or {})}
        case "Pod":
            tree["spec"] = {"containers": [{"name": "c", "image": "i"}]}
        case "MachineSet" if not tree.get("spec"):
            labels = {"machine.openshift.io/cluster-api-machineset": tree["metadata"]["name"]}
            tree["spec"] = {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"providerSpec": {}}},
            }
    return tree


def whichever_template(path: str) -> str:
    """A template's name has a digest of its spec, whose tags name the namespace, which each run here has of its own."""
    return re.sub(r"^template ms-[0-9a-f]{8}$", "template", path)


async def assert_as_recorded(
    of: type[Run[S]],
    row: Tree,
    rules: Decide[S],
    *,
    plane: ControlPlane,
    refused: Mapping[str, str],
    deviations: Mapping[str, Deviation],
) -> None:
    """Repeat the run by `rules`, unless the server refuses what it must: for which field, says `refused`."""
    name = name_of(row)
    namespaces = await asyncio.to_thread(new_namespaces, plane.blocking)
    async with Client(config.load(kubeconfig=plane.kubeconfig()), field_manager="recorded") as client:
        run = of(client, namespaces, row)
        if name in refused:
            with pytest.raises(Invalid, match=refused[name]):
                await run.load()
        else:
            await run.load()
            rest = await run.to_rest(rules)
            paths = deviations[name].paths if name in deviations else set()
            found = await run.differences(rest, expected_paths=paths)
            assert {*map(whichever_template, found)} == {*map(whichever_template, paths)}, "\n".join(found.values())
