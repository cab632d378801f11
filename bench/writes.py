"""Measures one changed item of a large list, written in each form: merge patch, JSON patch, server-side apply, PUT.

The object has the shape of a status that many informers fill: pools, informers, and a list of insights of 900 bytes,
lists of the kind `map`, with formats, lengths and CEL rules as such a CRD has them.
"""

import itertools
import statistics
import time
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta, Struct, field

from bench.arena import Arena
from bench.machine import NoiseMeter
from bench.tables import Cell, Table
from windlass.api.meta import KubernetesObject, ObjectMeta, Resource
from windlass.api.schema import DATE_TIME, LIST_ATOMIC, list_map, rule
from windlass.kube.client import Client
from windlass.kube.control.item_patch import item_patch
from windlass.kube.control.merge import merge_patch
from windlass.kube.crd import custom_resource_definition
from windlass.kube.verbs import PatchType
from windlass.testing.binaries import to_stderr

SIZES = (10, 100, 500)
REPEATS, WARM_UP = 30, 3

Name = Annotated[str, Meta(min_length=1, max_length=253, pattern="^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")]
Time = Annotated[str, DATE_TIME]
Tree = dict[str, Any]


class _Part(Struct, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Reference(_Part, kw_only=True):
    group: Annotated[str, Meta(max_length=253)] = ""
    resource: Name
    name: Name


class Condition(_Part, kw_only=True):
    type: Annotated[str, Meta(max_length=316)]
    status: Annotated[str, Meta(pattern="^(True|False|Unknown)$")]
    reason: Annotated[str, Meta(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    message: Annotated[str, Meta(max_length=32768)]
    last_transition_time: Time


class NodeInsight(_Part, kw_only=True):
    name: Name
    resource: Reference
    pool_resource: Reference
    scope_type: Annotated[str, Meta(pattern="^(ControlPlane|WorkerPool)$")]
    version: Annotated[str, Meta(max_length=64)] = ""
    message: Annotated[str, Meta(max_length=100)] = ""
    conditions: Annotated[list[Condition], list_map("type"), Meta(max_length=10)] = field(default_factory=list)


class Union(_Part, kw_only=True):
    SCHEMA: ClassVar = (rule("self.type == 'Node' ? has(self.node) : !has(self.node)", "node is required"),)

    type: Annotated[str, Meta(max_length=32)]
    node: NodeInsight | msgspec.UnsetType = msgspec.UNSET


class Insight(_Part, kw_only=True):
    uid: Annotated[str, Meta(min_length=1, max_length=63, pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    acquired_at: Time
    insight: Union


class Informer(_Part, kw_only=True):
    name: Name
    insights: Annotated[list[Insight], list_map("uid"), Meta(max_length=1024)] = field(default_factory=list)


class Pool(_Part, kw_only=True):
    SCHEMA: ClassVar = (rule("self.name == self.resource.name", "name must match .resource.name"),)

    name: Name
    resource: Reference
    informers: Annotated[list[Informer], list_map("name"), Meta(max_length=16)] = field(default_factory=list)


class Status(_Part, kw_only=True):
    worker_pools: Annotated[list[Pool], list_map("name"), Meta(max_length=32)] = field(default_factory=list)


class Spec(_Part):
    """Empty, and set: without it no field of the object has an owner, and the server tracks none."""


class Board(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """One large status."""

    RESOURCE: ClassVar[Resource] = Resource("bench.windlass.dev", "v1", "Board", "boards", namespaced=False)
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Spec = field(default_factory=Spec)
    status: Status = field(default_factory=Status)


class AtomicInformer(_Part, kw_only=True):
    name: Name
    insights: Annotated[list[Insight], LIST_ATOMIC, Meta(max_length=1024)] = field(default_factory=list)


class AtomicPool(_Part, kw_only=True):
    name: Name
    resource: Reference
    informers: Annotated[list[AtomicInformer], LIST_ATOMIC, Meta(max_length=16)] = field(default_factory=list)


class AtomicStatus(_Part, kw_only=True):
    worker_pools: Annotated[list[AtomicPool], LIST_ATOMIC, Meta(max_length=32)] = field(default_factory=list)


class Slate(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The same with atomic lists, whose items have no owners."""

    RESOURCE: ClassVar[Resource] = Resource("bench.windlass.dev", "v1", "Slate", "slates", namespaced=False)
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Spec = field(default_factory=Spec)
    status: AtomicStatus = field(default_factory=AtomicStatus)


LISTS: dict[str, type[KubernetesObject]] = {"map": Board, "atomic": Slate}
MERGE, JSON, PUT, APPLY = FORMS = ("merge patch", "JSON patch", "PUT", "server-side apply")


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """Forms in turn, on an object each; the sizes of the other benchmarks mean nothing here."""
    async with Arena(directory) as arena:
        rows: list[dict[str, Cell]] = []
        meter = NoiseMeter()
        for lists, kind in LISTS.items():
            await arena.plane.apply_crds(custom_resource_definition(kind))
            for size in SIZES:
                written = [_Written(arena.seed, kind, form, size) for form in FORMS]
                for one in written:
                    await one.create()
                for _, one in itertools.product(range(REPEATS + WARM_UP), written):
                    await one.change()
                rows += [{"lists": lists, "items": size, **await one.figures()} for one in written]
                to_stderr(f"writes: {size} items in {lists} lists")
        noise = meter.read()
    note = f"Others used {noise.others + noise.stolen:.2f} cores meanwhile."
    return [Table(f"One changed item of a list: {REPEATS} writes in each form", list(rows[0]), rows, [note])]


class _Written:
    """One object that is written in one form, and its status as it was last written."""

    def __init__(self, client: Client, kind: type[KubernetesObject], form: str, size: int) -> None:
        self.client = client
        self.kind = kind
        self.form = form
        self.name = f"{form.lower().replace(' ', '-')}-{size}"
        self.path = kind.RESOURCE.path(self.name)
        self.status: Tree = {"workerPools": [_pool(size)]}
        self.taken: list[float] = []
        self.sent = 0

    async def create(self) -> None:
        await self.client.create(self.kind, {**self.identity(), "metadata": {"name": self.name}, "spec": {}})
        if self.form == APPLY:
            await self.by_apply(self.status, "")
        else:
            await self.send(PatchType.MERGE, {"status": self.status})

    async def change(self) -> None:
        """Write another message into the item in the middle."""
        desired: Tree = msgspec.json.decode(msgspec.json.encode(self.status))
        insights = desired["workerPools"][0]["informers"][0]["insights"]
        insights[len(insights) // 2]["insight"]["node"]["message"] = f"draining, step {len(self.taken)}"
        version = (await self.client.get(self.kind, self.name)).resource_version
        forms = {MERGE: self.by_merge, JSON: self.by_json, PUT: self.by_put, APPLY: self.by_apply}
        began = time.perf_counter()
        await forms[self.form](desired, version)
        self.taken.append(1000 * (time.perf_counter() - began))
        self.status = desired

    async def figures(self) -> dict[str, Cell]:
        whole = msgspec.json.decode(await self.client.request("GET", self.path))
        if whole["status"] != self.status:
            raise RuntimeError(f"{self.name} has not been written as it should have")
        counted = self.taken[WARM_UP:]
        return {
            "form": self.form,
            "median, ms": statistics.median(counted),
            "p95, ms": statistics.quantiles(counted, n=20)[-1],
            "sent, bytes": self.sent,
            "managedFields, KB": len(msgspec.json.encode(whole["metadata"]["managedFields"])) / 1000,
        }

    async def by_merge(self, desired: Tree, version: str) -> None:
        patch = merge_patch({"status": self.status}, {"status": desired})
        await self.send(PatchType.MERGE, {**patch, "metadata": {"resourceVersion": version}})

    async def by_json(self, desired: Tree, version: str) -> None:
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        await self.send(PatchType.JSON, [test, *item_patch({"status": self.status}, {"status": desired})])

    async def by_put(self, desired: Tree, version: str) -> None:
        meta = {"name": self.name, "resourceVersion": version}
        await self.send("", {**self.identity(), "metadata": meta, "spec": {}, "status": desired})

    async def by_apply(self, desired: Tree, version: str) -> None:
        meta = {"name": self.name, **({"resourceVersion": version} if version else {})}
        await self.send(PatchType.APPLY, {**self.identity(), "metadata": meta, "status": desired})

    async def send(self, how: PatchType | str, body: Any) -> None:
        encoded = msgspec.json.encode(body)
        self.sent = len(encoded)
        query = {"fieldManager": f"bench-{how or 'put'}".replace("/", "-"), "fieldValidation": "Strict"}
        if how is PatchType.APPLY:
            query["force"] = "true"
        await self.client.request(
            "PATCH" if how else "PUT",
            f"{self.path}/status",
            query=query,
            body=encoded,
            content_type=how or "application/json",
        )

    def identity(self) -> Tree:
        return {"apiVersion": self.kind.RESOURCE.api_version, "kind": self.kind.RESOURCE.kind}


def _pool(size: int) -> Tree:
    group = "machineconfiguration.openshift.io"
    resource = {"group": group, "resource": "machineconfigpools", "name": "worker"}
    insights = [_insight(f"worker-{number:04d}", resource) for number in range(size)]
    return {"name": "worker", "resource": resource, "informers": [{"name": "nodes", "insights": insights}]}


def _insight(node: str, pool: Tree) -> Tree:
    now = "2026-05-01T12:00:00Z"
    conditions = [
        {"type": kind, "status": "False", "reason": "Pending", "message": 60 * "x", "lastTransitionTime": now}
        for kind in ("Updating", "Available", "Degraded")
    ]
    payload = {
        "name": node,
        "resource": {"resource": "nodes", "name": node},
        "poolResource": pool,
        "scopeType": "WorkerPool",
        "version": "4.19.0",
        "message": "pending",
        "conditions": conditions,
    }
    return {"uid": f"node-{node}", "acquiredAt": now, "insight": {"type": "Node", "node": payload}}
