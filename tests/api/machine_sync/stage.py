"""Machine sync on a real API server: the namespaces of one test, the actors around it, and ways to wait.

    async with stage.syncing():                      # the service, under the permissions that we ship
        await stage.machine("w-0")                   # a Cluster API Machine with all that belongs to it
        mirror = await stage.in_sync("w-0")

Nothing here sleeps for luck: every wait is for a condition, with a deadline, and says what there was instead.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import structs

from tests.authorizer import allowed
from tests.objects import home, identity, new_namespaces
from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.config import ClusterVersion, FeatureGate, Infrastructure
from windlass.api.core import Event
from windlass.api.meta import KubernetesObject
from windlass.capability import service
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.client.watch import EventType
from windlass.kube.config import Impersonation
from windlass.kube.errors import Conflict, KubeError, NotFound
from windlass.kube.verbs import PatchType
from windlass.machine_sync import rbac
from windlass.machine_sync.constants import (
    CLUSTER_API_FINALIZER,
    LEASE_NAME,
    MACHINE_API_FINALIZER,
    SYNC_FINALIZER,
    Namespaces,
)
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT
from windlass.machine_sync.service import frame as machine_sync
from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.facade import PlaneAccess
from windlass.testing.plane.rest import MERGE_PATCH

from .examples import EXAMPLES, Example, Tree

SUCCESS = "Successfully synchronized CAPI Machine to MAPI"
RELEASE = "4.22.0"
CLUSTER_ID = "11111111-2222-4333-8444-555555555555"
REPORTED: Tree = {"availableUpdates": [], "observedGeneration": 1, "versionHash": ""}
"""What the status of a ClusterVersion must have beside the release."""
CLUSTER = "c"
SET = "ms"
SINCE = "2026-01-01T00:00:00Z"
SOURCE_API = capi.Machine.RESOURCE.api_version


class History:
    """States of objects in the order in which they were seen; `gone` are names of those that were deleted."""

    def __init__(self) -> None:
        self.trees: list[Tree] = []
        self.gone: list[str] = []

    def add(self, happened: EventType, tree: Tree) -> None:
        if happened is EventType.DELETED:
            self.gone.append(tree["metadata"]["name"])
        else:
            self.trees.append(tree)

    async def latest(self) -> Tree:
        return self.trees[-1] if self.trees else {}


def describe_cluster(plane: BlockingAccess, *, platform: str) -> None:
    """What the Machine API's controllers and webhooks read of the cluster, once, when they start."""
    group = "config.openshift.io/v1"
    plane.apply(
        {"apiVersion": group, "kind": "DNS", "metadata": {"name": "cluster"}, "spec": {"baseDomain": "example.com"}},
        {"apiVersion": group, "kind": "Infrastructure", "metadata": {"name": "cluster"}, "spec": {}},
    )
    described = {"type": platform, **EXAMPLES[platform].described}
    status = {"status": {"infrastructureName": CLUSTER, "platformStatus": described}}
    path = f"/apis/{group}/infrastructures/cluster/status"
    plane.rest.request("PATCH", path, status, content_type=MERGE_PATCH)


@asynccontextmanager
async def new_stage(plane: PlaneAccess, platform: str) -> AsyncIterator["Stage"]:
    """An empty stage on a cluster where Machine sync is enabled, with the permissions that it needs."""
    namespaces = await asyncio.to_thread(new_namespaces, plane.blocking)
    async with Client(config.load(kubeconfig=plane.kubeconfig()), field_manager="test") as admin:
        stage = Stage(plane, admin, namespaces=namespaces, example=EXAMPLES[platform])
        await stage.grant()
        await stage.enable()
        yield stage


