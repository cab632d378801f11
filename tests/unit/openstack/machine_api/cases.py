"""A Machine of the Machine API on models of an API server and of a cloud, and the controller in one process."""

from typing import Any, Final

import msgspec

from tests.unit.openstack.clouded import KEY, MARK, NAMESPACE, PROJECT, Process, World
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.config import Infrastructure
from windlass.api.core import ConfigMap, Event, Node, Pod, Secret
from windlass.api.mapi import Machine
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.marks import mark_for
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.openstack.machine_api.controller import machine_api_controller

Tree = dict[str, Any]
NAME: Final = KEY[1]
ROOT: Final = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
OF_CLUSTER_API: Final = mark_for(ROOT, "u-server", f"server/openshift-cluster-api/{NAME}")
"""The mark of the OpenStackServer of the machine in Cluster API."""
LABELS: Final = {"machine.openshift.io/cluster-api-cluster": "shop-x7"}


class Fleet(World):
    """Both models, with what a Machine needs."""

    kinds = (Machine, OpenStackMachine, OpenStackServer, Node, Pod, Infrastructure, ConfigMap, Secret, Event)

    @property
    def machine(self) -> Tree:
        found = self.api.peek(Machine, NAME, namespace=NAMESPACE)
        assert found is not None
        return dict(msgspec.json.decode(found.raw))

    @property
    def status(self) -> Tree:
        return self.machine.get("status") or {}

    @property
    def is_gone(self) -> bool:
        return self.api.peek(Machine, NAME, namespace=NAMESPACE) is None

    def says(self, kind: str) -> str:
        """Status and reason of a condition."""
        found = next(each for each in self.status["conditions"] if each["type"] == kind)
        return f"{found['status']} {found.get('reason', '')}".strip()

    def message(self, kind: str) -> str:
        return next(str(each.get("message", "")) for each in self.status["conditions"] if each["type"] == kind)

    def events(self) -> list[str]:
        return sorted({event.decode().reason for event in self.api.listing(Event)})

    async def change(self, body: Tree, *, part: Any = "") -> None:
        await self.api.patch(Machine, NAME, body, type=PatchType.MERGE, namespace=NAMESPACE, subresource=part)

    async def delete(self) -> None:
        await self.api.delete(Machine, NAME, namespace=NAMESPACE)


class MachineProcess(Process):
    def make(self, reader: Any) -> Any:
        times: dict[str, Any] = {"now": lambda: self.world.now, "new_mark": lambda: MARK}
        return machine_api_controller(reader, self.clouds, namespace=NAMESPACE, **times)


def machine(world: World, *, status: Tree | None = None, meta: Tree | None = None, **value: Any) -> Tree:
    """A Machine with one port on the network of the world."""
    given = {
        "kind": "OpenstackProviderSpec",
        "cloudsSecret": {"name": "credentials", "namespace": NAMESPACE},
        "cloudName": "one",
        "flavor": "m1.small",
        "image": "rhcos",
        "networks": [{"uuid": world.network}],
        **value,
    }
    return {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": LABELS, **(meta or {})},
        "spec": {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": given}},
        **({"status": status} if status else {}),
    }


def node(name: str = "node-0", *, labels: Tree | None = None, ready: str = "True", **spec: Any) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(name: str, *, on: str = "node-0", phase: str = "Running", **meta: Any) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", **meta},
        "spec": {"nodeName": on},
        "status": {"phase": phase},
    }


async def built(world: Fleet, **value: Any) -> MachineProcess:
    """A process that has made a server of the provider spec."""
    world.api.load(machine(world, **value))
    process = MachineProcess(world)
    await process.settle()
    return process


def floating_ip(world: Fleet) -> dict[str, Any]:
    """An address of the project that leads nowhere; the network of the machines has a router to where it is."""

    def ask(method: Any, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return dict(world.cloud.services.handle(PROJECT, Http("network", method, path, body=body))[1])

    public = world.cloud.services.network("public", cidr="203.0.113.0/24", external=True)
    gateway = {"name": "r", "external_gateway_info": {"network_id": public}}
    router = ask("POST", "/v2.0/routers", {"router": gateway})["router"]["id"]
    subnet = world.cloud.services.networks[world.network]["subnets"][0]
    ask("PUT", f"/v2.0/routers/{router}/add_router_interface", {"subnet_id": subnet})
    made: dict[str, Any] = ask("POST", "/v2.0/floatingips", {"floatingip": {"floating_network_id": public}})[
        "floatingip"
    ]
    return made


def other_side(*, mark: str = OF_CLUSTER_API, paused: str = "False", name: str = NAME) -> Tree:
    """The OpenStackServer of the machine in Cluster API."""
    told = {"type": "Paused", "status": paused, "reason": "x", "lastTransitionTime": "2026-11-22T12:00:00Z"}
    return {
        "apiVersion": OpenStackServer.RESOURCE.api_version,
        "kind": "OpenStackServer",
        "metadata": {
            "name": name,
            "namespace": "openshift-cluster-api",
            "uid": "u-server",
            "annotations": {MARK_ANNOTATION: mark},
        },
        "spec": {"identityRef": {"name": "c", "cloudName": "c"}, "flavor": "f", "image": {}, "sshKeyName": ""},
        "status": {"conditions": [told]},
    }


def machine_of_the_other_side(*, mark: str = OF_CLUSTER_API, paused: str = "True") -> Tree:
    """The OpenStackMachine of the machine in Cluster API."""
    there = other_side(mark=mark, paused=paused)
    resource = OpenStackMachine.RESOURCE
    meta = {**there["metadata"], "uid": "u-openstackmachine"}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
        "spec": {"flavor": "f", "image": {}},
        "status": there["status"],
    }
