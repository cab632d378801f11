"""A cluster with a bastion on two models: its controller beside that of OpenStackServers, in one process."""

from collections.abc import Mapping
from typing import Any, Final

from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.controller import Controller
from windlass.kube.control.rounds import Ending
from windlass.kube.object import NamespacedName
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.wire import Http, Method
from windlass.openstack.server.controller import server_controller

from .. import clouded
from ..clouded import PROJECT, pause_of
from . import cases
from .cases import HOST, Tree, cluster, infra, secret

NAME: Final = "one-bastion"
SERVER_MARK: Final = "7d3f0d9a-0000-4000-8000-000000000003"
RESTING: Final = 200.0
"""Seconds until the next look at an object that counts as resting."""
BASTION: Final[Tree] = {"spec": {"flavor": "m1.small", "image": {"filter": {"name": "rhcos"}}, "sshKeyName": "key"}}
SPEC: Final[Tree] = {
    "network": None,
    "disableExternalNetwork": None,
    "disableAPIServerFloatingIP": True,
    "controlPlaneEndpoint": HOST,
    "managedSubnets": [{"cidr": "10.6.0.0/24"}],
    "managedSecurityGroups": {},
    "bastion": BASTION,
}
WITHOUT: Final = {
    "networks": 1,
    "subnets": 1,
    "routers": 1,
    "ports": 1,
    "security_groups": 2,
    "security_group_rules": 16,
}
WHOLE: Final = {
    "networks": 1,
    "subnets": 1,
    "routers": 1,
    "ports": 2,
    "security_groups": 3,
    "security_group_rules": 21,
    "floatingips": 1,
    "servers": 1,
}


class World(cases.World):
    """With what a bastion names."""

    def __init__(self, **spec: Any) -> None:
        super().__init__(infra({**SPEC, **spec}), cluster(), secret())
        services = self.cloud.services
        services.external_network()
        services.image("rhcos")
        services.flavor("m1.small")
        services.flavor("m1.medium")
        services.keypairs["key"] = {"name": "key"}

    @property
    def server(self) -> Tree | None:
        """The OpenStackServer."""
        found = self.api.peek(OpenStackServer, NAME, namespace="ns")
        return found.tree() if found is not None else None

    @property
    def told(self) -> Tree:
        """`status.bastion`."""
        return dict(self.tree()["status"].get("bastion") or {})

    @property
    def address(self) -> Tree:
        """The only floating IP of the project."""
        (one,) = self.cloud.services.floatingips.values()
        return dict(one)

    @property
    def ready(self) -> tuple[str, str, str]:
        return self.condition("BastionReady")

    def bastion(self, **spec: Any) -> None:
        """The user changes the spec of the bastion's server."""
        self.change(bastion={**BASTION, "spec": {**BASTION["spec"], **spec}})

    def ask(self, method: Method, path: str, body: Mapping[str, Any] | None = None, *, service: Any = "network") -> Any:
        """Somebody else asks the cloud."""
        status, answer = self.cloud.services.handle(PROJECT, Http(service, method, path, body=body))
        assert status < 300
        self.cloud.pass_time(1.0)
        return answer

    def leads_to_the_server(self) -> bool:
        (port,) = (each for each in self.cloud.services.ports.values() if each["device_owner"].startswith("compute:"))
        return bool(self.address["port_id"] == port["id"])


class _Server(clouded.Process):
    key = ("ns", NAME)

    def make(self, reader: MemoryReader) -> Controller[NamespacedName, Any]:
        return server_controller(reader, self.clouds, now=lambda: self.world.now, new_mark=lambda: SERVER_MARK)


class Process:
    """One life of both controllers."""

    def __init__(self, world: World, *, api: Any = None, clouds: Any = None) -> None:
        self.world = world
        self.cluster = cases.Process(world, api=api, clouds=clouds)
        self.server = _Server(world, api=api, clouds=self.cluster.clouds)

    async def settle(self, *, most: int = 400) -> None:
        """Until neither of them writes any more."""
        for _ in range(most):
            endings = await self.turn()
            writes = any(each.writes for each in endings)
            pause = min((pause for each in endings if (pause := pause_of(each)) is not None), default=RESTING)
            if not writes and pause >= RESTING:
                return
            self.world.cloud.pass_time(0.5 if writes else max(pause, 0.5))
        raise AssertionError(f"no rest after {most} reconciles: {endings}")

    async def turn(self) -> list[Ending]:
        """Each of them once, with fresh lists."""
        for member in list(self.cluster.clouds._members.values()):
            try:
                await member.account.refresh(volumes=True)
            except CloudFailure:
                continue
        return [await self.cluster.step(), await self.server.step()]


async def made(**spec: Any) -> tuple[World, Process]:
    world = World(**spec)
    process = Process(world)
    await process.settle()
    return world, process
