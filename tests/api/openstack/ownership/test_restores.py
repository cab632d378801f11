"""Objects that come again: from a backup, from exported YAML, in another namespace, after an upgrade."""

from typing import Any

import pytest

from tests.api.openstack.ownership.stage import (
    ANNOTATIONS,
    KINDS,
    Stage,
    Tree,
    copied,
    for_each,
    mark_in,
    named,
    owner_of,
    says,
    server_of,
)
from tests.waiting import eventually
from windlass.api.capi import Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.openstack.cloud.marks import mark_for, place, place_of, root_of
from windlass.openstack.constants import MARK_ANNOTATION, TAKE_OVER_ANNOTATION

pytestmark = pytest.mark.sampled

Kind = type[Any]


async def test_objects_restored_with_other_uids_and_without_status_have_their_servers_again(stage: Stage) -> None:
    """As Velero restores them: owners are not kept either."""

    async def story(kind: Kind) -> None:
        name = named(kind, "0")
        before = await stage.original(kind)
        backups[kind] = await stage.backup(kind, name)
        originals[kind] = before

    async def again(kind: Kind) -> None:
        before, after = originals[kind], await stage.until_ready(kind, named(kind, "0"))
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert server_of(after) == server_of(before)
        assert root_of(mark_in(after)) == root_of(mark_in(before))
        assert mark_in(after) != mark_in(before), "the holder is another object"
        assert (await stage.servers())[server_of(after)] == mark_in(after)
        assert (await stage.ports())[server_of(after)] == mark_in(after)

    backups: dict[Kind, Any] = {}
    originals: dict[Kind, Any] = {}
    async with stage.at_work():
        await for_each(KINDS, story)
    asked = len(await stage.asked())
    for kind in KINDS:
        await stage.lose(kind, named(kind, "0"))
        await stage.restore(backups[kind])
    async with stage.at_work():
        await for_each(KINDS, again)
        assert await stage.made_or_deleted(asked) == []


async def test_exported_yaml_that_is_applied_again_makes_and_deletes_nothing(stage: Stage) -> None:
    """Over the living object, with the mark of an earlier uid, as GitOps tools do it at each sync."""

    async def story(kind: Kind) -> None:
        name, before = named(kind, "0"), await stage.original(kind)
        word, where = place_of(mark_in(before)).split("/")[0], before["metadata"]["namespace"]
        exported = mark_for(root_of(mark_in(before)), "an earlier uid", place(word, where, name))
        await stage.annotate(kind, name, ANNOTATIONS[kind], exported)
        await stage.until_marked(before)

    async with stage.at_work():
        await for_each(KINDS, stage.original)
        before, held = await stage.asked(), await stage.servers()
        await for_each(KINDS, story)
        asked = (await stage.asked())[len(before) :]
        assert [each for each in asked if not each.startswith("GET")] == []
        assert await stage.servers() == held


async def test_exported_yaml_of_an_object_that_was_deleted_makes_one_server(stage: Stage) -> None:
    async def story(kind: Kind) -> None:
        name, before = named(kind, "exported"), await stage.original(kind)
        await stage.add(kind, name)
        made = await stage.until_ready(kind, name)
        await stage.delete(kind, name)
        await stage.add(kind, name, **copied(made))
        again = await stage.until_ready(kind, name)
        assert server_of(again) not in (server_of(made), server_of(before))
        assert (await stage.servers())[server_of(again)] == mark_in(again)
        await stage.delete(kind, name)

    async with stage.at_work():
        await for_each((OpenStackServer, OpenStackMachine), story)


async def test_yaml_of_lost_objects_that_names_the_owners_of_before_makes_and_deletes_nothing(stage: Stage) -> None:
    """Their Machine lives. The real garbage collector deletes the OpenStackServer, whose owner has another uid now."""
    name = named(OpenStackMachine, "0")
    async with stage.at_work():
        before = await stage.original(OpenStackMachine)
    exported = [await stage.get(kind, name) for kind in (OpenStackMachine, OpenStackServer)]
    asked = len(await stage.asked())
    await stage.lose(OpenStackMachine, name)
    for tree in exported:
        await stage.apply(tree)
    await stage.until_deleted(OpenStackServer, name)
    async with stage.at_work():
        after = await stage.until_ready(OpenStackMachine, name)
        assert server_of(after) == server_of(before)
        assert (await stage.servers())[server_of(after)] == mark_in(after) != mark_in(before)
        assert (await stage.ports())[server_of(after)] == mark_in(after)
        assert await stage.made_or_deleted(asked) == []
    said = [each for each in await stage.events(OpenStackServer, name) if each.startswith("LeftInCloud")]
    assert [f"server {server_of(before)} stays" in each for each in said] == [True]


