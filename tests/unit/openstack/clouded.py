"""The server controller on two models: an API server and a cloud, with one clock for both."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, Final

import msgspec

from windlass.api import orc
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event, Namespace, Secret
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.mapi import Machine
from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.plan import Outcome, RequeueAfter, Retry
from windlass.kube.control.rounds import Ending
from windlass.kube.object import NamespacedName
from windlass.kube.verbs import Api
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, Unavailable
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.cloud.wire import Http
from windlass.openstack.questions import InProject, Look
from windlass.openstack.server.controller import server_controller
from windlass.testing.memory_cloud import MemoryCloud

NAMESPACE: Final = "machines"
PROJECT: Final = "project"
KEY: Final = (NAMESPACE, "worker-0")
START: Final = datetime(2026, 11, 22, 12, tzinfo=UTC)
CLOUDS_YAML: Final = "clouds: {one: {auth: {auth_url: 'http://keystone/v3'}}}"
MARK: Final = "7d3f0d9a-0000-4000-8000-000000000001"


def no_answer(service: str, write: bool, slow: bool) -> CloudFailure:
    kind = Doubtful if write else Unavailable
    return kind(service, "no answer in 28 s" if slow else "no answer: the connection was closed")


class World:
    """Both models, and what a test lays out in them."""

    kinds: tuple[type[Any], ...] = (
        OpenStackServer,
        OpenStackMachine,
        Cluster,
        OpenStackClusterIdentity,
        Secret,
        Namespace,
        Event,
        Machine,
        OpenStackFloatingIPPool,
        IPAddressClaim,
        IPAddress,
        orc.Image,
    )

    def __init__(self) -> None:
        self.cloud = MemoryCloud(no_answer=no_answer)
        self.api = MemoryApi(*self.kinds, clock=lambda: self.now)
        self._ticks = count()
        self.image = self.cloud.services.image("rhcos")
        self.flavor = self.cloud.services.flavor("m1.small")
        self.network = self.cloud.services.network("machines")
        self.api.load(secret())

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.cloud.services.now)

    @property
    def server(self) -> dict[str, Any]:
        found = self.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE)
        assert found is not None
        return dict(msgspec.json.decode(found.raw))

    def clouds(self) -> Clouds:
        """The clouds of a process that has just started."""
        return Clouds(
            wire=lambda _: self.cloud.wire(PROJECT),
            now=lambda: self.now,
            clock=self._clock,
            times=Times(request=31.0),
        )

    def _clock(self) -> float:
        """Like a real one, it never gives the same time twice: a list begins before or after a request."""
        return self.cloud.services.now + next(self._ticks) * 1e-9

    def held(self) -> Mapping[str, int]:
        return self.cloud.services.held(PROJECT)

    def posts(self, path: str) -> int:
        """How often something was asked for below `path`."""
        return sum(each.method == "POST" and each.path.endswith(path) for each in self.cloud.requests)


class Process:
    """One life of the process. `step` is one reconcile; `settle` goes on until a minute has passed without a write."""

    key: NamespacedName = KEY
    mirrors: str = NAMESPACE
    """The namespace of OpenStackServers that may get servers from Machines of the Machine API."""

    def __init__(self, world: Any, *, api: Api | None = None, clouds: Any = None, machine_api: str = "") -> None:
        self.world = world
        self.machine_api = machine_api
        self.clouds = clouds or world.clouds()
        self.clouds.begin_term()
        self.api = api or world.api
        reader = MemoryReader(world.api)
        self.controller = self.make(reader)
        reader.only(self.controller)
        self._asker = self.controller.asker(now=lambda: world.now)
        self._executor = Executor(
            self.api,
            ledger=reader,
            permits=Declared(self.controller.declared),
            now=lambda: world.now,
            systems={OPENSTACK: self.clouds},
        )
        self.endings: list[Ending] = []

    def make(self, reader: MemoryReader) -> Controller[NamespacedName, Any]:
        """The controller."""
        return server_controller(
            reader,
            self.clouds,
            now=lambda: self.world.now,
            new_mark=lambda: MARK,
            machine_api=self.machine_api,
            mirrors=self.mirrors,
        )

    async def look(self) -> ServerInventory:
        """What the next decision finds in the cloud."""
        inquiry = self._asker.inquiry(self.key)
        seen = await self.controller.observe(self.key, Outcome())
        await inquiry.decide(seen, partial(self.controller.decide, now=self.world.now))
        found = next(answer for question, answer in inquiry.answers.items() if isinstance(question, Look))
        assert isinstance(found, InProject)
        inventory: ServerInventory = found.value
        return inventory

    async def step(self) -> Ending:
        ending = await self.controller.reconcile(
            self.key,
            executor=self._executor,
            asker=self._asker,
            now=lambda: self.world.now,
        )
        self.endings.append(ending)
        return ending

    async def settle(self, *, most: int = 400) -> None:
        """Reconcile, and let time pass as the endings say, until the object rests."""
        quiet = 0.0
        for _ in range(most):
            ending = await self.step()
            pause = pause_of(ending)
            if pause is None and not ending.writes:
                return
            quiet = 0.0 if ending.writes else quiet + (pause or 0.0)
            if quiet > 200.0:
                return
            self.world.cloud.pass_time(max(pause or 0.0, 0.5))
            for member in list(self.clouds._members.values()):
                try:
                    await member.account.refresh(volumes=True)
                except CloudFailure:
                    continue
        raise AssertionError(f"no rest after {most} reconciles: {self.endings[-3:]}")


def pause_of(ending: Ending) -> float | None:
    match ending.next:
        case RequeueAfter(seconds=seconds):
            return seconds
        case Retry():
            return 1.0
    return None


def secret(text: str = CLOUDS_YAML) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "credentials", "namespace": NAMESPACE},
        "data": {"clouds.yaml": base64.b64encode(text.encode()).decode()},
    }


def server(world: World, **spec: Any) -> dict[str, Any]:
    """An OpenStackServer with one port on the network of the world."""
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "OpenStackServer",
        "metadata": {"name": KEY[1], "namespace": NAMESPACE},
        "spec": {
            "identityRef": {"type": "Secret", "name": "credentials", "cloudName": "one"},
            "image": {"filter": {"name": "rhcos"}},
            "flavor": "m1.small",
            "sshKeyName": "",
            "ports": [{"network": {"id": world.network}}],
            **spec,
        },
    }


def attached(world: World, *, mark: str) -> None:
    """One more port of the server, which no list has shown yet."""
    (owner,) = world.cloud.services.servers
    world.cloud.services.ports[_port(world, mark=mark)].update(device_id=owner, device_owner="compute:az1")


def begun_by_a_newer_one(world: World) -> None:
    """One more port, beside the one that there is: of an object of the same name that was made later."""
    (port,) = world.cloud.services.ports.values()
    root, _, place = port["description"].partition("windlass-owner=")[2].split("/", 2)
    _port(world, mark=f"{root}/ffffffffffffffff/{place}")


def _port(world: World, *, mark: str) -> str:
    """Create a port with the mark; returns the ID of the port."""
    body = {"network_id": world.network, "description": f"windlass-owner={mark}"}
    _, made = world.cloud.services.handle(PROJECT, Http("network", "POST", "/v2.0/ports", body={"port": body}))
    return str(made["port"]["id"])
