"""Copies of an object, and forged marks: the original keeps its server, whatever becomes of the copy."""

from typing import Any

import pytest

from tests.api.openstack.ownership.stage import (
    ANNOTATIONS,
    KINDS,
    Stage,
    copied,
    for_each,
    mark_in,
    named,
    owner_of,
    server_of,
)
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.openstack.cloud.marks import mark_for, place, root_of
from windlass.openstack.constants import ADOPT_ANNOTATION

pytestmark = pytest.mark.sampled

Kind = type[Any]


async def test_a_copied_object_makes_a_server_of_its_own_and_takes_only_that_one_with_it(stage: Stage) -> None:
    async def story(kind: Kind) -> None:
        original, name = await stage.original(kind), named(kind, "copy")
        await stage.add(kind, name, **copied(original))
        copy = await stage.until_ready(kind, name)
        assert server_of(copy) != server_of(original)
        await stage.delete(kind, name)
        left = await stage.servers()
        assert left[server_of(original)] == mark_in(original)
        assert server_of(copy) not in left

    async with stage.at_work():
        await for_each(KINDS, story)
        told = await stage.events(Machine, named(Machine, "copy"))
        assert f"It was made from a copy of Machine {stage.places.home}/machine-0" in " ".join(told)
        for kind in KINDS:
            original = await stage.original(kind)
            assert (await stage.ports())[server_of(original)] == mark_in(original)


async def test_a_copy_that_names_the_server_stops_and_has_its_own_once_its_remedy_is_followed(stage: Stage) -> None:
    async def story(kind: Kind) -> None:
        original, name = await stage.original(kind), named(kind, "named")
        copy = copied(original, names_server=True)
        if kind is OpenStackServer:
            copy["metadata"]["annotations"][ADOPT_ANNOTATION] = server_of(original)
        await stage.add(kind, name, **copy)
        told = await stage.until_stopped(kind, name)
        assert told.startswith(f"server {server_of(original)} belongs to {owner_of(original)}: ")
        assert told.endswith(" is to have a server of its own")
        remedies = {
            "server": f"remove the annotation {ADOPT_ANNOTATION} if",
            "worker": f"delete OpenStackMachine {name}, and create it without spec.providerID, if",
            "machine": "remove spec.providerID if",
        }
        assert remedies[name.partition("-")[0]] in told
        stopped[kind] = name

    async def remedied(kind: Kind) -> None:
        name = stopped[kind]
        if kind is OpenStackServer:
            await stage.annotate(kind, name, ADOPT_ANNOTATION, None)
        elif kind is Machine:
            await stage.change(kind, name, {"spec": {"providerID": None}})
        else:
            await stage.delete(kind, name)
            await stage.add(kind, name, **copied(await stage.original(kind)))
        original, copy = await stage.original(kind), await stage.until_ready(kind, name)
        assert server_of(copy) != server_of(original)
        await stage.delete(kind, name)
        assert (await stage.servers())[server_of(original)] == mark_in(original)

    stopped: dict[Kind, str] = {}
    async with stage.at_work():
        await for_each(KINDS, stage.original)
        before, held = len(await stage.asked()), await stage.servers()
        await for_each(KINDS, story)
        assert await stage.made_or_deleted(before) == []
        assert await stage.servers() == held
        await for_each(KINDS, remedied)


async def test_a_copy_with_the_recorded_server_in_its_status_stops_and_says_so(stage: Stage) -> None:
    name = "server-recorded"
    async with stage.at_work():
        original = await stage.original(OpenStackServer)
        before, held = len(await stage.asked()), await stage.servers()
    await stage.add(OpenStackServer, name, **copied(original))
    await stage.change(OpenStackServer, name, {"status": original["status"]}, part="status")
    async with stage.at_work():
        told = await stage.until_stopped(OpenStackServer, name)
        assert f"server {server_of(original)} belongs to {owner_of(original)}" in told
        await stage.delete(OpenStackServer, name)
    assert await stage.made_or_deleted(before) == []
    assert await stage.servers() == held


async def test_machines_of_a_copied_template_make_a_server_each(stage: Stage) -> None:
    """A MachineSet gives all its machines the annotations of its template."""

    async def story(kind: Kind) -> None:
        original = await stage.original(kind)
        names = [named(kind, f"of-template-{number}") for number in range(2)]
        for name in names:
            await stage.add(kind, name, **copied(original))
        made = [await stage.until_ready(kind, name) for name in names]
        assert len({server_of(original), *map(server_of, made)}) == 3
        for name in names:
            await stage.delete(kind, name)

    async with stage.at_work():
        await for_each((OpenStackMachine, Machine), story)


async def test_a_forged_mark_and_the_id_of_a_server_give_nothing(stage: Stage) -> None:
    """The rows of the story: who knows a mark of another namespace, and writes objects in its own."""

    async def story(kind: Kind) -> None:
        victim = await stage.original(kind)
        home = stage.places.home if kind is Machine else stage.places.other  # the Machine API has one namespace
        word = "machine" if kind is Machine else "server"
        server, root = server_of(victim), root_of(mark_in(victim))

        async def forge(what: str, mark: str = "", **more: Any) -> str:
            name = named(kind, what)
            annotations = {ANNOTATIONS[kind]: mark} if mark else {}
            made = await stage.add(kind, name, place=home, metadata={"annotations": annotations}, **more)
            uid = made["metadata"]["uid"]
            return mark_for(root, uid, place(word, home, name))

        # Its own place and uid are in the mark, but the root is another's.
        issued = await forge("issued", mark_for(root, "some uid", place(word, home, named(kind, "issued"))))
        await stage.annotate(kind, named(kind, "issued"), ANNOTATIONS[kind], issued, place=home)
        # The server's ID is all that is known.
        by_annotation = {"annotations": {ADOPT_ANNOTATION: server}} if kind is OpenStackServer else {}
        by_spec = {} if kind is OpenStackServer else {"providerID": f"openstack:///{server}"}
        probe = {**stage.spec(kind), **by_spec}
        await stage.add(kind, named(kind, "probe"), place=home, metadata=by_annotation, spec=probe)
        for what in ("issued", "probe"):
            told = await stage.until_stopped(kind, named(kind, what), place=home)
            assert f"server {server} belongs to {owner_of(victim)}" in told
            await stage.delete(kind, named(kind, what), place=home)

    async with stage.at_work():
        await for_each(KINDS, stage.original)
        before, held = len(await stage.asked()), await stage.servers()
        await for_each(KINDS, story)
        assert await stage.made_or_deleted(before) == []
        assert await stage.servers() == held


async def test_the_root_of_a_mark_alone_gives_a_server_of_ones_own(stage: Stage) -> None:
    """As an earlier version wrote and told it."""

    async def story(kind: Kind) -> None:
        victim, name = await stage.original(kind), named(kind, "thief")
        home = stage.places.home if kind is Machine else stage.places.other
        forged = {ANNOTATIONS[kind]: root_of(mark_in(victim))}
        await stage.add(kind, name, place=home, metadata={"annotations": forged})
        thief = await stage.until_ready(kind, name, place=home)
        assert server_of(thief) != server_of(victim)
        await stage.delete(kind, name, place=home)
        assert (await stage.servers())[server_of(victim)] == mark_in(victim)

    async with stage.at_work():
        await for_each(KINDS, story)
