"""Two management clusters that share a project of a cloud, each with all our controllers in one process.

A `Site` is a management cluster: a model of its API server, the process that works there (a `Life`; None while it is
uninstalled), and the others in the cluster. `Sites` has two of them, the model of the cloud, and one clock for all.
"""

import inspect
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final, Protocol

from msgspec import Struct

from tests.unit.openstack.clouded import CLOUDS_YAML, START, no_answer, pause_of, secret
from windlass.api import capi, config, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import ConfigMap, Event, Namespace, Node, Pod, Secret
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.meta import KubernetesObject
from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.rounds import Ending
from windlass.kube.object import NamespacedName
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.controller import machine_controller as synchronizes
from windlass.machine_sync.platforms import OPENSTACK as PLATFORM
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.model.reader import MemoryReader
from windlass.model.writes import Identity
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.cluster.controller import cluster_controller
from windlass.openstack.floating.controller import floating_controller
from windlass.openstack.machine.controller import machine_controller
from windlass.openstack.machine_api.controller import machine_api_controller
from windlass.openstack.pool.controller import pool_controller
from windlass.openstack.server.controller import server_controller
from windlass.testing.crash import Crashed, CrashPoint, MortalApi, MortalCarrier
from windlass.testing.memory_cloud import MemoryCloud, Reply

from .core import core
from .manifests import CLUSTER, MACHINES, MIRRORS, TEAMS, given_cluster, tree

PROJECT: Final = "project"
QUIET: Final = 100.0
"""Seconds without a write after which nobody has anything to do."""
MINUTE: Final = 60.0
RESYNC: Final = 600.0
"""The same where networks are looked at that nobody polls."""
KINDS: Final = (
    OpenStackServer,
    OpenStackMachine,
    OpenStackCluster,
    OpenStackClusterIdentity,
    OpenStackFloatingIPPool,
    capi.Machine,
    capi.MachineSet,
    capi.Cluster,
    mapi.Machine,
    mapi.MachineSet,
    IPAddressClaim,
    IPAddress,
    config.Infrastructure,
    CustomResourceDefinition,
    Namespace,
    Secret,
    ConfigMap,
    Node,
    Pod,
    Event,
)
CONTROLLERS: Final[tuple[tuple[type[Any], Callable[..., Controller[NamespacedName, Any]]], ...]] = (
    (OpenStackMachine, machine_controller),
    (OpenStackServer, server_controller),
    (mapi.Machine, machine_api_controller),
    (OpenStackServer, floating_controller),
    (OpenStackFloatingIPPool, pool_controller),
    (OpenStackCluster, cluster_controller),
)
"""The kind of the keys of each."""


class Asking(Struct, frozen=True):
    """The object that is being reconciled: who asks the cloud for something."""

    site: int
    kind: type[KubernetesObject]
    key: NamespacedName
    uid: str


class Witness(Protocol):
    """Sees each write that the cloud has carried out."""

    def wrote(self, asking: Asking, asked: Any, reply: Reply, /) -> None: ...


class Sites:
    """See the module. `witness` sees what is written to the cloud."""

    def __init__(self, witness: Witness) -> None:
        self.cloud = MemoryCloud(no_answer=no_answer)
        services = self.cloud.services
        services.image("rhcos")
        services.flavor("m1.small")
        self.network = services.network("machines")
        services.external_network()
        self.witness = witness
        self.marks = (f"7d3f0d9a-0000-4000-8000-{number:012}" for number in count())
        self.each = [Site(self, number) for number in range(2)]

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.cloud.services.now)

    @property
    def writes(self) -> int:
        """How often something was asked of the cloud, other than to show something."""
        return sum(each.method != "GET" for each in self.cloud.requests)

    def state(self) -> tuple[Any, ...]:
        """What time changes in the cloud."""
        services = self.cloud.services
        services.advance()
        of_servers = tuple((which, each["status"], each["gone"]) for which, each in services.servers.items())
        return (self.writes, of_servers, tuple((which, each["status"]) for which, each in services.volumes.items()))

    async def turn(self) -> None:
        for site in self.each:
            await site.turn()
        self.cloud.pass_time(0.5)

    async def settle(self, *, most: int = 300) -> None:
        """Reconcile what changed, in both clusters, and let time pass, until nobody has anything to do."""
        quiet = 0.0
        for _ in range(most):
            before = self.state()
            pauses = [await site.turn() for site in self.each]
            if None in pauses or self.state() != before:
                quiet, pause = 0.0, 0.5
            else:
                pause = min(filter(None, pauses))
                if self._is_busy():
                    pause = min(pause, 1.0)
                if any(site.life is not None and site.life.is_behind for site in self.each):
                    self.cloud.pass_time(MINUTE)
                    continue
                quiet += pause
                if quiet > (RESYNC if self._has_clusters() else QUIET - 1.0):
                    return
            self.cloud.pass_time(max(pause, 0.5))
        last = [f"{one}: {ending}" for site in self.each for one, ending in site.endings.items() if ending.writes]
        raise AssertionError(f"no rest after {most} turns: {last}")

    def _has_clusters(self) -> bool:
        return any(found.name != CLUSTER for site in self.each for found in site.api.listing(OpenStackCluster))

    def _is_busy(self) -> bool:
        services = self.cloud.services
        building = any(each["status"] == "BUILD" or each["gone"] is not None for each in services.servers.values())
        return building or any(each["status"] == "creating" for each in services.volumes.values())


