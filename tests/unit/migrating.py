"""A machine on OpenStack that moves between the APIs, on models of an API server and of a cloud.

`Ours` is one life of both processes: Machine sync, and the controllers of OpenStack with `--machine-api`. Cluster API's
core, the garbage collector and a user are actors.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

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
from windlass.kube.conditions import is_true
from windlass.kube.control.plan import WaitFor
from windlass.kube.control.rounds import Ending
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.constants import (
    CLUSTER_API,
    CLUSTER_API_FINALIZER,
    MACHINE_API,
    PAUSED_ANNOTATION,
    Namespaces,
)
from windlass.machine_sync.crd_rules import machine_api as machine_api_rules
from windlass.machine_sync.machine.controller import machine_controller as synchronizes
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED
from windlass.machine_sync.platforms import OPENSTACK as PLATFORM
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.floating.controller import floating_controller
from windlass.openstack.machine.controller import machine_controller
from windlass.openstack.machine_api.controller import machine_api_controller
from windlass.openstack.pool.controller import pool_controller
from windlass.openstack.server.controller import server_controller
from windlass.testing.crash import Actor

from .machine_sync.machine.actors import cluster_api_core
from .openstack import clouded
from .openstack.clouded import CLOUDS_YAML, pause_of
from .openstack.pool import cases as pools

Tree = dict[str, Any]

OURS, THEIRS = Namespaces()
NAME: Final = "worker-0"
CLUSTER: Final = "shop-x7"
KINDS: Final[tuple[Any, ...]] = (
    machine_api_rules(mapi.Machine),
    machine_api_rules(mapi.MachineSet),
    capi.Machine,
    capi.MachineSet,
    capi.Cluster,
    OpenStackMachine,
    OpenStackCluster,
    OpenStackServer,
    OpenStackClusterIdentity,
    OpenStackFloatingIPPool,
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
QUIET: Final = 200.0
"""Seconds without a write after which nobody has anything to do."""


class MigrationWorld(pools.World):
    """Both models, and a cluster with both APIs. A router leads from its network to the external one."""

    kinds = KINDS

    def __init__(self, *trees: Tree) -> None:
        super().__init__()
        self.lives = count()
        infra = {"identityRef": {"type": "Secret", "name": "credentials", "cloudName": "one"}}
        reference = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": CLUSTER}
        provisioned = {"initialization": {"infrastructureProvisioned": True}}
        described = {"infrastructureName": CLUSTER, "platformStatus": {"type": "OpenStack"}}
        self.api.load(
            *(_credentials(place) for place in (OURS, THEIRS)),
            {**_tree(config.Infrastructure, "cluster", None), "status": described},
            {**_tree(capi.Cluster, CLUSTER, THEIRS), "spec": {"infrastructureRef": reference}, "status": provisioned},
            {**_tree(OpenStackCluster, CLUSTER, THEIRS), "spec": infra},
            *trees,
        )

    def machine(self, authority: str = MACHINE_API, **value: Any) -> Tree:
        """A Machine of the Machine API that a user makes."""
        given = {
            "apiVersion": "machine.openshift.io/v1alpha1",
            "kind": "OpenstackProviderSpec",
            "cloudsSecret": {"name": "credentials", "namespace": OURS},
            "cloudName": "one",
            "flavor": "m1.small",
            "image": "rhcos",
            "networks": [{"uuid": self.network}],
            **value,
        }
        labels = {"machine.openshift.io/cluster-api-cluster": CLUSTER}
        spec = {"authoritativeAPI": authority, "providerSpec": {"value": given}}
        return {**_tree(mapi.Machine, NAME, OURS, labels=labels), "spec": spec}

    def infra_machine(self, **spec: Any) -> Sequence[Tree]:
        """A Machine of Cluster API with its OpenStackMachine, and the Machine of the Machine API that asks for it. A
        field that is None is left out."""
        reference = {"apiGroup": OpenStackMachine.RESOURCE.group, "kind": "OpenStackMachine", "name": NAME}
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER}
        data = {"dataSecretName": "worker-user-data"}
        identity = {"name": "credentials", "cloudName": "one"}
        image = {"filter": {"name": "rhcos"}}
        made = {"identityRef": identity, "image": image, "flavor": "m1.small", "ports": self._ports, **spec}
        made = {name: value for name, value in made.items() if value is not None}
        body = {"clusterName": CLUSTER, "bootstrap": data, "infrastructureRef": reference}
        user_data = {**_tree(Secret, "worker-user-data", THEIRS), "data": {"value": "e30="}}
        asking = self.machine(CLUSTER_API)
        asking["spec"]["providerSpec"] = {"value": {}}
        return (
            user_data,
            {**_tree(OpenStackMachine, NAME, THEIRS, labels=labels), "spec": made},
            {**_tree(capi.Machine, NAME, THEIRS, labels=labels, finalizers=[CLUSTER_API_FINALIZER]), "spec": body},
            asking,
        )

    @property
    def _ports(self) -> list[Tree]:
        return [{"network": {"id": self.network}}]

    # looks

    def tree(self, kind: type[KubernetesObject]) -> Tree | None:
        place = OURS if kind is mapi.Machine else THEIRS
        found = self.api.peek(kind, NAME, namespace=place)
        return found.tree() if found is not None else None

    def conditions(self, kind: type[KubernetesObject]) -> list[Tree]:
        return ((self.tree(kind) or {}).get("status") or {}).get("conditions") or []

    @property
    def status(self) -> Tree:
        return (self.tree(mapi.Machine) or {}).get("status") or {}

    def is_at(self, authority: str) -> bool:
        """The machine has arrived, its mirror is in sync, and its controllers say that it is ready."""
        at_home = mapi.Machine if authority == MACHINE_API else OpenStackMachine
        return (
            self.status.get("authoritativeAPI") == authority
            and is_true(self.conditions(mapi.Machine), SYNCHRONIZED)
            and is_true(self.conditions(at_home), "Ready")
        )

    def marks(self) -> set[str]:
        """Those on all that there is of the machine in the cloud."""
        services = self.cloud.services
        of_nova = (*services.servers.values(), *services.volumes.values())
        described = (*services.ports.values(), *services.trunks.values())
        ours = [each for each in described if each.get("device_owner", "").startswith("compute:") or "port_id" in each]
        return {each["metadata"].get(MARK, "") for each in of_nova} | {
            (each.get("description") or "").rpartition("=")[2] for each in ours
        }

    def mark_at(self, authority: str) -> str:
        """The mark of the object that has the server under this authority."""
        found = self.tree(mapi.Machine if authority == MACHINE_API else OpenStackServer)
        name = MACHINE_MARK_ANNOTATION if authority == MACHINE_API else MARK_ANNOTATION
        return str(((found or {"metadata": {}})["metadata"].get("annotations") or {}).get(name, "none"))

    def writes(self, since: int = 0) -> list[str]:
        """What was asked of the cloud, other than to show something."""
        asked = self.cloud.requests[since:]
        return [f"{each.method} {each.path}" for each in asked if each.method != "GET"]

    # what a user does

    async def move(self, authority: str) -> None:
        await asks(self.api, authority)


class Ours:
    """One life of both processes. The controllers take turns; who is first in one life is last in the next."""

    def __init__(self, land: MigrationWorld, *, api: Api | None = None, clouds: Any = None) -> None:
        self.land = land
        self.clouds = clouds or land.clouds()
        life = next(land.lives)
        marks = (f"7d3f0d9a-0000-4000-8000-{number:012}" for number in count(life * 100))

        def new_mark() -> str:
            return next(marks)

        def now() -> Any:
            return land.now

        theirs, ours = (THEIRS, NAME), (OURS, NAME)
        common: dict[str, Any] = {"clouds": self.clouds, "now": now}
        self.each = [
            self._one(NAME, lambda reader: synchronizes(reader, platform=PLATFORM, namespaces=Namespaces()), api),
            self._one(theirs, lambda reader: machine_controller(reader, born=self.clouds.born), api),
            self._one(
                theirs, lambda reader: server_controller(reader, **common, new_mark=new_mark, machine_api=OURS), api
            ),
            self._one(theirs, lambda reader: floating_controller(reader, **common, machine_api=OURS), api),
            self._one((THEIRS, pools.POOL), lambda reader: pool_controller(reader, **common, new_mark=new_mark), api),
            self._one(ours, lambda reader: machine_api_controller(reader, **common, new_mark=new_mark), api),
        ]
        if life % 2:
            self.each.reverse()

    def _one(self, key: Any, make: Callable[[Any], Any], api: Api | None) -> clouded.Process:
        kind = type("One", (clouded.Process,), {"key": key, "make": lambda _, reader: make(reader)})
        made: clouded.Process = kind(self.land, api=api, clouds=self.clouds)
        return made

    async def settle(self, *, most: int = 400) -> None:
        """Reconcile all in turn, and let time pass as they say, until nobody has written for a while."""
        quiet = 0.0
        for _ in range(most):
            endings = [await one.step() for one in self.each]
            if any(ending.writes for ending in endings):
                quiet = 0.0
                self.land.cloud.pass_time(0.5)
            else:
                pause = min(map(_pause, endings), default=QUIET)
                quiet += pause
                if quiet >= QUIET:
                    return
                self.land.cloud.pass_time(max(pause, 0.5))
            for member in list(self.clouds._members.values()):
                try:
                    await member.account.refresh(volumes=True)
                except CloudFailure:
                    continue
        raise AssertionError(f"no rest after {most} turns: {[one.endings[-1] for one in self.each]}")


async def play(land: MigrationWorld, *actors: Actor, most: int = 50) -> None:
    """One life of ours, with the actors between, until nothing changes any more."""
    ours = Ours(land)
    for _ in range(most):
        before = land.api.version
        await ours.settle()
        for act in (*actors, *OTHERS):
            await act(land.api)
        if land.api.version == before:
            return
    raise AssertionError(f"no rest after {most} turns")


async def core_copies(api: MemoryApi) -> None:
    """Cluster API's core takes over what the infrastructure provider says of a machine that is not paused."""
    machine, infra = (api.peek(kind, NAME, namespace=THEIRS) for kind in (capi.Machine, OpenStackMachine))
    if machine is None or infra is None or PAUSED_ANNOTATION in machine.metadata.annotations or machine.deleting:
        return
    told, status = infra.tree(), infra.tree().get("status") or {}
    if not (status.get("initialization") or {}).get("provisioned"):
        return
    body: Tree = {"spec": {"providerID": told["spec"].get("providerID")}}
    await api.patch(capi.Machine, NAME, body, type=PatchType.MERGE, namespace=THEIRS)
    copied = {"phase": "Provisioned", "addresses": status.get("addresses"), "initialization": PROVISIONED}
    body = {"status": copied}
    await api.patch(capi.Machine, NAME, body, type=PatchType.MERGE, namespace=THEIRS, subresource="status")


PROVISIONED: Final = {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True}
OTHERS: Final[tuple[Actor, ...]] = (cluster_api_core, core_copies, collect_garbage)
"""Who else is in the cluster."""


async def asks(api: MemoryApi, authority: str) -> None:
    body = {"spec": {"authoritativeAPI": authority}}
    await api.patch(mapi.Machine, NAME, body, type=PatchType.MERGE, namespace=OURS)


def _pause(ending: Ending) -> float:
    if isinstance(ending.next, WaitFor):
        return ending.next.safety
    pause = pause_of(ending)
    return QUIET if pause is None else pause


def _tree(kind: type[KubernetesObject], name: str, place: str | None, **meta: Any) -> Tree:
    resource = kind.RESOURCE
    where = {"namespace": place} if place else {}
    meta = {"name": name, **where, "uid": f"{resource.kind}-{place}-{name}", "generation": 1, **meta}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}


def _credentials(place: str) -> Tree:
    return {**clouded.secret(CLOUDS_YAML), "metadata": {"name": "credentials", "namespace": place}}