async def test_a_machine_whose_owner_is_applied_again_too_has_its_server_once_it_names_no_owner_of_before(
    stage: Stage,
) -> None:
    """The real garbage collector deletes the OpenStackMachine as well, and nobody makes that again."""
    name = named(OpenStackMachine, "again")
    async with stage.at_work():
        await stage.add(OpenStackMachine, name)
        before = await stage.until_ready(OpenStackMachine, name)
    exported = [await stage.get(kind, name) for kind in (OpenStackMachine, OpenStackServer)]
    await stage.lose(OpenStackMachine, name)
    await stage.delete(Machine, name)
    asked = len(await stage.asked())
    for tree in exported:
        await stage.add_machine(name)
        await stage.apply(tree)
    for kind in (OpenStackMachine, OpenStackServer):
        await stage.until_deleted(kind, name)
    async with stage.at_work():
        for kind in (OpenStackMachine, OpenStackServer):
            await stage.until_gone(kind, name)
        said = [each for each in await stage.events(OpenStackMachine, name) if each.startswith("LeftInCloud")]
        assert [f"server {server_of(before)} stays" in each for each in said] == [True]
        again = [await stage.add_machine(name)]
        await stage.apply({**exported[0], "metadata": {**exported[0]["metadata"], "ownerReferences": again}})
        after = await stage.until_ready(OpenStackMachine, name)
        assert server_of(after) == server_of(before)
        assert await stage.made_or_deleted(asked) == []
        await stage.delete(OpenStackMachine, name)
    assert server_of(before) not in await stage.servers()


async def test_an_object_restored_in_another_namespace_stops_until_a_person_confirms_it(stage: Stage) -> None:
    home, other = stage.places.home, stage.places.other

    async def restored(kind: Kind) -> None:
        """Stopped, with owner and ID, and both remedies."""
        name = named(kind, "0")
        told = await stage.until_stopped(kind, name, place=other)
        whose = f"OpenStackServer {home}/{name}, which does not exist here"
        assert told.startswith(f"server {servers[kind]} belongs to {whose}: annotate ")
        whom = "this object" if kind is OpenStackServer else f"OpenStackServer {other}/{name}"
        assert f"annotate {whom} with {TAKE_OVER_ANNOTATION}=server/{home}/{name}" in told

    async def confirmed(kind: Kind) -> None:
        name = named(kind, "0")
        # The OpenStackServer has the server: that of an OpenStackMachine has its name.
        await stage.annotate(OpenStackServer, name, TAKE_OVER_ANNOTATION, f"server/{home}/{name}", place=other)
        after = await stage.until_ready(kind, name, place=other)
        assert server_of(after) == servers[kind]
        assert place_of(mark_in(after)) == f"server/{other}/{name}"
        assert (await stage.servers())[servers[kind]] == mark_in(after)
        assert (await stage.ports())[servers[kind]] == mark_in(after)

    kinds = (OpenStackServer, OpenStackMachine)
    async with stage.at_work():
        servers = {kind: server_of(await stage.original(kind)) for kind in kinds}
    asked = len(await stage.asked())
    for kind in kinds:
        backup = await stage.backup(kind, named(kind, "0"))
        await stage.lose(kind, named(kind, "0"))
        await stage.restore(backup, place=other)
    async with stage.at_work():
        await for_each(kinds, restored)
        await for_each(kinds, confirmed)
        assert await stage.made_or_deleted(asked) == []
        for kind in kinds:
            await stage.delete(kind, named(kind, "0"), place=other)
    assert not set(servers.values()) & set(await stage.servers()), "it is theirs, so they take it with them"


async def test_of_two_that_are_to_take_over_what_one_had_the_first_has_it_and_the_other_makes_nothing(
    stage: Stage,
) -> None:
    home, other = stage.places.home, stage.places.other
    lost, names = named(OpenStackServer, "0"), ("server-x", "server-y")
    async with stage.at_work():
        server = server_of(await stage.original(OpenStackServer))
    [(_, tree)] = await stage.backup(OpenStackServer, lost)
    await stage.lose(OpenStackServer, lost)
    annotations = {**tree["metadata"]["annotations"], TAKE_OVER_ANNOTATION: f"server/{home}/{lost}"}
    for name in names:
        meta = {"annotations": annotations}
        await stage.make(OpenStackServer, name, place=other, metadata=meta, spec=tree["spec"])

    async def both() -> list[Tree]:
        return [await stage.get(OpenStackServer, name, place=other) for name in names]

    asked = len(await stage.asked())
    async with stage.at_work():
        found = await eventually(
            both,
            lambda found: sorted(says(each, "Ready") for each in found) == ["False OwnedByAnother", "True Ready"],
            what="one has it",
        )
        owner, stopped = sorted(found, key=lambda each: says(each, "Ready") != "True Ready")
        told = await stage.until_stopped(OpenStackServer, stopped["metadata"]["name"], place=other)
        assert f"server {server} belongs to {owner_of(owner)}" in told
        await stage.delete(OpenStackServer, stopped["metadata"]["name"], place=other)
        assert await stage.made_or_deleted(asked) == []
        assert [(await look())[server] for look in (stage.servers, stage.ports)] == [mark_in(owner)] * 2
        await stage.delete(OpenStackServer, owner["metadata"]["name"], place=other)
    assert server not in await stage.servers()
    assert server not in await stage.ports()