class Site:
    """A management cluster."""

    def __init__(self, sites: Sites, number: int) -> None:
        self.sites = sites
        self.number = number
        self.api = _Api(number, *KINDS, clock=lambda: sites.now)
        self.asking: Asking | None = None
        self.life: Life | None = None
        self.endings: dict[str, Ending] = {}
        self.synchronizes = False
        self.writes = 0
        self._calm = -1
        described = {"infrastructureName": CLUSTER, "platformStatus": {"type": "OpenStack"}}
        self.api.load({**tree(config.Infrastructure, "cluster", "", {}), "status": described})
        for place, key in ((MACHINES, "userData"), (MIRRORS, "value")):
            meta = {"name": "worker-user-data", "namespace": place}
            self.api.load({**secret(CLOUDS_YAML), "metadata": meta, "data": {key: "e30="}})
        for place in (*TEAMS, MACHINES, MIRRORS):
            self.api.load({**secret(CLOUDS_YAML), "metadata": {"name": "credentials", "namespace": place}})
        for place in (*TEAMS, MIRRORS):
            self.api.load(*given_cluster(place))
        self.start()

    def start(self, point: CrashPoint | None = None) -> None:
        """A new process begins."""
        self.life = Life(self, point)

    def stop(self) -> None:
        self.life = None

    async def turn(self) -> float | None:
        """All that changed is reconciled, then the others act. Returns the seconds until somebody wants to go on; None
        if something was written."""
        before = self.api.version
        pause = RESYNC
        if self.life is not None:
            try:
                pause = await self.life.turn()
            except Crashed:
                self.start()
                self._calm = before = -1
        self.asking = None
        if self.api.version != self._calm:
            await core(self.api)
            await collect_garbage(self.api)
            self._calm = self.api.version
        return pause if self.api.version == before else None


class Life:
    """One process. A key is reconciled when something changed in its cluster or in the cloud, or its time has come."""

    def __init__(self, site: Site, point: CrashPoint | None) -> None:
        self.site = site
        self.sites = site.sites
        self.clouds = Clouds(
            wire=lambda _: _Wire(site),
            now=lambda: site.sites.now,
            clock=lambda: site.sites.cloud.services.now,
            times=Times(request=31.0),
        )
        self.clouds.begin_term()
        self._point = point or CrashPoint()
        self._due: dict[tuple[int, NamespacedName], tuple[Any, float]] = {}
        self._refreshed: tuple[int, Any] = (-1, None)
        self._polled = 0.0
        carrier: Any = MortalCarrier(self.clouds, self._point)
        api = MortalApi(site.api, self._point)
        self._controllers = [_One(kind, make, site, api, carrier) for kind, make in CONTROLLERS]
        if site.synchronizes:
            self._controllers.insert(0, _Sync(mapi.Machine, synchronizes, site, api, carrier))

    async def turn(self) -> float:
        """Returns the seconds until the next key wants to go on."""
        now, soonest = self.sites.cloud.services.now, RESYNC
        await self._poll()
        for number, one in enumerate(self._controllers):
            keys = one.all_keys()
            gone = {key for which, key in self._due if which == number} - keys
            for key in sorted(keys | gone):
                stamp = (self.site.api.version, self.sites.state(), self._polled)
                seen, due = self._due.get((number, key), (None, 0.0))
                if seen == stamp and due > now:
                    soonest = min(soonest, due - now)
                    continue
                ending = await one.reconcile(key)
                self.site.endings[f"{one.controller.name} {self.site.number} {key}"] = ending
                if key in gone:
                    del self._due[number, key]
                    continue
                pause = _pause(ending)
                soonest = min(soonest, pause)
                self._due[number, key] = (stamp, now + pause)
        return soonest

    async def visit(self) -> None:
        """Reconcile all keys once, whatever changed."""
        for one in self._controllers:
            for key in one.all_keys():
                await one.reconcile(key)
        self.site.asking = None

    @property
    def is_behind(self) -> bool:
        """Something has changed in the cloud since it was listed."""
        follows = any(each.followers for each in self.clouds._members.values())
        return follows and self._refreshed != (self.site.writes, self.sites.state())

    async def _poll(self) -> None:
        """What the process lists again and again while it has objects: at once after a write of its own, else once in a
        minute."""
        now, state = self.sites.cloud.services.now, (self.site.writes, self.sites.state())
        if state == self._refreshed or (state[0] == self._refreshed[0] and now < self._polled + MINUTE):
            return
        self._refreshed, self._polled = state, now
        self.sites.cloud.pass_time(0.01)  # a list of this moment would not be asked for again
        for member in [each for each in self.clouds._members.values() if each.followers]:
            await member.account.refresh(volumes=True)


