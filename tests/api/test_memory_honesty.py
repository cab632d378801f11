"""The in-memory API server against the real one: the same script is played on both, and every answer compared.

A script is a list of requests. What differs by nature is replaced before comparing: uids and resourceVersions by the
order they appear in (so that "nothing was written" shows), times and the namespace by a word.
"""

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

import windlass.model
from tests.patience import PATIENCE
from windlass.api.core import Event, ServiceAccount
from windlass.api.meta import KubernetesObject, ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.errors import ApiError, NotFound
from windlass.kube.object import Object
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.crd_rules import MACHINE_AUTHORITY
from windlass.model import MemoryApi
from windlass.model.checks import EVENT
from windlass.model.garbage import collect_garbage
from windlass.model.schema import Rules, rules_of_crd
from windlass.testing import crds
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane

GROUP = "honesty.windlass.dev"


class Widget(Struct):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "Widget", "widgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Plain(Struct):
    """No status subresource, cluster-scoped."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "Plain", "plains", namespaced=False)
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Unserved(Struct):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "Unserved", "unserveds")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Machine(Struct):
    RESOURCE: ClassVar[Resource] = Resource("machine.openshift.io", "v1beta1", "Machine", "machines")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class ConfigMap(Struct):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NAMED = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": OPEN
        | {
            "properties": {
                "size": {"type": "integer"},
                "mode": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
                "shape": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
                "ports": {
                    "type": "array",
                    "items": NAMED,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "lines": {"type": "array", "items": {"type": "string"}},
                "whole": OPEN | {"x-kubernetes-map-type": "atomic"},
            }
        },
        "status": OPEN
        | {
            "properties": {
                "phase": {"type": "string"},
                "conditions": {
                    "type": "array",
                    "items": OPEN | {"required": ["type"], "properties": {"type": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            }
        },
    },
}


def crd_of(kind: type[KubernetesObject], *, status: bool) -> dict[str, Any]:
    resource = kind.RESOURCE
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.name},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {"plural": resource.plural, "kind": resource.kind, "singular": resource.kind.lower()},
            "versions": [version | ({"subresources": {"status": {}}} if status else {})],
        },
    }


WIDGETS, PLAINS = crd_of(Widget, status=True), crd_of(Plain, status=False)


def machines() -> Mapping[str, Any]:
    return next(
        crd for crd in crds.documents("machine.openshift.io") if crd["metadata"]["name"] == Machine.RESOURCE.name
    )


class Play:
    """Requests to one API, with what it answered."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.answers: list[Any] = []
        self._names: dict[tuple[str, str], str] = {}

    async def ask(self, line: str, request: Awaitable[Any]) -> Any:
        """Make the request, write its answer down under `line`, and return the object if there is one."""
        try:
            answer = await request
        except ApiError as error:
            self.answers.append((line, type(error).__name__, error.code, error.reason, self._worded(str(error))))
            return None
        shown = self._shown(answer.tree()) if isinstance(answer, Object) else answer
        self.answers.append((line, shown))
        return answer

    async def create(self, name: str, *, kind: type[KubernetesObject] = Widget, **body: Any) -> Any:
        whole = self.body(kind, name, body)
        return await self.ask(
            f"create {name} {self._worded(str(body))}", self.api.create(kind, whole, namespace=self.place(kind))
        )

    async def merge(self, name: str, body: Any, *, kind: type[KubernetesObject] = Widget, **how: Any) -> Any:
        return await self.patch(name, body, PatchType.MERGE, kind, how)

    async def json(self, name: str, *operations: Any, kind: type[KubernetesObject] = Widget, **how: Any) -> Any:
        return await self.patch(name, list(operations), PatchType.JSON, kind, how)

    async def patch(self, name: str, body: Any, type_: PatchType, kind: type[KubernetesObject], how: Any) -> Any:
        request = self.api.patch(kind, name, body, type=type_, namespace=self.place(kind), **how)
        return await self.ask(f"{type_.name} {name} {self._worded(str(body))} {how}", request)

    async def delete(self, name: str, *, kind: type[KubernetesObject] = Widget, **how: Any) -> Any:
        return await self.ask(f"delete {name}", self.api.delete(kind, name, namespace=self.place(kind), **how))

    async def get(self, name: str, *, kind: type[KubernetesObject] = Widget) -> Any:
        return await self.ask(f"get {name}", self.api.get(kind, name, namespace=self.place(kind)))

    async def collected(self, name: str, *, gone: bool = False, deleting: bool = False, owners: int = 0) -> None:
        """Wait for the garbage collector to have done this, and write down that it did."""
        deadline = time.monotonic() + PATIENCE
        while True:
            if isinstance(self.api, MemoryApi):
                await collect_garbage(self.api)
            try:
                found = await self.api.get(Widget, name, namespace=self.namespace)
            except NotFound:
                done = gone
            else:
                done = not gone and found.deleting is deleting
                done = done and (deleting or len(found.metadata.owner_references) == owners)
            if done or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        self.answers.append((f"collected {name}", done))

    async def find(self, kind: type[KubernetesObject] = Widget, **selectors: str) -> None:
        async def names() -> list[str]:
            found = await self.api.list(kind, namespace=self.namespace, **selectors)
            return [item.name for item in found.items]

        await self.ask(f"list {selectors}", names())

    def place(self, kind: type[KubernetesObject]) -> str | None:
        return self.namespace if kind.RESOURCE.namespaced else None

    @staticmethod
    def body(kind: type[KubernetesObject], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """`given` with identity; keywords in capitals are metadata: `Labels={...}`."""
        meta = {key[0].lower() + key[1:]: value for key, value in given.items() if key[0].isupper()}
        rest = {key: value for key, value in given.items() if not key[0].isupper()}
        identity = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind}
        return {**identity, "metadata": {"name": name, **meta}, **rest}

    def _shown(self, tree: dict[str, Any]) -> Any:
        meta = tree["metadata"]
        meta["uid"] = self._symbol("uid", meta["uid"])
        meta["resourceVersion"] = self._symbol("version", meta["resourceVersion"])
        for key in ("creationTimestamp", "deletionTimestamp"):
            if key in meta:
                meta[key] = "<time>"
        if "namespace" in meta:
            meta["namespace"] = "<namespace>"
        for owner in meta.get("ownerReferences", ()):
            owner["uid"] = self._symbol("uid", owner["uid"])
        tree.pop("eventTime", None)
        return tree

    def _symbol(self, kind: str, value: str) -> str:
        count = sum(1 for known, _ in self._names if known == kind)
        return self._names.setdefault((kind, value), f"<{kind} {count + 1}>")

    def _worded(self, text: str) -> str:
        for (kind, value), symbol in self._names.items():
            text = text.replace(f"({value})", f"({symbol})") if kind == "version" else text.replace(value, symbol)
        text = text.replace(self.namespace, "<namespace>")
        text = re.sub(
            r'patch: Invalid value: ".*": strict', 'patch: Invalid value: "<body>": strict', text, flags=re.DOTALL
        )
        return re.sub(r"'(resourceVersion|value)': '\d+'", r"'\1': <version>", text).strip()