async def test_an_object_restored_in_another_namespace_without_the_mark_makes_a_server_of_its_own(stage: Stage) -> None:
    name, other = named(OpenStackServer, "0"), stage.places.other
    async with stage.at_work():
        left = server_of(await stage.original(OpenStackServer))
    backup = await stage.backup(OpenStackServer, name)
    await stage.lose(OpenStackServer, name)
    await stage.restore(backup, place=other)
    async with stage.at_work():
        told = await stage.until_stopped(OpenStackServer, name, place=other)
        remedy = f"or remove the annotation {MARK_ANNOTATION} if this object is to have a server of its own"
        assert told.endswith(remedy)
        await stage.annotate(OpenStackServer, name, MARK_ANNOTATION, None, place=other)
        made = await stage.until_ready(OpenStackServer, name, place=other)
        assert server_of(made) != left
        await stage.delete(OpenStackServer, name, place=other)
    assert left in await stage.servers()
    await stage.remove_server(left)


async def test_marks_of_an_earlier_version_are_taken_over_and_nothing_is_made_or_deleted(stage: Stage) -> None:
    """A bare uuid. A copy shares the server with its original, which was possible: it stops."""
    copies: dict[Kind, str] = {}
    originals: dict[Kind, Any] = {}

    async def earlier(kind: Kind) -> None:
        before = originals[kind]
        root = root_of(mark_in(before))
        await stage.mark_in_cloud(server_of(before), root)
        kinds = (OpenStackMachine, OpenStackServer) if kind is OpenStackMachine else (kind,)
        for each in kinds:
            await stage.annotate(each, named(kind, "0"), ANNOTATIONS[each], root)
        copy, copies[kind] = copied(before, names_server=True), named(kind, "shared")
        copy["metadata"]["annotations"][ANNOTATIONS[kind]] = root
        await stage.add(kind, copies[kind], **copy)
        if kind is OpenStackServer:
            await stage.change(kind, copies[kind], {"status": before["status"]}, part="status")

    async def later(kind: Kind) -> None:
        before = originals[kind]
        await stage.until_marked(before)
        told = await stage.until_stopped(kind, copies[kind])
        assert f"server {server_of(before)} belongs to {owner_of(before)}" in told
        await stage.delete(kind, copies[kind])

    async with stage.at_work():
        for kind in KINDS:
            originals[kind] = await stage.original(kind)
    asked = len(await stage.asked())
    await for_each(KINDS, earlier)
    async with stage.at_work():
        await for_each(KINDS, later)
        await for_each(KINDS, stage.original)
    assert await stage.made_or_deleted(asked) == []


async def test_while_marks_of_an_earlier_version_are_taken_over_a_forged_one_gives_nothing(stage: Stage) -> None:
    """Earlier versions told marks to people: who knows one issues it to an object of its own."""
    name, other = named(OpenStackServer, "forged"), stage.places.other
    async with stage.at_work():
        before = await stage.original(OpenStackServer)
    server, root = server_of(before), root_of(mark_in(before))
    asked = len(await stage.asked())
    await stage.mark_in_cloud(server, root)
    await stage.annotate(OpenStackServer, named(OpenStackServer, "0"), MARK_ANNOTATION, root)
    made = await stage.add(OpenStackServer, name, place=other)
    forged = mark_for(root, made["metadata"]["uid"], place("server", other, name))
    await stage.annotate(OpenStackServer, name, MARK_ANNOTATION, forged, place=other)
    async with stage.at_work():
        await stage.until_marked(before)
        told = await stage.until_stopped(OpenStackServer, name, place=other)
        assert f"server {server} belongs to {owner_of(before)}" in told
        await stage.delete(OpenStackServer, name, place=other)
        await stage.until_marked(before)
    assert await stage.made_or_deleted(asked) == []
