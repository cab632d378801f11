"""Objects that dispute a server, on a real API server and a real cloud: originals, copies, backups, and what Nova says.

An original stands for all tests of the folder: each of them finds it again as it left it, with the same server.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from tests.api.openstack.working import working
from tests.waiting import eventually
from windlass.api import capi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event, Secret
from windlass.api.mapi import Machine
from windlass.kube.client.client import Client
from windlass.kube.conditions import find
from windlass.kube.errors import AlreadyExists, NotFound
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.marks import described, mark_of, root_of
from windlass.openstack.cloud.resources import Port
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.controllers import makers
from windlass.testing.cloud import Project

Tree = dict[str, Any]
Kind = type[Any]
Backup = list[tuple[Kind, Tree]]
"""Kinds and trees of objects, in the order in which they are restored."""

ANNOTATIONS: Final[dict[Kind, str]] = {
    OpenStackServer: MARK_ANNOTATION,
    OpenStackMachine: MARK_ANNOTATION,
    Machine: MACHINE_MARK_ANNOTATION,
}
"""The kinds of objects that have a server, and where the mark of each is."""
KINDS: Final = tuple(ANNOTATIONS)
CLUSTER: Final = "c"
OF_CLUSTER: Final = {"cluster.x-k8s.io/cluster-name": CLUSTER}
BY_SERVER: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
"""What the API server gives an object."""


@dataclass(frozen=True)
class Places:
    """Two namespaces: that of the originals, where the Machines of the Machine API are too, and another one."""

    home: str
    other: str


class Stage:
    """A management cluster, and somebody who uses it. `asked` and the looks into the cloud are of the whole project."""

    def __init__(self, client: Client, places: Places, project: Project) -> None:
        self.client = client
        self.places = places
        self.project = project

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """All our controllers, as those of a new process that leads."""
        both = (self.places.home, self.places.other)
        async with working(self.client, lambda clouds: makers(clouds, both, machine_api=both[0]), at_rest=1.0):
            yield

    # objects

    async def prepare(self) -> None:
        """Credentials, and a Cluster with its infrastructure, in both namespaces; does nothing if they are there."""
        clouds = {"clouds.yaml": base64.b64encode(self.project.clouds_yaml.encode()).decode()}
        data = {"userData": "e30=", "value": "e30=", "disableTemplating": "dHJ1ZQ=="}
        named_by = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": CLUSTER}
        alone = {"disableExternalNetwork": True, "disableAPIServerFloatingIP": True, "apiServerFixedIP": "10.6.0.9"}
        infra = {"identityRef": identity(), "network": {"id": self.project.network_id}, **alone}
        for place in (self.places.home, self.places.other):
            try:
                await self.make(Secret, "cloud", place=place, data=clouds)
            except AlreadyExists:
                continue
            await self.make(Secret, "data", place=place, data=data)
            await self.make(OpenStackCluster, CLUSTER, place=place, spec=infra)
            await self.make(capi.Cluster, CLUSTER, place=place, spec={"infrastructureRef": named_by})
            done = {"status": {"initialization": {"infrastructureProvisioned": True}}}
            await self.change(capi.Cluster, CLUSTER, done, place=place, part="status")

    async def make(self, kind: Kind, name: str, *, place: str = "", metadata: Tree | None = None, **body: Any) -> Tree:
        meta = {"name": name, **(metadata or {})}
        tree = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": meta, **body}
        return (await self.client.create(kind, tree, namespace=place or self.places.home)).tree()

    async def add(
        self, kind: Kind, name: str, *, place: str = "", metadata: Tree | None = None, spec: Tree | None = None
    ) -> Tree:
        """An object that wants a server; an OpenStackMachine with the Machine that owns it."""
        meta = {"labels": LABELS.get(kind, {}), **(metadata or {})}
        if kind is OpenStackMachine:
            meta["ownerReferences"] = [await self.add_machine(name, place=place)]
        return await self.make(kind, name, place=place, metadata=meta, spec=spec or self.spec(kind))

    async def add_machine(self, name: str, *, place: str = "") -> Tree:
        """The Machine of Cluster API, as an owner; the one that exists, if there is one."""
        infra = {"apiGroup": OpenStackMachine.RESOURCE.group, "kind": "OpenStackMachine", "name": name}
        spec = {"clusterName": CLUSTER, "bootstrap": {"dataSecretName": "data"}, "infrastructureRef": infra}
        try:
            found = await self.make(capi.Machine, name, place=place, metadata={"labels": OF_CLUSTER}, spec=spec)
        except AlreadyExists:
            found = await self.get(capi.Machine, name, place=place)
        return reference(found)

    def spec(self, kind: Kind) -> Tree:
        if kind is Machine:
            value = {
                "apiVersion": "machine.openshift.io/v1alpha1",
                "kind": "OpenstackProviderSpec",
                "cloudsSecret": {"name": "cloud"},
                "cloudName": "openstack",
                "flavor": "m1.tiny",
                "image": "cirros",
                "networks": [{"subnets": [{"uuid": self.project.subnet_id}]}],
                "userDataSecret": {"name": "data"},
            }
            return {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": value}}
        return {
            "identityRef": identity(),
            "image": {"filter": {"name": "cirros"}},
            "flavor": "m1.tiny",
            "sshKeyName": "",
            "ports": [{"network": {"id": self.project.network_id}}],
        }

    async def get(self, kind: Kind, name: str, *, place: str = "") -> Tree:
        return (await self.client.get(kind, name, namespace=place or self.places.home)).tree()

    async def change(self, kind: Kind, name: str, body: Any, *, place: str = "", part: str = "") -> None:
        await self.client.patch(
            kind, name, body, type=PatchType.MERGE, namespace=place or self.places.home, subresource=part
        )

    async def annotate(self, kind: Kind, name: str, annotation: str, value: str | None, *, place: str = "") -> None:
        await self.change(kind, name, {"metadata": {"annotations": {annotation: value}}}, place=place)

    async def delete(self, kind: Kind, name: str, *, place: str = "") -> None:
        """Delete it, and wait until it is gone."""
        await self.client.delete(kind, name, namespace=place or self.places.home)
        await self.until_gone(kind, name, place=place)

    async def until_gone(self, kind: Kind, name: str, *, place: str = "") -> None:
        async def left() -> Any:
            try:
                return (await self.get(kind, name, place=place)).get("status", "no status")
            except NotFound:
                return None

        await eventually(left, lambda found: found is None, what=f"{kind.__name__} {name} is gone")

    async def lose(self, kind: Kind, name: str, *, place: str = "") -> None:
        """Without finalizers and with nobody at work: the object goes, and what it has in the cloud stays."""
        kinds = (OpenStackServer, OpenStackMachine) if kind is OpenStackMachine else (kind,)
        for each in kinds:
            await self.change(each, name, {"metadata": {"finalizers": None}}, place=place)
            await self.delete(each, name, place=place)

    async def backup(self, kind: Kind, name: str) -> Backup:
        """All that Velero keeps of an object, with what belongs to it."""
        kinds = (OpenStackServer, OpenStackMachine) if kind is OpenStackMachine else (kind,)
        return [(each, restorable(await self.get(each, name))) for each in kinds]

    async def apply(self, exported: Tree) -> None:
        """As `kubectl apply` does it with exported YAML of an object that is gone: owners have their uids of before."""
        meta = {name: value for name, value in exported["metadata"].items() if name not in BY_SERVER}
        kind, place = kind_of(exported), meta["namespace"]
        await self.make(kind, meta["name"], place=place, metadata=meta, spec=exported["spec"])

    async def until_deleted(self, kind: Kind, name: str) -> None:
        """Return once somebody has deleted it, and it waits for our controllers."""
        await eventually(
            lambda: self.get(kind, name),
            lambda found: "deletionTimestamp" in found["metadata"],
            what=f"{kind.__name__} {name} is deleted",
        )

    async def restore(self, backup: Backup, *, place: str = "", owned: bool = False) -> None:
        """Objects with other uids, without status, and without owners unless they are `owned` by what is restored with
        them. Cluster API sets that of an OpenStackMachine."""
        machine: Tree | None = None
        for kind, tree in reversed(backup) if owned else backup:
            meta, name = tree["metadata"], tree["metadata"]["name"]
            if kind is OpenStackMachine:
                meta = {**meta, "ownerReferences": [await self.add_machine(name, place=place)]}
            elif machine is not None:
                meta = {**meta, "ownerReferences": [reference(machine)]}
            made = await self.make(kind, name, place=place, metadata=meta, spec=tree["spec"])
            machine = made if kind is OpenStackMachine else machine

    # what objects say

    async def original(self, kind: Kind) -> Tree:
        """The one object of this kind whose server every test leaves as it is, and finds again."""
        with suppress(AlreadyExists):
            await self.add(kind, named(kind, "0"))
        return await self.until_ready(kind, named(kind, "0"))

    async def until_ready(self, kind: Kind, name: str, *, place: str = "") -> Tree:
        return await eventually(
            lambda: self.get(kind, name, place=place),
            lambda found: says(found, "Ready").startswith("True") and server_of(found),
            what=f"{kind.__name__} {name} is ready",
        )

    async def until_marked(self, before: Tree) -> Tree:
        """Return once the object has the mark again that it had before, in its annotation and on its server."""
        kind, name = kind_of(before), before["metadata"]["name"]
        after = await eventually(
            lambda: self.get(kind, name),
            lambda found: mark_in(found) == mark_in(before),
            what=f"{kind.__name__} {name} has its mark",
        )
        assert server_of(after) == server_of(before)

        async def in_cloud() -> list[str | None]:
            return [(await look()).get(server_of(before)) for look in (self.servers, self.ports)]

        await eventually(in_cloud, lambda found: found == [mark_in(before)] * 2, what="server and port have the mark")
        return after

    async def until_stopped(self, kind: Kind, name: str, *, place: str = "") -> str:
        """What it says once it has stopped because a server belongs to another."""
        found = await eventually(
            lambda: self.get(kind, name, place=place),
            lambda found: says(found, "InstanceReady") == "False OwnedByAnother",
            what=f"{kind.__name__} {name} stops",
        )
        assert says(found, "Ready") == "False OwnedByAnother"
        assert says(found, "Progressing").startswith("False")
        return message(found, "InstanceReady")

    async def events(self, kind: Kind, name: str) -> list[str]:
        """Reason and text of the Events about an object."""
        about = {"kind": kind.RESOURCE.kind, "name": name}
        found = [each for place in self._both for each in await self._all(Event, place)]
        return [
            f"{each['reason']} {each['message']}" for each in found if about.items() <= each["involvedObject"].items()
        ]

    @property
    def _both(self) -> tuple[str, str]:
        return self.places.home, self.places.other

    async def _all(self, kind: Kind, place: str) -> list[Tree]:
        return [each.tree() for each in (await self.client.list(kind, namespace=place)).items]

    async def told_marks(self, servers: dict[str, str]) -> list[str]:
        """What our objects say to people, in conditions and Events, with a mark of these servers in it."""
        roots = {root_of(each) for each in servers.values()} - {""}
        return [text for text in await self._told() for root in roots if root in text]

    async def _told(self) -> list[str]:
        texts: list[str] = []
        for place in self._both:
            for kind in KINDS:
                for each in await self._all(kind, place):
                    texts += [str(one.get("message", "")) for one in each.get("status", {}).get("conditions", [])]
            texts += [each["message"] for each in await self._all(Event, place)]
        return texts

    async def is_in_order(self) -> None:
        """Nobody has been told a mark, and each server has one object that is ready: none is left, none is doubled."""
        servers = await self.servers()
        assert await self.told_marks(servers) == []
        alive = [each for place in self._both for kind in OWNERS for each in await self._all(kind, place)]
        have = {f"{each['kind']} {each['metadata']['name']}": server_of(each) for each in alive}
        assert sorted(have.values()) == sorted(servers), have

    # what the cloud says

    async def servers(self) -> dict[str, str]:
        """The mark of each server of the project, by its ID."""
        return await asyncio.to_thread(
            lambda: {each.id: each.metadata.get(MARK, "") for each in self.project.sdk.compute.servers()}
        )

    async def mark_in_cloud(self, server: str, mark: str, *, unmarked: str = "") -> None:
        """Write the mark on a server and its port, as another program did. Without one: no mark, and `unmarked` as the
        description of the port."""

        def write() -> None:
            sdk = self.project.sdk
            if mark:
                sdk.compute.set_server_metadata(server, **{MARK: mark})
            else:
                sdk.compute.delete_server_metadata(server, [MARK])
            for port in sdk.network.ports(project_id=self.project.id, device_id=server):
                text = described("", mark) if mark else unmarked
                sdk.network.update_port(port, description=text)

        await asyncio.to_thread(write)

    async def remove_server(self, server: str) -> None:
        """As a person does it in the cloud, with its ports."""

        def remove() -> None:
            sdk = self.project.sdk
            ports = [*sdk.network.ports(project_id=self.project.id, device_id=server)]
            found = sdk.compute.get_server(server)
            sdk.compute.delete_server(server)
            sdk.compute.wait_for_delete(found)
            for port in ports:
                sdk.network.delete_port(port)

        await asyncio.to_thread(remove)

    async def ports(self) -> dict[str, str]:
        """The mark of each port of the project, by the ID of its server."""

        def look() -> dict[str, str]:
            found = self.project.sdk.network.ports(project_id=self.project.id)
            return {each.device_id: mark_of(Port(id=each.id, description=each.description)) for each in found}

        return await asyncio.to_thread(look)

    async def asked(self) -> list[str]:
        """The requests of our controllers so far, as `METHOD service path`, but for those of Keystone."""
        found = await asyncio.to_thread(self.project.requests, user_agent="^windlass-openstack/")
        return [f"{each.method} {each.service} {each.path}" for each in found if each.service != "keystone"]

    async def made_or_deleted(self, since: int = 0) -> list[str]:
        """Those requests, from the number `since` on, that create or delete something."""
        return [each for each in (await self.asked())[since:] if creates_or_deletes(each)]


def creates_or_deletes(request: str) -> bool:
    method, _, path = request.split()
    return method == "DELETE" or (method == "POST" and path.rpartition("/")[2] in COLLECTIONS)


OWNERS: Final = (OpenStackServer, Machine)
"""The kinds of which one object stands for each server; an OpenStackMachine has its OpenStackServer."""
COLLECTIONS: Final = ("servers", "ports", "trunks", "volumes", "networks", "subnets", "routers", "floatingips")
_WORDS: Final[dict[Kind, str]] = {OpenStackServer: "server", OpenStackMachine: "worker", Machine: "machine"}
LABELS: Final[dict[Kind, Tree]] = {
    OpenStackMachine: OF_CLUSTER,
    Machine: {"machine.openshift.io/cluster-api-cluster": CLUSTER},
}


def identity() -> Tree:
    return {"type": "Secret", "name": "cloud", "cloudName": "openstack"}


def reference(tree: Tree) -> Tree:
    """To an owner."""
    meta = tree["metadata"]
    return {"apiVersion": tree["apiVersion"], "kind": tree["kind"], "name": meta["name"], "uid": meta["uid"]}


def server_of(tree: Tree) -> str:
    """The ID of its server; empty while it has none."""
    named = tree.get("spec", {}).get("providerID", "").rpartition("/")[2]
    return str(tree.get("status", {}).get("instanceID") or named)


def kind_of(tree: Tree) -> Kind:
    group, kind = tree["apiVersion"].partition("/")[0], tree["kind"]
    return next(each for each in KINDS if (each.RESOURCE.group, each.RESOURCE.kind) == (group, kind))


def mark_in(tree: Tree) -> str:
    """The mark in its annotation."""
    return str(tree["metadata"]["annotations"][ANNOTATIONS[kind_of(tree)]])


def named(kind: Kind, what: str) -> str:
    """A name that no object of another kind has: an OpenStackMachine and its OpenStackServer share theirs."""
    return f"{_WORDS[kind]}-{what}"


def owner_of(tree: Tree) -> str:
    """Who has its server, as people are told: the OpenStackServer of an OpenStackMachine has it."""
    kind = Machine if tree["kind"] == Machine.RESOURCE.kind else OpenStackServer
    return f"{kind.RESOURCE.kind} {tree['metadata']['namespace']}/{tree['metadata']['name']}"


async def for_each(kinds: Iterable[Kind], story: Callable[[Kind], Coroutine[Any, Any, object]]) -> None:
    """The story of each kind, all at the same time."""
    async with asyncio.TaskGroup() as group:
        for kind in kinds:
            group.create_task(story(kind), name=kind.__name__)


def restorable(tree: Tree) -> Tree:
    """What a restore by Velero makes of an object: neither uid nor owners nor status is left."""
    lost = (*BY_SERVER, "ownerReferences", "namespace")
    meta = {name: value for name, value in tree["metadata"].items() if name not in lost}
    return {"metadata": meta, "spec": tree["spec"]}


def says(tree: Tree, kind: str) -> str:
    """Status and reason of a condition; that of Machines of the Machine API may have no reason."""
    found = find(tree.get("status", {}).get("conditions", []), kind)
    return f"{found['status']} {found.get('reason', '')}".strip() if found else "missing"


def message(tree: Tree, kind: str) -> str:
    found = find(tree.get("status", {}).get("conditions", []), kind)
    return str(found.get("message", "")) if found else ""


def copied(tree: Tree, *, names_server: bool = False) -> Tree:
    """Metadata and spec as people copy them to make a second one: without what the API server gave, without status and
    finalizers, and without the ID of the server unless it `names_server`."""
    kept = {name: tree["metadata"][name] for name in ("labels", "annotations") if name in tree["metadata"]}
    spec = {name: value for name, value in tree["spec"].items() if names_server or name != "providerID"}
    return deepcopy({"metadata": kept, "spec": spec})