def owned_by(*owners: Object[Any], block: bool = False) -> list[dict[str, Any]]:
    kind = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
    extra = {"blockOwnerDeletion": True} if block else {}
    return [kind | {"name": found.name, "uid": found.uid} | extra for found in owners]


Script = Callable[[Play], Awaitable[None]]
SCRIPTS: list[Script] = []


def script(play: Script) -> Script:
    SCRIPTS.append(play)
    return play


@script
async def create(play: Play) -> None:
    await play.create("w", spec={"size": 1, "free": {"x": {"y": 1}}}, status={"phase": "x"}, Uid="nope", Generation=7)
    await play.create("labelled", Labels={"a": "b"}, Annotations={}, Finalizers=["windlass.dev/f"], spec={})
    await play.create("deleted-already", DeletionTimestamp="2026-01-01T00:00:00Z")
    await play.create("listed", spec={"ports": [{"name": "a"}, {"name": "b", "port": 1}], "tags": ["x"], "lines": []})
    await play.create("p", kind=Plain, spec={"size": 1}, status={"phase": "kept"})
    await play.merge("p", {"status": {"phase": "counts"}}, kind=Plain)
    await play.delete("p", kind=Plain)


@script
async def refusals(play: Play) -> None:
    await play.create("w")
    await play.create("w")
    await play.get("none")
    await play.merge("none", {"spec": {}})
    await play.json("none")
    await play.merge("none", {"status": {}}, subresource="status")
    await play.delete("none")
    await play.ask("no namespace", play.api.create(Widget, play.body(Widget, "w", {}), namespace="not-there"))
    await play.create("w2", Namespace="other")
    await play.create("", GenerateName="")
    await play.create("w2", ResourceVersion="3")
    await play.merge("w", {"metadata": {"name": "v"}})
    await play.merge("w", {"metadata": {"namespace": "v"}})
    await play.merge("w", {"kind": "Gadget"})
    await play.merge("w", {"spec": {}}, subresource="scale")
    await play.create("p", kind=Plain)
    await play.merge("p", {"status": {}}, kind=Plain, subresource="status")
    await play.delete("p", kind=Plain)
    await play.create("un", kind=Unserved)
    await play.get("un", kind=Unserved)
    await play.merge("un", {}, kind=Unserved)
    await play.delete("un", kind=Unserved)
    await play.create("owned", OwnerReferences=[{"kind": "x", "name": ""}])
    lead = {"apiVersion": "v1", "kind": "x", "controller": True}
    await play.create("owned", OwnerReferences=[{**lead, "name": "a", "uid": "1"}, {**lead, "name": "b", "uid": "2"}])
    await play.create("big", Annotations={"a": "x" * 262_145})


