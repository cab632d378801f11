"""A model of an API server with little in it, for the simulators to act on."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from windlass.api import capa, capi, capo, capo_cluster, core, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.control.controller import Controller
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.machines.simulators import (
    infrastructure_machine_simulator,
    machine_api_simulator,
)
from windlass.testing.machines.simulators.instances import Instance, InstanceRecord, instances
from windlass.testing.machines.simulators.platforms import AWS, OPENSTACK, SimulatedPlatform
from windlass.testing.machines.simulators.stepping import actor

BIRTH = datetime(2026, 1, 1, 12, tzinfo=UTC)
MACHINE_API, CLUSTER_API = "openshift-machine-api", "openshift-cluster-api"
KINDS = (
    mapi.Machine,
    mapi.MachineSet,
    capi.Cluster,
    capo.OpenStackMachine,
    capo_cluster.OpenStackCluster,
    capa.AWSMachine,
    capa.AWSCluster,
    core.Node,
    core.Secret,
    capi.Machine,
    InstanceRecord,
)


class World:
    """A model of an API server with one object in it, and a clock that starts at its creation."""

    def __init__(self, kind: type[KubernetesObject], tree: Mapping[str, Any]) -> None:
        resource = kind.RESOURCE
        self.kind = kind
        self.api = MemoryApi(*KINDS, clock=lambda: self.now)
        self.now = BIRTH
        self.name = tree["metadata"]["name"]
        self.namespace = tree["metadata"]["namespace"]
        self.api.load(
            {
                **tree,
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"creationTimestamp": "2026-01-01T12:00:00Z", "uid": "uid-1", **tree["metadata"]},
            }
        )

    async def step(self, make: Callable[[MemoryReader], Controller[Any, Any]], *, after: float = 0.0) -> int:
        self.now = BIRTH + timedelta(seconds=after)
        return await actor(make, now=lambda: self.now)(self.api)

    def tree(self) -> dict[str, Any]:
        found = self.api.peek(self.kind, self.name, namespace=self.namespace)
        assert found is not None, f"{self.name} is gone"
        return found.tree()

    @property
    def gone(self) -> bool:
        return self.api.peek(self.kind, self.name, namespace=self.namespace) is None

    def node(self) -> dict[str, Any] | None:
        found = self.api.peek(core.Node, self.name)
        return found.tree() if found else None

    def add(self, kind: type[KubernetesObject], name: str, namespace: str, **fields: Any) -> None:
        """One more object, as old as the first."""
        metadata = {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": "2026-01-01T12:00:00Z",
            "uid": f"uid-of-{name}",
            **fields.pop("metadata", {}),
        }
        identity = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind}
        self.api.load({**identity, "metadata": metadata, **fields})

    async def merge(self, body: Mapping[str, Any], *, part: str = "") -> None:
        await self.api.patch(
            self.kind, self.name, body, type=PatchType.MERGE, namespace=self.namespace, subresource=part
        )

    async def hand_over(self, authority: str) -> None:
        await self.merge({"status": {"authoritativeAPI": authority}}, part="status")

    async def instances(self) -> list[Instance]:
        return await instances(self.api)

    async def instance(self) -> Instance:
        (only,) = await self.instances()
        return only


def mapi_machine(authority: str = "", spec: Mapping[str, Any] | None = None, **metadata: Any) -> World:
    status = {"status": {"authoritativeAPI": authority}} if authority else {}
    meta = {"name": "worker-1", "namespace": MACHINE_API, **metadata}
    return World(mapi.Machine, {"metadata": meta, "spec": {"authoritativeAPI": "ClusterAPI", **(spec or {})}, **status})


def infra_machine(
    platform: SimulatedPlatform = OPENSTACK, spec: Mapping[str, Any] | None = None, **metadata: Any
) -> World:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "worker-1", "uid": "uid-0"}
    meta = {"name": "worker-1", "namespace": CLUSTER_API, "ownerReferences": [owner], **metadata}
    return World(platform.machine, {"metadata": meta, "spec": spec or {}})


def conditions(tree: Mapping[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in tree["status"]["conditions"]}


def acts(instance: Instance) -> list[str]:
    return [f"{entry.what} by {entry.side}" for entry in instance.entries]


def machine_api(reader: MemoryReader) -> Controller[Any, Any]:
    return machine_api_simulator(reader, platform=AWS, boot_seconds=2, register_seconds=1)


def machine_api_on_openstack(reader: MemoryReader) -> Controller[Any, Any]:
    return machine_api_simulator(reader, platform=OPENSTACK, boot_seconds=2, register_seconds=1)


def openstack(reader: MemoryReader) -> Controller[Any, Any]:
    return infrastructure_machine_simulator(reader, platform=OPENSTACK, boot_seconds=2, register_seconds=1)


def aws(reader: MemoryReader) -> Controller[Any, Any]:
    return infrastructure_machine_simulator(reader, platform=AWS, boot_seconds=2, register_seconds=1)
