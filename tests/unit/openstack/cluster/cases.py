"""An OpenStackCluster with all that it needs, as trees, and its controller on two models: an API server and a cloud."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event, Namespace, Secret
from windlass.kube.control.controller import Controller
from windlass.kube.control.rounds import Ending
from windlass.kube.object import NamespacedName
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.marks import mark_for
from windlass.openstack.cluster.controller import cluster_controller
from windlass.openstack.cluster.resolve import Resolve, resolve
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.testing.memory_cloud import MemoryCloud

from .. import clouded
from ..clouded import PROJECT, no_answer

Tree = dict[str, Any]

MARK = "7d3f0d9a-0000-4000-8000-000000000002"
KEY = ("ns", "one-infra")
OWN = mark_for(MARK, "OpenStackCluster-one-infra", "cluster/ns/one-infra")
"""The mark of the OpenStackCluster, as long as it is not created again."""
START = datetime(2026, 11, 22, 12, tzinfo=UTC)
FINALIZER = "openstackcluster.infrastructure.cluster.x-k8s.io"
GONE = "2026-11-22T11:00:00Z"
HOST = {"host": "api.example", "port": 6443}
SPEC: Tree = {
    "identityRef": {"type": "Secret", "name": "cloud", "cloudName": "one"},
    "network": {"filter": {"name": "machines"}},
    "disableExternalNetwork": True,
    "disableAPIServerFloatingIP": True,
    "controlPlaneEndpoint": HOST,
}


def tree(kind: type[Any], name: str, spec: Tree, **meta: Any) -> Tree:
    return {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "metadata": {"name": name, "namespace": "ns", "uid": f"{kind.RESOURCE.kind}-{name}", "generation": 1, **meta},
        "spec": spec,
    }


def infra(spec: Tree | None = None, status: Tree | None = None, **meta: Any) -> Tree:
    resource = Cluster.RESOURCE
    reference = {"apiVersion": resource.api_version, "kind": "Cluster", "name": "one", "uid": "Cluster-one"}
    whole = {name: value for name, value in {**SPEC, **(spec or {})}.items() if value is not None}
    found = tree(OpenStackCluster, "one-infra", whole, **{"ownerReferences": [reference], **meta})
    return {**found, "status": status} if status else found


def cluster(**spec: Any) -> Tree:
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackCluster", "name": "one-infra"}
    return tree(Cluster, "one", {"infrastructureRef": reference, **spec})


def machine(name: str) -> Tree:
    return tree(Machine, name, {"clusterName": "one"})


def secret(password: str = "right") -> Tree:
    clouds = f"clouds: {{one: {{auth: {{auth_url: 'http://keystone/v3', password: {password}}}}}}}"
    data = {"clouds.yaml": base64.b64encode(clouds.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud", "namespace": "ns"}, "data": data}


class World:
    """Both models, and what a test lays out in them."""

    def __init__(self, *trees: Tree, times: Times = Times()) -> None:  # noqa: B008
        self.cloud = MemoryCloud(no_answer=no_answer)
        kinds = (OpenStackCluster, OpenStackMachine, OpenStackServer, Cluster, Machine)
        others = (OpenStackClusterIdentity, Secret, Namespace, Event)
        self.api = MemoryApi(*kinds, *others, clock=lambda: self.now)
        self.network = self.cloud.services.network("machines")
        self.api.load(*trees)
        self.times = times
        self._process: Process | None = None

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.cloud.services.now)

    @property
    def process(self) -> "Process":
        """The process that lives since the first look at it."""
        self._process = self._process or Process(self)
        return self._process

    def clouds(self) -> Clouds:
        """The clouds of a process that has just started."""
        return Clouds(
            wire=lambda _: self.cloud.wire(PROJECT),
            now=lambda: self.now,
            clock=lambda: self.cloud.services.now,
            times=self.times,
        )

    async def rest(self) -> Ending:
        """What there is to do is done."""
        ending = await self.process.step()
        assert not ending.failed, ending
        return ending

    def tree(self) -> Tree:
        found = self.api.peek(OpenStackCluster, KEY[1], namespace=KEY[0])
        assert found is not None
        return found.tree()

    @property
    def is_gone(self) -> bool:
        return self.api.peek(OpenStackCluster, KEY[1], namespace=KEY[0]) is None

    @property
    def mark(self) -> str:
        return str(self.tree()["metadata"]["annotations"][MARK_ANNOTATION])

    def change(self, **spec: Any) -> None:
        """The user changes the spec; None removes a field."""
        whole = self.tree()
        whole["spec"] = {name: value for name, value in {**whole["spec"], **spec}.items() if value is not None}
        whole["metadata"].pop("resourceVersion")
        whole["metadata"]["generation"] += 1
        self.api.load(whole)

    async def delete(self) -> None:
        await self.api.delete(OpenStackCluster, KEY[1], namespace=KEY[0])

    def condition(self, type: str) -> tuple[str, str, str]:  # noqa: A002
        (one,) = [each for each in self.tree()["status"]["conditions"] if each["type"] == type]
        return one["status"], one["reason"], one["message"]

    def held(self) -> Mapping[str, int]:
        return self.cloud.services.held(PROJECT)


class Process(clouded.Process):
    """One life of the controller of OpenStackClusters."""

    key = KEY
    root = MARK
    """That of the marks that it makes up."""

    def __init__(self, world: Any, *, resolve: Resolve = resolve, **others: Any) -> None:
        self.resolve = resolve
        super().__init__(world, **others)

    def make(self, reader: MemoryReader) -> Controller[NamespacedName, Any]:
        return cluster_controller(
            reader, self.clouds, now=lambda: self.world.now, new_mark=lambda: self.root, resolve=self.resolve
        )