@script
async def generation(play: Play) -> None:
    await play.create("w", spec={"size": 1})
    await play.merge("w", {"spec": {"size": 1}})
    await play.merge("w", {"spec": {"size": 2}})
    await play.merge("w", {"metadata": {"labels": {"a": "b"}}})
    await play.merge("w", {"metadata": {"labels": {"a": "b"}}})
    await play.merge("w", {"metadata": {"labels": None}})
    await play.merge("w", {"metadata": {"generation": 99, "creationTimestamp": None}})
    await play.merge("w", {"spec": {"free": {"a": 1}}})
    await play.merge("w", {"spec": None})
    await play.merge("w", {"status": {"phase": "x"}}, subresource="status")


@script
async def status(play: Play) -> None:
    made = await play.create("w", spec={"size": 1})
    await play.merge("w", {"spec": {"size": 2}, "status": {"phase": "ignored"}})
    everything = {"spec": {"size": 9}, "metadata": {"labels": {"a": "b"}}, "status": {"phase": "x"}}
    await play.merge("w", everything, subresource="status")
    await play.merge("w", {"metadata": {"uid": "wrong"}, "status": {"phase": "y"}}, subresource="status")
    await play.merge(
        "w", {"metadata": {"resourceVersion": made.resource_version}, "status": {"phase": "z"}}, subresource="status"
    )
    await play.merge("w", {"status": {"phase": "y"}}, subresource="status")
    await play.merge("w", {"status": None}, subresource="status")
    await play.merge("w", {"status": {"conditions": [{"type": "a"}, {"type": "a"}]}}, subresource="status")
    await play.merge("w", {"status": {"conditions": [{"status": "a"}]}}, subresource="status")


