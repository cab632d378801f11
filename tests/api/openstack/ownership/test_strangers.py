"""Servers that others made: programs with `create_instance`, Cluster API's own provider, people with the client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.api.openstack.ownership.stage import ANNOTATIONS, Stage, for_each, mark_in, named, owner_of, says, server_of
from tests.waiting import eventually
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import read
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.query import Query
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.create import (
    Cloud,
    Halted,
    create_instance,
    delete_instance,
    mark_of_owner,
    wait_active,
    wait_deleted,
)
from windlass.openstack.instance.spec import InstanceSpec
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

Kind = type[Any]
OWNER = "fleet-7/worker-0"
OF_PROVIDER = "Created by cluster-api-provider-openstack cluster home-c"


def spec_in(project: Project) -> InstanceSpec:
    return InstanceSpec(
        name="of-a-program",
        image=Query("image", filters=(("name", "cirros"),)),
        flavor=Query("flavor", filters=(("name", "m1.tiny"),)),
        network=Query("network", filters=(("name", project.name),)),
    )


@asynccontextmanager
async def program(project: Project) -> AsyncIterator[Cloud]:
    """As the only one that asks for its owners."""
    async with Clouds(times=Times(request=2.0)) as clouds:
        credentials = read(project.clouds_yaml, "openstack", where="the test's project")
        yield Cloud(clouds, await clouds.project(credentials))


async def test_no_controller_takes_the_server_of_a_program_and_no_program_that_of_a_controller(stage: Stage) -> None:
    async def with_its_mark(kind: Kind) -> None:
        name = named(kind, "marked")
        await stage.add(kind, name, metadata={"annotations": {ANNOTATIONS[kind]: mark_of_owner(OWNER)}})
        made = await stage.until_ready(kind, name)
        assert server_of(made) != theirs
        assert mark_in(made) != mark_of_owner(OWNER)
        await stage.delete(kind, name)

    async def with_its_server(kind: Kind) -> None:
        name = named(kind, "naming")
        if kind is OpenStackServer:
            await stage.add(kind, name, metadata={"annotations": {ADOPT_ANNOTATION: theirs}})
        else:
            await stage.add(kind, name, spec={**stage.spec(kind), "providerID": f"openstack:///{theirs}"})
        told = await stage.until_stopped(kind, name)
        remedy = "remove the key windlass-owner of its metadata if it is to be taken over"
        assert told == f"server {theirs} belongs to a program that made it with create_instance: {remedy}"
        await stage.delete(kind, name)

    async with stage.at_work(), program(stage.project) as cloud:
        ours = await stage.original(OpenStackServer)
        spec = spec_in(stage.project)
        theirs = (await wait_active(cloud, spec, owner=OWNER, seconds=60)).id
        await for_each((OpenStackServer, Machine), with_its_mark)
        await for_each((OpenStackServer, OpenStackMachine, Machine), with_its_server)
        with pytest.raises(Halted, match=f"server {server_of(ours)} belongs to {owner_of(ours)}"):
            await create_instance(cloud, spec, owner="another", server_id=server_of(ours))
        assert await delete_instance(cloud, owner="another", server_id=server_of(ours)), "nothing of it is there"
        left = await stage.servers()
        assert (left[theirs], left[server_of(ours)]) == (mark_of_owner(OWNER), mark_in(ours))
        await wait_deleted(cloud, owner=OWNER, seconds=60)


async def test_of_several_that_adopt_one_server_at_once_one_has_it_and_the_others_stop(stage: Stage) -> None:
    sdk, project = stage.project.sdk, stage.project
    names = {OpenStackServer: ["server-a", "server-b"], Machine: ["machine-a"]}

    def make() -> str:
        """A server on a port of a person's own, without a mark."""
        port = sdk.network.create_port(network_id=project.network_id, name="of-nobody").id
        flavor = sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id
        image = sdk.image.find_image("cirros", ignore_missing=False).id
        made = sdk.compute.create_server(name="of-nobody", image_id=image, flavor_id=flavor, networks=[{"port": port}])
        return str(sdk.compute.wait_for_server(made).id)

    def ports() -> list[str]:
        return [each.description for each in sdk.network.ports(name="of-nobody")]

    async def all_of_them() -> list[dict[str, Any]]:
        return [await stage.get(kind, name) for kind, some in names.items() for name in some]

    server = await asyncio.to_thread(make)
    asked = len(await stage.asked())
    for name in names[OpenStackServer]:
        await stage.add(OpenStackServer, name, metadata={"annotations": {ADOPT_ANNOTATION: server}})
    spec = {**stage.spec(Machine), "providerID": f"openstack:///{server}"}
    await stage.add(Machine, "machine-a", spec=spec)
    async with stage.at_work():
        found = await eventually(
            all_of_them,
            lambda found: (
                sorted(says(each, "Ready") for each in found)
                == ["False OwnedByAnother", "False OwnedByAnother", "True Ready"]
            ),
            what="one has it",
        )
        [owner] = [each for each in found if says(each, "Ready") == "True Ready"]
        others = [each for each in found if each is not owner]
        for other in others:
            kind = Machine if other["kind"] == "Machine" else OpenStackServer
            assert f"server {server} belongs to {owner_of(owner)}" in await stage.until_stopped(
                kind, other["metadata"]["name"]
            )
            await stage.delete(kind, other["metadata"]["name"])
        assert await stage.made_or_deleted(asked) == []
        assert (await stage.servers())[server] == mark_in(owner)
        assert await asyncio.to_thread(ports) == [f"{MARK}={mark_in(owner)}"]
        await stage.delete(Machine if owner["kind"] == "Machine" else OpenStackServer, owner["metadata"]["name"])
    assert server not in await stage.servers()
    assert await asyncio.to_thread(ports) == []