class _One:
    """A controller in a process."""

    def __init__(self, kind: type[Any], make: Callable[..., Any], site: Site, api: Api, clouds: Any) -> None:
        sites = site.sites
        reader = MemoryReader(site.api)
        possible = {
            "clouds": clouds,
            "now": lambda: sites.now,
            "new_mark": lambda: next(sites.marks),
            "born": clouds.born,
            "machine_api": True if make is floating_controller else MACHINES,
            "platform": PLATFORM,
            "namespaces": Namespaces(),
        }
        takes = inspect.signature(make).parameters
        self.kind = kind
        self.site = site
        self.controller: Controller[Any, Any] = make(
            reader, **{name: value for name, value in possible.items() if name in takes}
        )
        reader.only(self.controller)
        self._asker = self.controller.asker(now=lambda: sites.now)
        self._executor = Executor(
            api,
            ledger=reader,
            permits=Declared(self.controller.declared),
            now=lambda: sites.now,
            systems={OPENSTACK: clouds},
        )

    def all_keys(self) -> set[Any]:
        return {found.key for found in self.site.api.listing(self.kind)}

    async def reconcile(self, key: Any) -> Ending:
        place, name = key if isinstance(key, tuple) else (MACHINES, key)
        found = self.site.api.peek(self.kind, name, namespace=place)
        uid = found.uid if found is not None else ""
        self.site.asking = Asking(self.site.number, self.kind, (place, name), uid)
        return await self.controller.reconcile(
            key,
            executor=self._executor,
            asker=self._asker,
            now=lambda: self.site.sites.now,
        )


class _Sync(_One):
    """The controller that mirrors Machines between both APIs; its keys are names."""

    def all_keys(self) -> set[Any]:
        there = ((mapi.Machine, MACHINES), (capi.Machine, MIRRORS))
        return {found.name for kind, place in there for found in self.site.api.listing(kind, place)}


class _Wire:
    """The connection of one site to the project, before the eyes of the witness."""

    def __init__(self, site: Site) -> None:
        self._wire = site.sites.cloud.wire(PROJECT)
        self._site = site
        self.services = self._wire.services

    async def project_id(self) -> str:
        return PROJECT

    async def send(self, request: Any, /, *, seconds: float, agent: str = "") -> Reply:
        reply = await self._wire.send(request, seconds=seconds, agent=agent)
        if request.method != "GET" and reply.status < 400:
            assert self._site.asking is not None, f"nobody asked for {request}"
            self._site.writes += 1
            self._site.sites.witness.wrote(self._site.asking, request, reply)
        return reply

    def close(self) -> None:
        """Nothing to close."""


class _Api(MemoryApi):
    """No two clusters give the same uid."""

    def __init__(self, site: int, *kinds: Any, **how: Any) -> None:
        self._site = site
        super().__init__(*kinds, **how)

    def _identity(self) -> Identity:
        made = super()._identity()
        return Identity(uid=f"c1{self._site:06}{made.uid[8:]}", suffix=made.suffix)


def _pause(ending: Ending) -> float:
    pause = pause_of(ending)
    return RESYNC if pause is None else pause