@script
async def versions(play: Play) -> None:
    made = await play.create("w", spec={"size": 1})
    now = await play.merge("w", {"metadata": {"resourceVersion": made.resource_version}, "spec": {"size": 2}})
    await play.merge("w", {"metadata": {"resourceVersion": made.resource_version}, "spec": {"size": 3}})
    await play.merge("w", {"metadata": {"resourceVersion": made.resource_version}, "spec": {"size": 2}})
    await play.merge("w", {"metadata": {"resourceVersion": now.resource_version}, "spec": {"size": 2}})
    await play.merge("w", {"metadata": {"resourceVersion": None}, "spec": {"size": 3}})
    await play.merge("w", {"metadata": {"resourceVersion": "0"}, "spec": {"size": 3}})
    await play.merge("w", {"metadata": {"resourceVersion": "abc"}, "spec": {"size": 3}})
    await play.merge("w", {"metadata": {"uid": made.uid}, "spec": {"size": 3}})
    await play.merge("w", {"metadata": {"uid": "wrong"}, "spec": {"size": 4}})
    await play.merge("w", {"metadata": {"uid": "wrong"}})
    await play.merge("w", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    await play.json("w", {"op": "replace", "path": "/metadata/resourceVersion", "value": made.resource_version})
    await play.json("w", {"op": "test", "path": "/metadata/resourceVersion", "value": made.resource_version})


@script
async def deletion(play: Play) -> None:
    made = await play.create("w", spec={"size": 1}, Finalizers=["windlass.dev/a", "windlass.dev/b"])
    await play.delete("w", uid="wrong")
    await play.delete("w", resource_version="99999999")
    await play.delete("w", propagation="Sideways")
    await play.delete("w", uid=made.uid, resource_version=made.resource_version)
    await play.delete("w")
    await play.delete("w", uid="wrong")
    await play.delete("w", propagation="Foreground")
    await play.merge("w", {"metadata": {"finalizers": ["windlass.dev/a", "windlass.dev/b"]}})
    await play.merge("w", {"metadata": {"finalizers": ["windlass.dev/a", "windlass.dev/b", "windlass.dev/c"]}})
    await play.merge("w", {"metadata": {"finalizers": ["windlass.dev/b", "windlass.dev/c"]}})
    await play.merge("w", {"spec": {"size": 7}, "metadata": {"deletionTimestamp": None}})
    await play.merge("w", {"metadata": {"finalizers": ["windlass.dev/b"]}})
    await play.merge("w", {"metadata": {"finalizers": None}})
    await play.get("w")
    await play.create("w", spec={"size": 1})
    await play.delete("w")
    held = await play.create("held", Finalizers=["windlass.dev/a"])
    # The real garbage collector takes its finalizer off as soon as nothing blocks: a write between ours.
    await play.create("blocking", OwnerReferences=owned_by(held, block=True), Finalizers=["windlass.dev/a"])
    await play.delete("held", propagation="Foreground")
    await play.merge("held", {"metadata": {"finalizers": []}})
    await play.get("held")


@script
async def json_patch(play: Play) -> None:
    await play.create("w", spec={"size": 1})
    size = "/spec/size"
    await play.json("w", {"op": "test", "path": size, "value": 1}, {"op": "replace", "path": size, "value": 5})
    await play.json("w", {"op": "test", "path": size, "value": 99})
    await play.json("w", {"op": "test", "path": "/spec/none", "value": 99})
    await play.json("w", {"op": "test", "path": "/spec/none", "value": None})
    await play.json("w", {"op": "remove", "path": "/spec/none"})
    await play.json("w", {"op": "replace", "path": "/spec/none", "value": 1})
    await play.json("w", {"op": "add", "path": "/spec/no/deep", "value": 1})
    lines = "/spec/lines"
    await play.json(
        "w",
        {"op": "add", "path": lines, "value": ["a"]},
        {"op": "add", "path": f"{lines}/-", "value": "c"},
        {"op": "add", "path": f"{lines}/1", "value": "b"},
        {"op": "remove", "path": f"{lines}/0"},
    )
    await play.json("w", {"op": "add", "path": f"{lines}/9", "value": "b"})
    await play.json("w", {"op": "frobnicate", "path": size, "value": 1})
    await play.json(
        "w", {"op": "copy", "from": size, "path": "/spec/b"}, {"op": "move", "from": "/spec/b", "path": "/spec/c"}
    )
    await play.json("w", {"op": "add", "path": "/metadata/annotations", "value": {"a/b": "c"}})
    await play.json("w", {"op": "remove", "path": "/metadata/annotations/a~1b"})


@script
async def items_of_lists(play: Play) -> None:
    made = await play.create("w", spec={"size": 1, "m": {"a/b": 1, "c~d": 2}})
    conditions = [{"type": name, "status": "False"} for name in ("A", "B", "C")]
    found = await play.merge("w", {"status": {"conditions": conditions, "deep": [{"l": [1, 2]}]}}, subresource="status")

    def at(version: str) -> dict[str, Any]:
        return {"op": "test", "path": "/metadata/resourceVersion", "value": version}

    second = "/status/conditions/1"
    changed = {"op": "add", "path": f"{second}/status", "value": "True"}
    await play.json("w", at(made.resource_version), changed, subresource="status")
    found = await play.json("w", at(found.resource_version), changed, subresource="status")
    found = await play.json(
        "w",
        at(found.resource_version),
        {"op": "remove", "path": "/status/conditions/0"},
        {"op": "add", "path": second, "value": {"type": "D"}},
        {"op": "replace", "path": "/status/deep/0/l/1", "value": None},
        {"op": "add", "path": "/status/deep/0/l/-", "value": {}},
        subresource="status",
    )
    await play.json("w", at(found.resource_version), {"op": "remove", "path": f"{second}7"}, subresource="status")
    await play.json("w", at(found.resource_version), {"op": "remove", "path": f"{second}/type"}, subresource="status")
    twice = {"op": "add", "path": second, "value": {"type": "C"}}
    await play.json("w", at(found.resource_version), twice, subresource="status")
    await play.json(
        "w",
        at(found.resource_version),
        {"op": "add", "path": "/spec/m/a~1b", "value": 3},
        {"op": "remove", "path": "/spec/m/c~0d"},
    )


@script
async def nulls(play: Play) -> None:
    await play.create("w", spec={"size": None, "open": None, "deep": {"x": None}, "list": [None, 1]})
    await play.json(
        "w", {"op": "add", "path": "/spec/more", "value": None}, {"op": "add", "path": "/spec/size", "value": None}
    )
    await play.merge("w", {"spec": {"open": None, "m": {"z": None, "y": 1}, "list": [{"a": None}]}})


@script
async def strictness(play: Play) -> None:
    await play.create("w", spec={"shape": {"c": "1"}})
    await play.create("w", Nonsense="1")
    await play.ask("top", play.api.create(Widget, play.body(Widget, "w", {"more": 1}), namespace=play.namespace))
    await play.create("w", spec={"shape": "round"})
    await play.create("w", spec={"mode": "sideways"})
    await play.create("w", spec={"tags": ["a", "a"]})
    await play.create("w", spec={"size": 1})
    await play.merge("w", {"more": 1})
    await play.merge("w", {"spec": {"shape": {"c": "1"}}})
    await play.merge("w", {"metadata": {"nonsense": "1"}})
    await play.merge("w", {"spec": {"mode": None}})
    await play.merge("w", {"spec": {"size": "big"}})


@script
async def listing(play: Play) -> None:
    for name, labels in {"c": {"a": "b"}, "a": {"a": "c", "x": "1"}, "b": {}}.items():
        await play.create(name, Labels=labels)
    for text in ("a=b", "a==b,x", "a", "!a", "a in (b,c)", "a notin (b)", "a!=b", "a in (c),x=1", ""):
        await play.find(label_selector=text)
    for text in ("metadata.name=c", "metadata.name!=c", "metadata.name=c,metadata.namespace=other", "spec.size=1"):
        await play.find(field_selector=text)
    for text in ("type=Warning", "reason!=a,involvedObject.kind=Pod", "message=a"):
        await play.find(Event, field_selector=text)


@script
async def machine_authority(play: Play) -> None:
    async def status(**fields: Any) -> None:
        await play.merge("m", {"status": fields}, kind=Machine, subresource="status")

    await play.create("m", kind=Machine, spec={})
    await play.merge("m", {"spec": {"authoritativeAPI": "Foo"}}, kind=Machine)
    await play.merge("m", {"spec": {"authoritativeAPI": "ClusterAPI"}}, kind=Machine)
    await status(authoritativeAPI="Foo")
    await status(authoritativeAPI="MachineAPI", synchronizedGeneration=5)
    await status(authoritativeAPI="ClusterAPI")
    await status(authoritativeAPI=None)
    await status(synchronizedGeneration=3)
    await status(synchronizedGeneration=None)
    await status(synchronizedGeneration=-1)
    await status(synchronizedGeneration=6)
    await status(authoritativeAPI="Migrating")
    await status(synchronizedGeneration=3)
    await status(authoritativeAPI="ClusterAPI", synchronizedGeneration=None)
    await status(authoritativeAPI="MachineAPI")
    await status(authoritativeAPI="Migrating")
    await status(authoritativeAPI="MachineAPI")
    await status(conditions=[{"type": "A", "status": "True"}])


@script
async def core_kinds(play: Play) -> None:
    about = {"kind": "Widget", "apiVersion": f"{GROUP}/v1", "name": "w", "namespace": play.namespace}
    rest = {"reason": "R", "message": "m", "type": "Normal", "count": 1, "source": {"component": "x"}}
    rest |= {"reportingComponent": "x", "reportingInstance": "", "firstTimestamp": None, "lastTimestamp": None}
    await play.create("e", kind=Event, involvedObject=about | {"namespace": "elsewhere"}, **rest)
    await play.create("e", kind=Event, involvedObject=about | {"namespace": ""}, **rest)
    await play.create("c", kind=ConfigMap, data={"a": "b"})
    await play.merge("c", {"data": {"a": "c"}}, kind=ConfigMap)
    await play.merge("c", {"metadata": {"finalizers": ["plain", "a/b"]}}, kind=ConfigMap)
    await play.merge("c", {"metadata": {"resourceVersion": None}, "data": {"a": "d"}}, kind=ConfigMap)
    await play.merge("c", {"data": {"a": "c"}}, kind=ConfigMap, subresource="status")
    await play.delete("c", kind=ConfigMap)


@script
async def tokens(play: Play) -> None:
    async def lifetime(name: str, **how: Any) -> Any:
        before = datetime.now(UTC)
        status = await play.api.request_token(name, namespace=play.namespace, **how)
        assert status.token
        assert status.expiration_timestamp is not None
        return round((status.expiration_timestamp - before).total_seconds(), -2)

    await play.create("puller", kind=ServiceAccount)
    await play.ask("a token", lifetime("puller", audiences=["registry.example"], seconds=1200))
    await play.ask("another", lifetime("puller"))
    await play.ask("too short", lifetime("puller", seconds=599))
    await play.ask("for nobody", lifetime("nobody"))
    await play.get("puller", kind=ServiceAccount)


@script
async def garbage(play: Play) -> None:
    owner = await play.create("owner")
    other = await play.create("other")

    await play.create("dependent", OwnerReferences=owned_by(owner))
    await play.create("shared", OwnerReferences=owned_by(owner, other))
    await play.create("held", OwnerReferences=owned_by(owner), Finalizers=["windlass.dev/f"])
    await play.delete("owner")
    await play.collected("dependent", gone=True)
    await play.collected("shared", owners=1)
    await play.collected("held", deleting=True)
    await play.merge("held", {"metadata": {"finalizers": None}})
    await play.create("blocking", OwnerReferences=owned_by(other, block=True))
    await play.delete("other", propagation="Foreground")
    await play.collected("blocking", gone=True)
    await play.collected("other", gone=True)
    await play.collected("shared", gone=True)
    # Foreground goes down: what is below is deleted although what is between still stays.
    top = await play.create("top")
    between = await play.create("between", OwnerReferences=owned_by(top, block=True), Finalizers=["windlass.dev/a"])
    await play.create("below", OwnerReferences=owned_by(between, block=True), Finalizers=["windlass.dev/a"])
    await play.delete("top", propagation="Foreground")
    await play.collected("below", deleting=True)
    await play.merge("below", {"metadata": {"finalizers": None}})
    await play.collected("below", gone=True)
    await play.merge("between", {"metadata": {"finalizers": None}})
    await play.collected("top", gone=True)
    parent = await play.create("parent")
    await play.create("orphan", OwnerReferences=owned_by(parent))
    await play.delete("parent", propagation="Orphan")
    await play.collected("parent", gone=True)
    await play.collected("orphan", owners=0)


@pytest.fixture
async def client(windlass_plane: PlaneAccess, windlass_kubeconfig: Path) -> AsyncIterator[Client]:
    await windlass_plane.apply_crds(WIDGETS, PLAINS)
    await windlass_plane.apply_crds(*crds.documents("machine.openshift.io"))
    async with Client(config.load(kubeconfig=windlass_kubeconfig)) as client:
        yield client


def model(namespace: str) -> MemoryApi:
    return MemoryApi(
        rules_of_crd(Widget, WIDGETS),
        rules_of_crd(Plain, PLAINS),
        rules_of_crd(Machine, machines(), checks=MACHINE_AUTHORITY),
        Rules(Event, status=False, checks=(EVENT,)),
        Rules(ConfigMap, status=False),
        Rules(ServiceAccount, status=False),
        namespaces={namespace},
    )


@pytest.mark.parametrize("play", SCRIPTS, ids=lambda play: play.__name__)
async def test_the_model_answers_like_the_real_api_server(
    play: Script, client: Client, windlass_namespace: str
) -> None:
    real, modelled = Play(client, windlass_namespace), Play(model(windlass_namespace), windlass_namespace)
    await play(real)
    await play(modelled)
    pairs = itertools.zip_longest(modelled.answers, real.answers)
    differences = [f"model: {ours}\n real: {theirs}" for ours, theirs in pairs if ours != theirs]
    assert not differences, "\n".join(["the model and the real API server differ:", *differences])


def test_the_table_of_rules_names_every_script_and_no_other() -> None:
    table = [line for line in (windlass.model.__doc__ or "").splitlines() if line.startswith("|")][2:]
    proofs = [name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[2])]
    assert {*proofs} == {play.__name__ for play in SCRIPTS}
