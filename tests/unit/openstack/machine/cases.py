"""A machine with all that it needs, as trees, and the controller on the in-memory API server."""

from copy import deepcopy
from datetime import datetime
from typing import Any

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.kube.control.controller import Controller
from windlass.kube.control.rounds import Ending
from windlass.kube.object import NamespacedName
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.machine.controller import machine_controller

from ..process import NOW, to_rest

Tree = dict[str, Any]
Process = tuple[Controller[NamespacedName, Any], MemoryReader]

ID = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
OTHER_ID = "11111111-8e5f-4d0c-9b0e-3f0a2a1d7c55"
MARK = "aaaaaaaa-0000-4000-8000-000000000000"
KEY = ("ns", "w-0")
FINALIZER = "openstackmachine.infrastructure.cluster.x-k8s.io"
SERVER_FINALIZER = "openstackserver.infrastructure.cluster.x-k8s.io"
PAUSED = "cluster.x-k8s.io/paused"
KINDS = (OpenStackMachine, OpenStackServer, OpenStackCluster, Machine, Cluster, Event)
GONE = "2026-11-22T11:00:00Z"


def tree(kind: type[Any], name: str, spec: Tree, status: Tree | None = None, **meta: Any) -> Tree:
    whole = {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "metadata": {"name": name, "namespace": "ns", "uid": f"{kind.RESOURCE.kind}-{name}", "generation": 1, **meta},
        "spec": deepcopy(spec),
    }
    return {**whole, "status": deepcopy(status)} if status else whole


def owned_by(kind: type[Any], name: str) -> list[Tree]:
    resource = kind.RESOURCE
    uid = f"{resource.kind}-{name}"
    return [{"apiVersion": resource.api_version, "kind": resource.kind, "name": name, "uid": uid}]


SPEC: Tree = {
    "flavor": "m1.small",
    "image": {"filter": {"name": "rhcos"}},
    "sshKeyName": "key",
    "identityRef": {"type": "Secret", "name": "cloud", "cloudName": "prod"},
}


def machine(spec: Tree | None = None, status: Tree | None = None, **meta: Any) -> Tree:
    """The OpenStackMachine."""
    labels = {"cluster.x-k8s.io/cluster-name": "one"}
    usual = {"labels": labels, "ownerReferences": owned_by(Machine, "m-0")}
    return tree(OpenStackMachine, "w-0", {**SPEC, **(spec or {})}, status, **{**usual, **meta})


def owner(**spec: Any) -> Tree:
    """The Machine."""
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": "w-0"}
    usual = {
        "clusterName": "one",
        "bootstrap": {"dataSecretName": "w-0-data"},
        "infrastructureRef": reference,
        "failureDomain": "az-1",
    }
    return tree(Machine, "m-0", {key: value for key, value in {**usual, **spec}.items() if value is not None})


def cluster(*, provisioned: bool = True, **spec: Any) -> Tree:
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackCluster", "name": "one-infra"}
    status = {"initialization": {"infrastructureProvisioned": True}} if provisioned else None
    return tree(Cluster, "one", {"infrastructureRef": reference, **spec}, status)


NETWORK = "22222222-8e5f-4d0c-9b0e-3f0a2a1d7c55"


def infra(spec: Tree | None = None, status: Tree | None = None) -> Tree:
    """The OpenStackCluster."""
    identity = {"type": "Secret", "name": "cluster-cloud", "cloudName": "prod"}
    found = {"network": {"id": NETWORK, "name": "machines"}}
    owners = owned_by(Cluster, "one")
    whole = {"identityRef": identity, **(spec or {})}
    return tree(OpenStackCluster, "one-infra", whole, found if status is None else status, ownerReferences=owners)


def server(state: str = "", conditions: list[Tree] | None = None, status: Tree | None = None, **meta: Any) -> Tree:
    """The OpenStackServer, as its own controller leaves it."""
    told = {
        "ready": state == "ACTIVE",
        **({"instanceState": state, "instanceID": ID} if state else {}),
        **({"addresses": ADDRESSES} if state == "ACTIVE" else {}),
        **({"conditions": conditions} if conditions else {}),
        **(status or {}),
    }
    usual = {
        "labels": {"cluster.x-k8s.io/cluster-name": "one"},
        "annotations": {"openstack.windlass.dev/mark": MARK},
        "finalizers": [SERVER_FINALIZER],
        "ownerReferences": owned_by(OpenStackMachine, "w-0"),
    }
    return tree(OpenStackServer, "w-0", {**SPEC, "ports": [{}]}, told, **{**usual, **meta})


ADDRESSES = [{"type": "InternalIP", "address": "10.0.0.5"}, {"type": "InternalDNS", "address": "w-0"}]


def says(type: str, status: str, reason: str, message: str = "") -> Tree:  # noqa: A002
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-22T10:00:00Z",
    }


def held(**annotations: str) -> Tree:
    """The metadata of a machine that has had its visit."""
    return {"finalizers": [FINALIZER], "annotations": {"openstack.windlass.dev/mark": MARK, **annotations}}


def all_of_it(**others: Tree | None) -> list[Tree]:
    """A new machine and what it needs; None leaves one out."""
    usual: dict[str, Tree | None] = {"machine": machine(), "owner": owner(), "cluster": cluster(), "infra": infra()}
    return [each for each in {**usual, **others}.values() if each is not None]


class World:
    """The controller on the in-memory API server."""

    def __init__(self, *trees: Tree) -> None:
        self.api = MemoryApi(*KINDS, clock=lambda: NOW)
        self.api.load(*trees)
        self.born: list[str] = []

    def process(self) -> Process:
        """What one process has, and remembers."""
        reader = MemoryReader(self.api)
        return machine_controller(reader, born=self._bear), reader

    async def attempt(self, now: datetime = NOW, *, process: Process | None = None) -> Ending:
        controller, reader = process or self.process()
        return await to_rest(controller, KEY, api=self.api, reader=reader, now=now)

    async def rest(self, now: datetime = NOW, *, process: Process | None = None) -> int:
        """What there is to do is done; returns the number of writes. `process`: None is a new one."""
        ending = await self.attempt(now, process=process)
        assert not ending.failed, ending
        return ending.writes

    def _bear(self, mark: str) -> str:
        self.born.append(mark)
        return mark

    def load(self, *trees: Tree) -> None:
        """Others write."""
        self.api.load(*trees)

    def status(self, kind: type[Any], name: str = "w-0", **fields: Any) -> None:
        """The status of an object becomes this."""
        whole = self.tree(kind, name)
        whole["status"] = {**whole.get("status", {}), **fields}
        whole["metadata"].pop("resourceVersion")
        self.api.load(whole)

    def tree(self, kind: type[Any] = OpenStackMachine, name: str = "w-0") -> Tree:
        found = self.api.peek(kind, name, namespace="ns")
        assert found is not None, f"there is no {kind.RESOURCE.kind} {name}"
        return found.tree()

    def exists(self, kind: type[Any] = OpenStackMachine, name: str = "w-0") -> bool:
        return self.api.peek(kind, name, namespace="ns") is not None

    def condition(self, type: str, kind: type[Any] = OpenStackMachine) -> tuple[str, str, str]:  # noqa: A002
        (one,) = [each for each in self.tree(kind)["status"]["conditions"] if each["type"] == type]
        return one["status"], one["reason"], one["message"]

    def events(self) -> list[str]:
        return [f"{found.decode().reason}: {found.decode().message}" for found in self.api.listing(Event)]
