"""Objects that the garbage collector deletes after a restore, as `kubectl apply` of exported YAML leads to it: their
owners have other uids. On models of an API server, of the collector and of a cloud, with all our controllers.

A story stops the controllers, loses objects, applies what was exported, lets the collector pass, and goes on.
"""

from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.unit.asked import answered
from windlass.api import capi, mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.kube.control.seen import Present
from windlass.kube.verbs import PatchType
from windlass.model.garbage import collect_garbage
from windlass.model.reader import LaggingReader
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.collected import named_owner, other_owner
from windlass.openstack.constants import MARK_ANNOTATION

from .ownership.manifests import MACHINES, TEAMS, machine, machine_of_machine_api, managed_cluster, owned_by, tree
from .ownership.sites import PROJECT, Sites

Kind = type[Any]
Tree = dict[str, Any]

PLACE, NAME = TEAMS[0], "w-0"
OURS: tuple[Kind, ...] = (OpenStackMachine, OpenStackServer)


def _place(kind: Kind) -> str:
    return MACHINES if kind in (mapi.Machine, mapi.MachineSet) else PLACE


class _Nobody:
    """Nobody has to see what the cloud is asked for."""

    def wrote(self, asking: Any, asked: Any, reply: Any) -> None: ...


class Story:
    """A management cluster with a Machine of Cluster API that has its server."""

    def __init__(self) -> None:
        self.sites = Sites(_Nobody())
        self.site = self.sites.each[0]
        self.api = self.site.api
        self.sites.each[1].stop()

    @classmethod
    async def begun(cls) -> "Story":
        story = cls()
        await story.own(machine(story.sites.network, NAME, PLACE), capi.Machine)
        assert len(story.servers) == 1
        return story

    async def own(self, trees: list[Tree], kind: Kind) -> None:
        """The last object is owned by that of this kind, which exists or is among the others."""
        *others, last = trees
        self.api.load(*others)
        last["metadata"] |= {"ownerReferences": owned_by(self.find(kind)), "creationTimestamp": self.now}
        self.api.load(last)
        await self.sites.settle()

    @property
    def servers(self) -> dict[str, str]:
        """The mark of each server that runs, by its ID."""
        found = self.sites.cloud.services.servers
        return {which: each["metadata"][MARK] for which, each in found.items() if each["gone"] is None}

    @property
    def now(self) -> str:
        return self.sites.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(self, kind: Kind) -> Any:
        return self.api.peek(kind, NAME, namespace=_place(kind))

    def tree(self, kind: Kind) -> Tree:
        found = self.find(kind)
        assert found is not None, f"there is no {kind.RESOURCE.kind}"
        return deepcopy(found.tree())

    async def lose(self, *kinds: Kind) -> list[Tree]:
        """Nobody is at work, and the objects go by force. Returns what was exported before."""
        exported = [self.tree(kind) for kind in kinds]
        self.site.stop()
        for kind in reversed(kinds):
            await self.change(kind, {"metadata": {"finalizers": None}})
            await self.delete(kind)
        return exported

    async def apply(self, exported: list[Tree], **meta: Any) -> None:
        """What `kubectl apply` makes of exported YAML; then the collector passes."""
        for each in exported:
            given = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
            left = {name: value for name, value in each["metadata"].items() if name not in given}
            body = {name: value for name, value in each.items() if name != "status"}
            self.api.load({**body, "metadata": {**left, "creationTimestamp": self.now, **meta}})
        await collect_garbage(self.api)

    async def go_on(self) -> None:
        self.site.start()
        await self.sites.settle()

    async def change(self, kind: Kind, body: Tree) -> None:
        await self.api.patch(kind, NAME, body, type=PatchType.MERGE, namespace=_place(kind))

    async def delete(self, kind: Kind) -> None:
        await self.api.delete(kind, NAME, namespace=_place(kind))

    def left(self) -> list[str]:
        """What was told of things that stay in the cloud."""
        found = [each.tree() for each in self.api.listing(Event)]
        return [
            f"{each['involvedObject']['kind']}: {each['message']}" for each in found if each["reason"] == "LeftInCloud"
        ]

    def is_deleted(self, kind: Kind) -> bool:
        return "deletionTimestamp" in self.tree(kind)["metadata"]

    def has_its_server(self) -> str:
        """The server that the machine has: exactly one runs, and it has the mark of the machine."""
        ((which, mark),) = self.servers.items()
        assert self.tree(OpenStackMachine)["metadata"]["annotations"][MARK_ANNOTATION] == mark
        assert self.tree(OpenStackServer)["status"]["instanceID"] == which
        ready = {each["type"]: each["status"] for each in self.tree(OpenStackMachine)["status"]["conditions"]}
        assert ready["Ready"] == "True"
        return which