async def test_objects_of_the_provider_with_their_status_are_taken_over_and_nothing_is_made(stage: Stage) -> None:
    async def made_by_provider(kind: Kind) -> None:
        before = await stage.get(kind, named(kind, "0"))
        await stage.mark_in_cloud(server_of(before), "", unmarked=OF_PROVIDER)
        for each in (kind, OpenStackServer):
            await stage.annotate(each, named(kind, "0"), MARK_ANNOTATION, None)

    async def taken_over(kind: Kind) -> None:
        after = await eventually(
            lambda: stage.get(kind, named(kind, "0")),
            lambda found: MARK_ANNOTATION in found["metadata"].get("annotations", {}),
            what="a mark",
        )
        assert server_of(after) == servers[kind]
        await stage.until_marked(after)

    kinds = (OpenStackServer, OpenStackMachine)
    async with stage.at_work():
        servers = {kind: server_of(await stage.original(kind)) for kind in kinds}
    await for_each(kinds, made_by_provider)
    asked = len(await stage.asked())
    async with stage.at_work():
        await for_each(kinds, taken_over)
        assert await stage.made_or_deleted(asked) == []


async def test_objects_of_the_provider_restored_without_status_adopt_what_they_name_and_nothing_is_made(
    stage: Stage,
) -> None:
    """A server that stands alone names nothing: it stops, with the ID of the server of its name."""
    kinds = (OpenStackServer, OpenStackMachine, Machine)
    async with stage.at_work():
        servers = {kind: server_of(await stage.original(kind)) for kind in kinds}
    for kind in kinds:
        backup = await stage.backup(kind, named(kind, "0"))
        await stage.mark_in_cloud(servers[kind], "", unmarked=OF_PROVIDER)
        await stage.lose(kind, named(kind, "0"))
        for _, tree in backup:
            tree["metadata"]["annotations"] = {}
        await stage.restore(backup)
    asked = len(await stage.asked())
    name = named(OpenStackServer, "0")
    async with stage.at_work():
        for kind in (OpenStackMachine, Machine):
            after = await stage.until_ready(kind, named(kind, "0"))
            assert server_of(after) == servers[kind]
            await stage.until_marked(after)
        told = await stage.until_stopped(OpenStackServer, name)
        whose = f"the project has a server {name} without an owner ({servers[OpenStackServer]})"
        assert told.startswith(whose)
        assert f"annotate it with {ADOPT_ANNOTATION}=ID if it is to have that server" in told
        await stage.annotate(OpenStackServer, name, ADOPT_ANNOTATION, servers[OpenStackServer])
        after = await stage.until_ready(OpenStackServer, name)
        assert server_of(after) == servers[OpenStackServer]
        await stage.until_marked(after)
        assert await stage.made_or_deleted(asked) == []
