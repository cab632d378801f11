"""Objects that the garbage collector deletes after a restore, as `kubectl apply` of exported YAML leads to it: their
owners have other uids. On models of an API server, of the collector and of a cloud, with all our controllers.

A story stops the controllers, loses objects, applies what was exported, lets the collector pass, and goes on.
"""

from copy import deepcopy
from typing import Any

import pytest

from windlass.api import capi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.testing.memory.garbage import collect_garbage

from .ownership.manifests import TEAMS, machine, owned_by
from .ownership.sites import Sites

Kind = type[Any]
Tree = dict[str, Any]

PLACE, NAME = TEAMS[0], "w-0"
OURS: tuple[Kind, ...] = (OpenStackMachine, OpenStackServer)


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
        *others, infra = machine(story.sites.network, NAME, PLACE)
        story.api.load(*others)
        infra["metadata"]["ownerReferences"] = owned_by(story.find(capi.Machine))
        story.api.load(infra)
        await story.sites.settle()
        assert len(story.servers) == 1
        return story

    @property
    def servers(self) -> dict[str, str]:
        """The mark of each server that runs, by its ID."""
        found = self.sites.cloud.services.servers
        return {which: each["metadata"][MARK] for which, each in found.items() if each["gone"] is None}

    def find(self, kind: Kind) -> Any:
        return self.api.peek(kind, NAME, namespace=PLACE)

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
        for tree in exported:
            given = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
            left = {name: value for name, value in tree["metadata"].items() if name not in given}
            body = {name: value for name, value in tree.items() if name != "status"}
            self.api.load({**body, "metadata": {**left, **meta}})
        await collect_garbage(self.api)

    async def go_on(self) -> None:
        self.site.start()
        await self.sites.settle()

    async def change(self, kind: Kind, body: Tree) -> None:
        await self.api.patch(kind, NAME, body, type=PatchType.MERGE, namespace=PLACE)

    async def delete(self, kind: Kind) -> None:
        await self.api.delete(kind, NAME, namespace=PLACE)

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


@pytest.mark.parametrize("corrected", [False, True], ids=["as applied", "Cluster API has corrected the owner since"])
@pytest.mark.parametrize("kinds", [OURS, OURS[:1]], ids=["both", "its OpenStackServer was not lost"])
async def test_an_openstackmachine_whose_machine_is_applied_again_leaves_its_server_and_has_it_again(
    kinds: tuple[Kind, ...], corrected: bool
) -> None:
    story = await Story.begun()
    server = story.has_its_server()
    if kinds == OURS[:1]:
        await story.change(OpenStackServer, {"metadata": {"ownerReferences": None}})
    exported = await story.lose(capi.Machine, *kinds)
    await story.apply(exported)
    assert story.is_deleted(OpenStackMachine)
    if corrected:
        await story.change(OpenStackMachine, {"metadata": {"ownerReferences": owned_by(story.find(capi.Machine))}})
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