COLLECTED = "the garbage collector deleted this object after a restore, because"


async def test_an_openstackserver_that_is_applied_again_with_its_machine_loses_no_server() -> None:
    story = await Story.begun()
    server = story.has_its_server()
    await story.apply(await story.lose(*OURS))
    assert story.is_deleted(OpenStackServer)
    await story.go_on()
    assert story.has_its_server() == server
    (said,) = story.left()
    whose = f"OpenStackMachine {PLACE}/{NAME} has another uid than its ownerReferences say"
    stays = f"server {server} stays, and the machine makes its OpenStackServer again"
    assert said == f"OpenStackServer: Left in the cloud: {COLLECTED} {whose}: {stays}"


async def test_a_machine_that_has_not_got_its_server_yet_takes_it_over_by_its_mark() -> None:
    """Neither `spec.providerID` nor a status names the server."""
    story = await Story.begun()
    server = story.has_its_server()
    exported = await story.lose(*OURS)
    await story.change(capi.Machine, {"spec": {"providerID": None}})
    exported[0]["spec"].pop("providerID")
    await story.apply(exported)
    await story.go_on()
    assert story.has_its_server() == server


async def test_an_openstackserver_that_is_applied_before_its_machine_loses_no_server() -> None:
    story = await Story.begun()
    server = story.has_its_server()
    exported = await story.lose(*OURS)
    await story.apply(exported[1:])
    await story.go_on()
    assert story.find(OpenStackServer) is None
    assert [*story.servers] == [server]
    (said,) = story.left()
    assert f"because its OpenStackMachine {NAME} does not exist" in said
    story.site.stop()
    await story.apply(exported[:1])
    await story.go_on()
    assert story.has_its_server() == server


async def test_an_openstackserver_whose_machine_went_by_force_takes_its_server_with_it() -> None:
    """It was visited, so the server may be its own."""
    story = await Story.begun()
    await story.lose(OpenStackMachine)
    await collect_garbage(story.api)
    await story.go_on()
    assert (story.servers, story.left()) == ({}, [])


async def test_the_owner_is_read_live_because_a_cache_may_still_have_that_of_before_the_restore() -> None:
    story = await Story.begun()
    lagging = LaggingReader(story.api)
    lagging.freeze(OpenStackMachine)
    await story.apply(await story.lose(*OURS))
    found = await lagging.see(OpenStackServer, NAME, namespace=PLACE)
    assert isinstance(found, Present)
    owner = await answered(lambda seen: named_owner(seen, found, OpenStackMachine), lagging)
    assert other_owner(found, OpenStackMachine, owner) is not None


async def test_a_new_openstackmachine_of_the_name_keeps_no_server_of_another_one() -> None:
    """Somebody has made a new machine, without the mark: the deletion of what is left of the old one goes on."""
    story = await Story.begun()
    server = story.has_its_server()
    exported = await story.lose(*OURS)
    await story.change(capi.Machine, {"spec": {"providerID": None}})
    exported[0]["spec"].pop("providerID")
    exported[0]["metadata"]["annotations"].pop(MARK_ANNOTATION)
    await story.apply(exported)
    await story.go_on()
    assert story.has_its_server() != server
    assert story.left() == []


async def test_an_openstackserver_that_a_person_deletes_takes_its_server_with_it() -> None:
    story = await Story.begun()
    await story.delete(OpenStackServer)
    await story.sites.settle()
    assert (story.servers, story.left()) == ({}, [])