class Stage:
    """See the module. `namespaces` are the two of this test; `admin` may do everything; Machine sync is `user`."""

    def __init__(self, plane: PlaneAccess, admin: Client, *, namespaces: Namespaces, example: Example) -> None:
        self.plane = plane
        self.admin = admin
        self.namespaces = namespaces
        self.example = example
        self.account: Path
        self.user = ""

    # who we are

    async def grant(self, home: str = "") -> None:
        """Make the ServiceAccount that Machine sync runs as, with the permissions that we ship and no others.

        `home` is its namespace, by default that of Cluster API.
        """
        account = DEFAULT_SERVICE_ACCOUNT.within(home or self.namespaces.cluster_api)
        await self.plane.apply(
            *rbac.documents(namespaces=self.namespaces, service_account=account, platforms=[self.example.name])
        )
        self.account = await self.plane.service_account_kubeconfig(account.namespace, account.name)
        self.user = f"system:serviceaccount:{account.namespace}:{account.name}"
        where = {"namespace": self.namespaces.cluster_api, "name": LEASE_NAME}
        await allowed(self.plane.blocking.rest, self.user, "get", "leases.coordination.k8s.io", **where)

    @asynccontextmanager
    async def syncing(
        self, *, server: str = "", acts_as: str = "", **settings: Any
    ) -> AsyncIterator["asyncio.Task[None]"]:
        """The service in this process, without an election. `server`: where it finds the API server. `acts_as`: in
        whose name it acts."""
        cluster = config.load(kubeconfig=self.account, impersonate=Impersonation(user=acts_as) if acts_as else None)
        if server:
            cluster = structs.replace(cluster, server=server)
        usual: dict[str, Any] = {"times": None}
        frame = machine_sync(self.namespaces)
        task = asyncio.create_task(service.run(cluster, service.ProcessSettings(**{**usual, **settings}), frame))
        try:
            yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    # the cluster

    async def enable(self, *, platform: str = "", gates: tuple[str, ...] = ("MachineAPIMigration",)) -> None:
        """The cluster-scoped objects that say whether Machine sync runs, and for which platform."""
        await self.singleton(Infrastructure, "cluster", {"platformStatus": {"type": platform or self.example.name}})
        release = {"desired": {"version": RELEASE, "image": "release"}, **REPORTED}
        await self.singleton(ClusterVersion, "version", release, spec={"clusterID": CLUSTER_ID})
        enabled = [{"name": gate} for gate in gates]
        await self.singleton(FeatureGate, "cluster", {"featureGates": [{"version": RELEASE, "enabled": enabled}]})

    async def singleton(
        self, kind: type[KubernetesObject], name: str, status: Tree, *, spec: Tree | None = None
    ) -> None:
        await self.plane.apply({**identity(kind), "metadata": {"name": name}, "spec": spec or {}})
        await self.admin.patch(kind, name, {"status": status}, type=PatchType.MERGE, subresource="status")

    async def cluster(self) -> None:
        """What conversion to Cluster API needs: the cluster as it describes itself, its Cluster and infra cluster."""
        described = {"type": self.example.name, **self.example.described}
        status = {"infrastructureName": CLUSTER, "platformStatus": described}
        await self.singleton(Infrastructure, "cluster", status)
        kind = self.example.platform.infra_cluster.RESOURCE
        reference = {"apiGroup": kind.group, "kind": kind.kind, "name": CLUSTER}
        await self.make(capi.Cluster, CLUSTER, {"infrastructureRef": reference})
        await self.infra_cluster()

    async def infra_cluster(self, name: str = CLUSTER) -> Tree:
        return await self.make(self.example.platform.infra_cluster, name, self.example.cluster_spec)

    async def source_set(self, name: str = SET) -> Tree:
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER, "cluster.x-k8s.io/set-name": name}
        template = {"metadata": {"labels": labels}, "spec": self.source_spec(name)}
        spec = {"clusterName": CLUSTER, "replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        return await self.make(capi.MachineSet, name, spec)

    async def mirror_set(self, name: str = SET) -> Tree:
        labels = {"machine.openshift.io/cluster-api-machineset": name}
        spec = {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "authoritativeAPI": "ClusterAPI",
            "template": {"metadata": {"labels": labels}, "spec": {"providerSpec": {"value": {}}}},
        }
        return await self.make(mapi.MachineSet, name, spec)

    # machines

    async def machine(
        self, name: str, *, owner: str | None = SET, infra: bool = True, spec: Tree | None = None, **metadata: Any
    ) -> Tree:
        """A Cluster API Machine as Cluster API core has it after a moment: owned, held, with its infra machine.

        `owner` names its MachineSet, which must exist; None: an independent machine.
        """
        if owner is not None:
            metadata["ownerReferences"] = [await self.reference(capi.MachineSet, owner, controller=True)]
        metadata = {"finalizers": [CLUSTER_API_FINALIZER], **metadata}
        made = await self.make(capi.Machine, name, {**self.source_spec(name), **(spec or {})}, **metadata)
        if infra:
            await self.infra_machine(name)
        return made

    async def infra_machine(self, name: str, **metadata: Any) -> Tree:
        """The infra machine of the Machine `name`, which must exist; held by its provider."""
        if "ownerReferences" not in metadata:
            metadata["ownerReferences"] = [await self.reference(capi.Machine, name, controller=True)]
        metadata.setdefault("finalizers", [self.example.simulated.machine_finalizer])
        return await self.make(self.example.platform.infra_machine, name, self.example.infra_spec, **metadata)

    async def fleet(self) -> None:
        """An infra cluster, and a MachineSet with its twin: what the Machines of a test usually belong to."""
        await self.infra_cluster()
        await self.source_set()
        await self.mirror_set()

    def instance(self, name: str) -> str:
        """The provider ID of the instance `name`."""
        return f"{self.example.provider_id}{name}"

    def source_spec(self, name: str) -> Tree:
        infra = self.example.platform.infra_machine.RESOURCE
        return {
            "clusterName": CLUSTER,
            "bootstrap": {"dataSecretName": "worker-user-data"},
            "infrastructureRef": {"apiGroup": infra.group, "kind": infra.kind, "name": name},
            **self.example.machine_spec,
        }

    async def adoptable(self, name: str, *, authority: str = "ClusterAPI", **metadata: Any) -> Tree:
        """A Machine of the Machine API that a user made, with status.authoritativeAPI as if it had been filled."""
        spec = {"authoritativeAPI": "ClusterAPI", "providerSpec": {"value": {}}}
        made = await self.make(mapi.Machine, name, spec, **metadata)
        if authority:
            made = await self.patch(mapi.Machine, name, {"status": {"authoritativeAPI": authority}}, part="status")
        return made

    async def machine_of_machine_api(
        self, name: str, *, owner: str | None = None, authority: str = "MachineAPI", spec: Any = None, **metadata: Any
    ) -> Tree:
        """A Machine of the Machine API with an instance, as its controllers have it after a moment."""
        if owner is not None:
            metadata["ownerReferences"] = [await self.reference(mapi.MachineSet, owner, controller=True)]
        metadata = {"finalizers": [MACHINE_API_FINALIZER], **metadata}
        provided = {"providerSpec": {"value": dict(self.example.provider_spec)}, "providerID": self.instance(name)}
        await self.make(mapi.Machine, name, {"authoritativeAPI": authority, **provided, **(spec or {})}, **metadata)
        status = {"authoritativeAPI": authority, "phase": "Running", "nodeRef": {"kind": "Node", "name": name}}
        return await self.patch(mapi.Machine, name, {"status": status}, part="status")

    async def ask(self, name: str, authority: str) -> None:
        """What a user does to move a machine."""
        await self.patch(mapi.Machine, name, {"spec": {"authoritativeAPI": authority}})

    async def say_paused(self, kind: type[KubernetesObject], name: str, *, paused: bool = True) -> None:
        """What the controllers of `kind` do when they find that they are to leave it alone, or no longer."""
        said = {
            "type": "Paused",
            "status": str(paused),
            "reason": "Told",
            "message": "Told",
            "lastTransitionTime": SINCE,
        }

        async def say() -> bool:
            found = await self.get(kind, name)
            assert found is not None
            there = (found.get("status") or {}).get("conditions") or []
            conditions = [*(one for one in there if one["type"] != "Paused"), said]
            body = {
                "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
                "status": {"conditions": conditions},
            }
            try:
                await self.patch(kind, name, body, part="status")
            except Conflict:
                return False
            return True

        await eventually(say, bool, what=f"{kind.RESOURCE.kind} {name} said to be paused")

    async def make(self, kind: type[KubernetesObject], name: str, spec: Any, **metadata: Any) -> Tree:
        body = {"metadata": {"name": name, **metadata}, "spec": spec}
        return (await self.admin.create(kind, body, namespace=self.home(kind))).tree()

    async def patch(self, kind: type[KubernetesObject], name: str, body: Tree, *, part: str = "") -> Tree:
        """Merge `body` into an object, or into its subresource `part`."""
        return (
            await self.admin.patch(kind, name, body, type=PatchType.MERGE, namespace=self.home(kind), subresource=part)
        ).tree()

    async def resize(self, name: str, size: str) -> None:
        """Change the infra machine, as nobody should but somebody does."""
        await self.patch(self.infra_kind, name, {"spec": {self.example.size: size}})

    async def delete(self, kind: type[KubernetesObject], name: str) -> None:
        await self.admin.delete(kind, name, namespace=self.home(kind))

    async def take_off(self, kind: type[KubernetesObject], name: str, finalizer: str) -> None:
        """As the controller does whose finalizer it is."""
        found = await self.get(kind, name)
        assert found is not None
        kept = [one for one in found["metadata"].get("finalizers", []) if one != finalizer]
        body = {"metadata": {"finalizers": kept, "resourceVersion": found["metadata"]["resourceVersion"]}}
        await self.patch(kind, name, body)

    async def let_go(self, kind: type[KubernetesObject], name: str, finalizer: str) -> None:
        """`take_off`, if it is there; a conflict is for the next attempt."""
        if finalizer in finalizers(await self.get(kind, name)):
            with suppress(Conflict, NotFound):
                await self.take_off(kind, name, finalizer)

    async def reference(self, kind: type[KubernetesObject], name: str, **more: Any) -> Tree:
        found = await self.get(kind, name)
        assert found is not None, f"{kind.RESOURCE.kind} {name} must exist before it owns something"
        return {**identity(kind), "name": name, "uid": found["metadata"]["uid"], **more}

    # looks

    @property
    def infra_kind(self) -> type[KubernetesObject]:
        return self.example.platform.infra_machine

    def home(self, kind: type[KubernetesObject]) -> str | None:
        return home(kind, self.namespaces)

    async def get(self, kind: type[KubernetesObject], name: str) -> Tree | None:
        try:
            return (await self.admin.get(kind, name, namespace=self.home(kind))).tree()
        except NotFound:
            return None

    async def everything(self, name: str) -> dict[str, Tree | None]:
        """The three objects of a machine."""
        kinds: dict[str, type[Any]] = {"mirror": mapi.Machine, "source": capi.Machine, "infra": self.infra_kind}
        return {side: await self.get(kind, name) for side, kind in kinds.items()}

    async def events(self, name: str) -> list[Tree]:
        """The Events about the Machines of this name, in both namespaces."""
        found: list[Tree] = []
        for namespace in self.namespaces:
            listed = await self.admin.list(Event, namespace=namespace)
            found += [one.tree() for one in listed.items]
        return [event for event in found if event["involvedObject"]["name"] == name]

    @asynccontextmanager
    async def watching(self, kind: type[KubernetesObject], *names: str) -> AsyncIterator["History"]:
        """Every state of the named objects (of all, if none is named) from now on, as a watch shows them."""
        history = History()
        listening = asyncio.Event()

        async def listen() -> None:
            while True:
                with suppress(KubeError):
                    async for event in self.admin.watch(kind, namespace=self.home(kind), send_initial_events=True):
                        listening.set()
                        if event.type is not EventType.BOOKMARK and (not names or event.object.name in names):
                            history.add(event.type, event.object.tree())
                # The API server is away, or has had enough: all that there is comes again.
                await asyncio.sleep(0.1)

        task = asyncio.create_task(listen())
        try:
            await asyncio.wait_for(listening.wait(), PATIENCE)
            yield history
        finally:
            task.cancel()
            await asyncio.wait([task])

    # waits

    async def in_sync(self, name: str, *, within: float = PATIENCE) -> Tree:
        """The Machine of the Machine API, once it says that both are in sync as the authority is now."""

        async def look() -> tuple[Tree | None, Tree | None]:
            return await self.get(mapi.Machine, name), await self.get(capi.Machine, name)

        def holds(found: tuple[Tree | None, Tree | None]) -> bool:
            mirror, source = found
            if mirror is None or source is None or condition(mirror).get("status") != "True":
                return False
            authority = mirror if mirror["status"]["authoritativeAPI"] == "MachineAPI" else source
            return bool(mirror["status"]["synchronizedGeneration"] == authority["metadata"]["generation"])

        mirror, _ = await eventually(look, holds, within=within, what=f"{name} in sync")
        assert mirror is not None
        return mirror

    async def reports(self, name: str, *, reason: str, within: float = PATIENCE) -> Tree:
        """The Synchronized condition of the mirror, once it gives this reason."""
        mirror = await self.mirror_that(name, lambda tree: condition(tree).get("reason") == reason, within=within)
        return condition(mirror)

    async def mirror_that(self, name: str, holds: Callable[[Tree], Any], *, within: float = PATIENCE) -> Tree:
        found = await eventually(
            lambda: self.get(mapi.Machine, name),
            lambda tree: tree is not None and holds(tree),
            within=within,
            what=f"the mirror {name}",
        )
        assert found is not None
        return found

    async def source_that(self, name: str, holds: Callable[[Tree], Any], *, within: float = PATIENCE) -> Tree:
        """The Machine of Cluster API, once this holds for it."""
        found = await eventually(
            lambda: self.get(capi.Machine, name),
            lambda tree: tree is not None and holds(tree),
            within=within,
            what=f"the Machine {name} of Cluster API",
        )
        assert found is not None
        return found

    async def set_that(self, name: str, holds: Callable[[Tree], Any], *, within: float = PATIENCE) -> Tree:
        """The MachineSet of the Machine API, once this holds for it."""
        found = await eventually(
            lambda: self.get(mapi.MachineSet, name),
            lambda tree: tree is not None and holds(tree),
            within=within,
            what=f"the MachineSet {name}",
        )
        assert found is not None
        return found

    async def told(self, name: str, reason: str, *, within: float = PATIENCE) -> Tree:
        """The first Event about `name` with this reason, once there is one."""

        async def look() -> list[Tree]:
            return [event for event in await self.events(name) if event["reason"] == reason]

        return (await eventually(look, bool, within=within, what=f"an Event {reason} about {name}"))[0]

    async def gone(self, *which: tuple[type[KubernetesObject], str], within: float = PATIENCE) -> None:
        for kind, name in which:
            lookup = (kind, name)
            await eventually(
                lambda lookup=lookup: self.get(*lookup),  # type: ignore[misc]
                lambda tree: tree is None,
                within=within,
                what=f"{kind.RESOURCE.kind} {name} gone",
            )

    async def all_seen(self, *, within: float = PATIENCE) -> None:
        """Return when Machine sync has looked at everything that was there before the call.

        It looks at machines in the order in which they change, so another one that is mirrored by now tells.
        """
        if await self.get(self.example.platform.infra_cluster, "witness") is None:
            await self.infra_cluster("witness")
        name = f"witness-{time.monotonic_ns()}"
        await self.machine(name, owner=None, spec={"clusterName": "witness"})
        await self.adoptable(name)
        await self.in_sync(name, within=within)


def condition(mirror: Tree | None) -> Tree:
    """The Synchronized condition, empty if there is none."""
    conditions = ((mirror or {}).get("status") or {}).get("conditions") or []
    return next((dict(one) for one in conditions if one["type"] == "Synchronized"), {})


def finalizers(tree: Tree | None) -> list[str]:
    return list((tree or {"metadata": {}})["metadata"].get("finalizers", []))


def held_by_us(tree: Tree | None) -> bool:
    return SYNC_FINALIZER in finalizers(tree)


async def stays(stage: Stage, name: str = "w-0") -> None:
    """Nothing is written any more, however often everything is looked at."""
    async with stage.syncing(resync=0.2):
        await stage.all_seen()
        before = await stage.everything(name)
        await stage.all_seen()
        await stage.all_seen()
        assert await stage.everything(name) == before
