"""A pool of floating IPs with claims, and servers that want one, on two models: an API server and a cloud."""

from collections.abc import Mapping
from typing import Any, Final

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.control.controller import Controller
from windlass.kube.object import NamespacedName
from windlass.model.garbage import collect_garbage
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.marks import mark_for
from windlass.openstack.constants import CLAIM_SUFFIX
from windlass.openstack.floating.controller import floating_controller
from windlass.openstack.pool.controller import pool_controller

from .. import clouded
from ..clouded import NAMESPACE, PROJECT, server

Tree = dict[str, Any]

POOL: Final = "addresses"
MARK: Final = "7d3f0d9a-0000-4000-8000-000000000003"
OWN: Final = mark_for(MARK, "OpenStackFloatingIPPool-addresses", f"pool/{NAMESPACE}/{POOL}")
"""The mark of the pool."""
REF: Final = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackFloatingIPPool", "name": POOL}
TAG: Final = f"cluster-api-provider-openstack-fip-pool-{POOL}"
CLAIM: Final = f"worker-0{CLAIM_SUFFIX}"


def tree(kind: type[Any], name: str, spec: Tree, **meta: Any) -> Tree:
    return {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, **meta},
        "spec": spec,
    }


def pool(**spec: Any) -> Tree:
    identity = {"type": "Secret", "name": "credentials", "cloudName": "one"}
    spec = {"identityRef": identity, "reclaimPolicy": "Delete", **spec}
    return tree(OpenStackFloatingIPPool, POOL, spec, uid="OpenStackFloatingIPPool-addresses")


def claim(name: str, **meta: Any) -> Tree:
    return tree(IPAddressClaim, name, {"poolRef": REF}, **meta)


class World(clouded.World):
    """The network of machines has a router to the external network `public`."""

    def __init__(self, *trees: Tree) -> None:
        super().__init__()
        self.external = self.cloud.services.external_network()
        self.connect(self.network)
        self.api.load(*trees)

    def connect(self, network: str) -> None:
        """A router of the project leads from the network to the external one."""
        gateway = {"external_gateway_info": {"network_id": self.external}}
        router = self.ask("POST", "/v2.0/routers", {"router": gateway})["router"]["id"]
        subnet = self.cloud.services.networks[network]["subnets"][0]
        self.ask("PUT", f"/v2.0/routers/{router}/add_router_interface", {"subnet_id": subnet})

    def ask(self, method: Any, path: str, body: Any = None) -> Any:
        """A user of the project asks Neutron."""
        asked = type("Asked", (), {"service": "network", "method": method, "path": path, "body": body})
        return self.cloud.services.handle(PROJECT, asked)[1]

    def floating_ip(self, **state: Any) -> str:
        """A floating IP of the user's; its address."""
        body = {"floatingip": {"floating_network_id": self.external, **state}}
        return str(self.ask("POST", "/v2.0/floatingips", body)["floatingip"]["floating_ip_address"])

    def here(self, kind: type[Any]) -> dict[str, Tree]:
        return {each.name: each.tree() for each in self.api.listing(kind)}

    @property
    def pool(self) -> Tree:
        return self.here(OpenStackFloatingIPPool)[POOL]

    @property
    def given(self) -> dict[str, str]:
        """Addresses by claim, of IPAddresses that are not being deleted."""
        return {
            name: each["spec"]["address"]
            for name, each in self.here(IPAddress).items()
            if "deletionTimestamp" not in each["metadata"]
        }

    @property
    def addresses(self) -> list[str]:
        """All floating IPs that there are."""
        return sorted(each["floating_ip_address"] for each in self.cloud.services.floatingips.values())

    def condition(self, kind: type[Any], name: str, type: str) -> tuple[str, str, str]:  # noqa: A002
        (one,) = [each for each in self.here(kind)[name]["status"]["conditions"] if each["type"] == type]
        return one["status"], one["reason"], one["message"]

    def held(self) -> Mapping[str, int]:
        """What the project has, without the router and its port."""
        return {kind: n for kind, n in super().held().items() if kind != "routers"}

    async def delete(self, kind: type[Any], name: str) -> None:
        await self.api.delete(kind, name, namespace=NAMESPACE)


class Pools(clouded.Process):
    """One life of the controller of pools."""

    key = (NAMESPACE, POOL)
    root = MARK
    """That of the marks that it makes up."""

    def make(self, reader: MemoryReader) -> Controller[NamespacedName, Any]:
        return pool_controller(reader, self.clouds, now=lambda: self.world.now, new_mark=lambda: self.root)


class Floating(clouded.Process):
    """One life of the controller that gives the server its floating IP."""

    def make(self, reader: MemoryReader) -> Controller[NamespacedName, Any]:
        return floating_controller(reader, self.clouds, now=lambda: self.world.now)


class All:
    """One life of all three controllers, for one server, beside the garbage collector."""

    def __init__(self, world: World, **process: Any) -> None:
        self.world = world
        first = Pools(world, **process)
        shared = {**process, "clouds": first.clouds}
        self.processes = (first, clouded.Process(world, **shared), Floating(world, **shared))

    async def settle(self, *, most: int = 20) -> None:
        for _ in range(most):
            before = self.world.api.listing(IPAddress), self.world.api.listing(IPAddressClaim), self._versions()
            for each in self.processes:
                await each.settle()
            await collect_garbage(self.world.api)
            if before == (self.world.api.listing(IPAddress), self.world.api.listing(IPAddressClaim), self._versions()):
                return
        raise AssertionError(f"no rest after {most} turns")

    async def turn(self) -> None:
        """A few reconciles of each, where something stays in the way."""
        for each in (*self.processes, *self.processes):
            await each.step()
            self.world.cloud.pass_time(2)

    def _versions(self) -> list[str]:
        kinds: tuple[type[Any], ...] = (OpenStackServer, OpenStackFloatingIPPool)
        return [each.metadata.resource_version for kind in kinds for each in self.world.api.listing(kind)]


def wanting(world: World, **spec: Any) -> Tree:
    """The OpenStackServer `worker-0`, which wants a floating IP of the pool."""
    return server(world, **{"floatingIPPoolRef": REF, **spec})