async def test_a_machine_that_is_deleted_after_the_restore_takes_its_server_with_it() -> None:
    story = await Story.begun()
    await story.apply(await story.lose(*OURS))
    await story.change(OpenStackMachine, {"metadata": {"ownerReferences": owned_by(story.find(capi.Machine))}})
    await story.delete(capi.Machine)
    await story.delete(OpenStackMachine)
    await story.go_on()
    assert (story.servers, story.left()) == ({}, [])
    assert story.find(capi.Machine) is None


async def test_an_openstackmachine_whose_machine_is_applied_again_leaves_its_server_and_has_it_again() -> None:
    story = await Story.begun()
    server = story.has_its_server()
    exported = await story.lose(capi.Machine, *OURS)
    await story.apply(exported)
    assert story.is_deleted(OpenStackMachine)
    await story.go_on()
    assert story.find(OpenStackMachine) is None
    assert [*story.servers] == [server]
    said = story.left()
    whose = f"Machine {PLACE}/{NAME} has another uid than its ownerReferences say"
    assert any(each.startswith(f"OpenStackMachine: Left in the cloud: {COLLECTED} {whose}: ") for each in said), said
    assert all("apply this object again without ownerReferences" in each for each in said if "Machine: " in each)
    story.site.stop()
    await story.apply(exported[1:2], ownerReferences=[])
    await story.go_on()
    assert story.has_its_server() == server


async def test_an_openstackmachine_whose_machine_alone_is_made_again_leaves_its_openstackserver() -> None:
    story = await Story.begun()
    server, infra = story.has_its_server(), story.tree(OpenStackMachine)
    await story.apply(await story.lose(capi.Machine))
    assert story.is_deleted(OpenStackMachine)
    await story.go_on()
    assert story.find(OpenStackMachine) is None
    assert "ownerReferences" not in story.tree(OpenStackServer)["metadata"]
    assert story.tree(OpenStackServer)["status"]["instanceID"] == server
    (said,) = story.left()
    assert f"OpenStackServer {NAME} stays" in said
    story.site.stop()
    await story.apply([infra], ownerReferences=[])
    await story.go_on()
    assert story.has_its_server() == server


async def test_an_openstackmachine_that_a_person_deletes_takes_its_server_with_it() -> None:
    """Its Machine lives, and is the one that it names."""
    story = await Story.begun()
    await story.delete(OpenStackMachine)
    await story.sites.settle()
    assert (story.servers, story.left()) == ({}, [])


async def test_scaling_down_after_a_restore_deletes_the_server() -> None:
    story = await Story.begun()
    await story.apply(await story.lose(*OURS))
    await story.go_on()
    await story.delete(capi.Machine)
    await story.sites.settle()
    assert story.servers == {}


async def test_an_openstackcluster_whose_cluster_is_applied_again_leaves_its_network_and_has_it_again() -> None:
    story = Story()
    await story.own(managed_cluster("", NAME, PLACE), capi.Cluster)
    held = story.sites.cloud.services.held(PROJECT)
    assert held["networks"] == 1
    exported = await story.lose(capi.Cluster, OpenStackCluster)
    asked = story.sites.writes
    await story.apply(exported)
    await story.go_on()
    assert story.find(OpenStackCluster) is None
    (said,) = story.left()
    assert said.startswith(f"OpenStackCluster: Left in the cloud: {COLLECTED} Cluster {PLACE}/{NAME} has another uid")
    assert (story.sites.cloud.services.held(PROJECT), story.sites.writes) == (held, asked)
    story.site.stop()
    await story.apply(exported[1:], ownerReferences=owned_by(story.find(capi.Cluster)))
    await story.go_on()
    assert story.sites.cloud.services.held(PROJECT) == held
    ready = {each["type"]: each["status"] for each in story.tree(OpenStackCluster)["status"]["conditions"]}
    assert ready["Ready"] == "True"


async def test_an_openstackcluster_whose_cluster_is_deleted_after_the_restore_takes_all_with_it() -> None:
    story = Story()
    await story.own(managed_cluster("", NAME, PLACE), capi.Cluster)
    await story.apply(await story.lose(capi.Cluster, OpenStackCluster))
    await story.delete(capi.Cluster)
    await story.go_on()
    assert (story.sites.cloud.services.held(PROJECT), story.left()) == ({}, [])


