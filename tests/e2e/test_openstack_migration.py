"""Machines on a real OpenStack change hands and change back: their servers stay, and nothing but marks is written.

With Cluster API's core manager, `windlass run machine-sync`, `windlass run openstack --machine-api` and `windlass
migrate`, each under its own account.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.objects import usual_namespaces
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.kube import config
from windlass.kube.client import Client
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MIGRATING
from windlass.testing import BlockingControlPlane, ControlPlane, crds
from windlass.testing.cloud import Project
from windlass.testing.machines import cluster_api

from ..api.machine_sync.examples import EXAMPLES
from ..api.machine_sync.stage import Stage, describe_cluster
from ..api.openstack.mortal import MortalClient, lives
from .openstack import DEPLOY, USER, grant_with_machine_api
from .openstack_migration import IDENTITY, TARGETS, MigrationWorld, is_mark
from .rights import uses

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

POOL = OpenStackFloatingIPPool.RESOURCE


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[BlockingControlPlane]:
    known: list[Path | Mapping[str, Any]] = [
        *crds.documents(*{*crds.MACHINES, *crds.CLUSTER_API_CORE}),
        DEPLOY / "crds" / "crds.yaml",
    ]
    with BlockingControlPlane(assets=request.config.getoption("windlass_assets"), crds=known) as plane:
        cluster_api.start(plane, flags=["--feature-gates=ReconcilerRateLimiting=false"])
        plane.apply_files(DEPLOY / "crds" / "crds.yaml")
        grant_with_machine_api(plane)
        yield plane


@pytest.fixture
async def land(plane: BlockingControlPlane, project: Project, tmp_path: Path) -> AsyncIterator[MigrationWorld]:
    view = ControlPlane.around(plane)
    async with Client(config.load(kubeconfig=plane.kubeconfig()), field_manager="test") as admin:
        stage = Stage(view, admin, namespaces=usual_namespaces(plane), example=EXAMPLES["OpenStack"])
        await stage.grant()
        await stage.enable()
        await asyncio.to_thread(describe_cluster, plane, platform="OpenStack")
        land = MigrationWorld(stage, project, tmp_path)
        await land.cluster()
        yield land
    for user in (USER, stage.user):
        assert uses(plane.audit, user, "forbid") == set()


async def test_three_go_there_and_back_at_once_with_two_marks_each(land: MigrationWorld) -> None:
    names = ["a", "b", "c"]
    async with land.processes():
        for name in names:
            await land.machine(name)
        await land.settled(names, MACHINE_API)
        servers, made = land.servers(), len(land.writes())
        for authority, target in TARGETS:
            code, outcomes = await land.migrate(target, "--max-in-flight", "3")
            assert (code, outcomes) == (0, dict.fromkeys(names, "migrated"))
            await land.settled(names, authority)
            written = land.writes()[made:]
            assert all(map(is_mark, written)), written
            assert len(written) == 2 * len(names), written
            assert land.servers() == servers
            made += len(written)
        await land.clear()


async def test_four_kills_on_the_way_change_nothing(land: MigrationWorld) -> None:
    names = ["a", "b"]
    async with land.processes():
        for name in names:
            await land.machine(name)
        await land.settled(names, MACHINE_API)
        servers, made = land.servers(), len(land.writes())

        await land.openstack.kill()  # nobody says that the Machine API is paused
        assert await land.migrate("cluster-api", "--no-wait") == (0, dict.fromkeys(names, "requested"))
        await land.all_of(names, lambda status: status.get("authoritativeAPI") == MIGRATING)
        await land.sync.kill()
        under_way = land.project.fault("neutron", method="PUT", path="/ports/", delay=2.0, count=1)
        await asyncio.gather(land.start_sync(), land.start_openstack())
        await land.hit(under_way)
        await land.openstack.kill()  # its write arrives, and nobody hears the answer
        await land.start_openstack()
        await land.settled(names, CLUSTER_API)

        under_way = land.project.fault("nova", method="POST", path="/metadata", delay=2.0, count=1)
        assert await land.migrate("machine-api", "--no-wait") == (0, dict.fromkeys(names, "requested"))
        await land.hit(under_way)
        await land.openstack.kill()
        await land.start_openstack()
        await land.settled(names, MACHINE_API)

        written = land.writes()[made:]
        assert all(map(is_mark, written)), written
        assert len(written) <= 2 * 4 * len(names), written
        assert land.servers() == servers
        await land.clear()


async def test_controllers_that_die_after_each_of_their_writes_move_a_server_there_and_back(
    land: MigrationWorld, plane: BlockingControlPlane
) -> None:
    name = "a"
    async with MortalClient(config.load(kubeconfig=plane.kubeconfig())) as ours:
        await land.machine(name)
        async with land.in_process(ours):
            await land.settled([name], MACHINE_API)
        servers, made = land.servers(), len(land.writes())
        for authority, _ in TARGETS:
            await land.stage.ask(name, authority)
            asked = await lives(ours, partial(land.in_process, ours), until=partial(land.is_settled, name, authority))
            written = land.writes()[made:]
            assert all(map(is_mark, written)), written
            assert len(written) == len(asked) == 2, asked
            assert land.servers() == servers
            made += len(written)
        async with land.in_process(ours):
            await land.clear()


async def test_a_recreated_machine_keeps_its_server_and_its_floating_ip_of_a_pool(
    land: MigrationWorld, router: None
) -> None:
    """The Machine API has no field for its scheduler hint, so the OpenStackMachine is recreated there. Its paused
    OpenStackServer is deleted."""
    name, stage, network = "a", land.stage, land.project.sdk.network
    ref = {"apiGroup": POOL.group, "kind": POOL.kind, "name": "one"}
    hint = {"name": "windlass", "value": {"type": "String", "string": "test"}}
    async with land.processes():
        await stage.make(OpenStackFloatingIPPool, "one", {"identityRef": IDENTITY, "reclaimPolicy": "Delete"})
        await land.cluster_api_machine(name, floatingIPPoolRef=ref, schedulerHintAdditionalProperties=[hint])
        await land.settled([name], CLUSTER_API)
        servers, made = land.servers(), len(land.writes())
        addresses = [(each.floating_ip_address, each.port_id) for each in network.ips()]
        assert len(addresses) == 1
        before = await stage.get(OpenStackMachine, name)
        for authority, target in reversed(TARGETS):
            assert await land.migrate(target) == (0, {name: "migrated"})
            await land.settled([name], authority)
            written = land.writes()[made:]
            assert all(map(is_mark, written)), written
            assert [(each.floating_ip_address, each.port_id) for each in network.ips()] == addresses
            made += len(written)
            if authority == MACHINE_API:  # somebody takes the paused object for a leftover
                await stage.delete(OpenStackServer, name)
                await stage.gone((OpenStackServer, name))
        after = await stage.get(OpenStackMachine, name)
        assert before is not None
        assert after is not None
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert land.servers() == servers
        await stage.delete(OpenStackFloatingIPPool, "one")
        await land.clear()
        await stage.gone((OpenStackFloatingIPPool, "one"))
    assert list(network.ips()) == []


@pytest.fixture
def router(project: Project) -> Iterator[None]:
    """It leads from the network of the project to the external one."""
    network = project.sdk.network
    (external,) = network.networks(is_router_external=True)
    router = network.create_router(external_gateway_info={"network_id": external.id})
    network.add_interface_to_router(router, subnet=project.subnet_id)
    yield
    network.remove_interface_from_router(router, subnet=project.subnet_id)
    network.delete_router(router)