async def of_a_set() -> Story:
    """A Machine of the Machine API, of a MachineSet."""
    story = Story()
    machines = machine_of_machine_api(story.sites.network, NAME, MACHINES)
    await story.own([tree(mapi.MachineSet, NAME, MACHINES, {}), *machines], mapi.MachineSet)
    assert len(story.servers) == 1
    return story


async def test_a_machine_whose_machineset_is_applied_again_leaves_its_server_and_has_it_again() -> None:
    story = await of_a_set()
    (server,) = story.servers
    exported = await story.lose(mapi.MachineSet, mapi.Machine)
    await story.apply(exported)
    await story.go_on()
    assert story.find(mapi.Machine) is None
    assert [*story.servers] == [server]
    (said,) = story.left()
    assert said.startswith(f"Machine: Left in the cloud: {COLLECTED} MachineSet {MACHINES}/{NAME} has another uid")
    assert f"server {server} stays" in said
    story.site.stop()
    await story.apply(exported[1:], ownerReferences=[])
    await story.go_on()
    assert [*story.servers] == [server]
    assert story.tree(mapi.Machine)["status"]["phase"] == "Provisioned"


async def of_a_set_of_cluster_api() -> Story:
    """A Machine of Cluster API, of a MachineSet."""
    story = Story()
    *others, last = machine(story.sites.network, NAME, PLACE)
    await story.own([tree(capi.MachineSet, NAME, PLACE, {}), *others], capi.MachineSet)
    await story.own([last], capi.Machine)
    assert len(story.servers) == 1
    return story


async def core_owns_its_machine(story: Story) -> None:
    owners = owned_by(story.find(capi.Machine))
    await story.change(OpenStackMachine, {"metadata": {"ownerReferences": owners}})
    await story.sites.settle()


@pytest.mark.parametrize("owned", [False, True], ids=["before core owns its OpenStackMachine", "after that"])
async def test_a_machine_of_cluster_api_whose_machineset_is_applied_again_leaves_its_server(owned: bool) -> None:
    story = await of_a_set_of_cluster_api()
    (server,) = story.servers
    exported = await story.lose(capi.MachineSet, capi.Machine, OpenStackMachine, OpenStackServer)
    stale = exported[1]["metadata"]["ownerReferences"]
    await story.apply(exported[:3], ownerReferences=[])
    await story.go_on()
    if owned:
        await core_owns_its_machine(story)
        assert story.has_its_server() == server
    await story.change(capi.Machine, {"metadata": {"ownerReferences": stale}})
    await collect_garbage(story.api)
    await story.sites.settle()
    (said,) = story.left()
    assert said.startswith(
        "OpenStackMachine: Left in the cloud: the garbage collector deleted the Machine of this object"
    )
    assert f"because MachineSet {PLACE}/{NAME} has another uid than its ownerReferences say" in said
    assert "apply the Machine and this object again without ownerReferences" in said
    assert (story.find(capi.Machine), [*story.servers]) == (None, [server])
    story.site.stop()
    await story.apply(exported[1:3], ownerReferences=[])
    await story.go_on()
    await core_owns_its_machine(story)
    assert story.has_its_server() == server


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and made again under its name"])
@pytest.mark.parametrize(
    ("begun", "kind", "machine_kind"),
    [(of_a_set, mapi.MachineSet, mapi.Machine), (of_a_set_of_cluster_api, capi.MachineSet, capi.Machine)],
    ids=["Machine API", "Cluster API"],
)
async def test_a_machine_of_a_machineset_that_a_person_deletes_takes_its_server_with_it(
    begun: Callable[[], Awaitable[Story]], kind: Kind, machine_kind: Kind, again: bool
) -> None:
    story = await begun()
    made = story.tree(kind)
    story.site.stop()
    await story.delete(kind)
    story.sites.cloud.pass_time(5.0)
    await story.apply([made] if again else [])
    await story.go_on()
    assert (story.servers, story.left()) == ({}, [])
    assert story.find(machine_kind) is None
