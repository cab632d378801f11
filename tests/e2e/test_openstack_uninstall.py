"""`kubectl delete -k deploy/openstack` while servers live: they stay with their objects, and a new install goes on.

The folders are applied as they are shipped, and the process has the rights of its ServiceAccount.
"""

import asyncio
import base64
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession

from tests.kustomize import objects
from tests.program import Program, starting
from tests.waiting import eventually
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.conditions import is_true
from windlass.openstack.installation import HOME
from windlass.openstack.objects import FINALIZERS
from windlass.testing import BlockingControlPlane, crds
from windlass.testing.cloud import Project
from windlass.testing.plane.errors import Refused

from .openstack import DEPLOY, NAME, PROGRAM, QUICK

pytestmark = pytest.mark.plane

Tree = dict[str, Any]


@pytest.fixture
def plane(request: pytest.FixtureRequest) -> Iterator[BlockingControlPlane]:
    """A management cluster of Cluster API on which nothing of Windlass is installed."""
    known = crds.documents(*crds.CLUSTER_API_CORE)
    with BlockingControlPlane(assets=request.config.getoption("windlass_assets"), crds=known) as plane:
        yield plane


def delete_folder(plane: BlockingControlPlane, folder: Path) -> None:
    """As `kubectl delete -k`: each object in turn; returns when its namespace has gone."""
    for each in objects(folder):
        with suppress(Refused):  # what the namespace has taken with it already
            plane.rest.request("DELETE", path(each))
    plane.wait_until_namespace_is_gone(HOME, seconds=60)


def path(document: Tree) -> str:
    version, kind, metadata = document["apiVersion"], document["kind"].lower(), document["metadata"]
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    place = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{'/apis' if '/' in version else '/api'}/{version}{place}/{plural}/{metadata['name']}"


class Servers:
    """OpenStackServers of one user, and what the cloud has for them."""

    def __init__(self, api: Client, place: str, project: Project) -> None:
        self._api = api
        self._place = place
        self._project = project

    async def make(self, name: str) -> None:
        spec = {
            "identityRef": {"type": "Secret", "name": "cloud", "cloudName": "openstack"},
            "image": {"filter": {"name": "cirros"}},
            "flavor": "m1.tiny",
            "sshKeyName": "",
            "ports": [{"network": {"id": self._project.network_id}}],
        }
        resource = OpenStackServer.RESOURCE
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
        await self._api.create(OpenStackServer, body, namespace=self._place)

    async def credentials(self) -> None:
        clouds = base64.b64encode(self._project.clouds_yaml.encode()).decode()
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud"}, "data": {"clouds.yaml": clouds}}
        await self._api.create(Secret, body, namespace=self._place)

    async def delete(self, name: str) -> None:
        await self._api.delete(OpenStackServer, name, namespace=self._place)

    async def all(self) -> dict[str, Tree]:
        listed = await self._api.list(OpenStackServer, namespace=self._place)
        return {each.name: each.tree() for each in listed.items}

    async def until_ready(self, *names: str) -> dict[str, Tree]:
        def ready(found: dict[str, Tree]) -> bool:
            states = [found.get(name, {}).get("status", {}).get("conditions", []) for name in names]
            return all(is_true(conditions, "Ready") for conditions in states)

        return await eventually(self.all, ready, what="servers that are ready")

    async def in_cloud(self) -> dict[str, str]:
        """The state of each server by its ID."""
        found = await asyncio.to_thread(lambda: list(self._project.sdk.compute.servers()))
        return {each.id: each.status for each in found}


def writes(project: Project) -> list[str]:
    """What Windlass has asked the cloud to create, change or delete; tokens do not count."""
    found = project.requests(user_agent="windlass-openstack")
    return [f"{each.method} {each.path}" for each in found if each.method != "GET" and each.service != "keystone"]


async def readiness(process: Program) -> str:
    try:
        async with ClientSession() as session, session.get(f"{process.probes}/readyz") as answer:
            return await answer.text()
    except ClientError:
        return ""


async def process(plane: BlockingControlPlane, folder: Path) -> AbstractAsyncContextManager[Program]:
    account = await asyncio.to_thread(plane.service_account_kubeconfig, HOME, NAME)
    return starting([*PROGRAM, f"--kubeconfig={account}", f"--namespace={HOME}", *QUICK], folder)


async def test_what_the_folder_made_is_deleted_while_servers_live_and_no_server_goes(
    plane: BlockingControlPlane, project: Project, tmp_path: Path
) -> None:
    await asyncio.to_thread(plane.apply, *objects(DEPLOY))
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as client:
        servers = Servers(client, await asyncio.to_thread(plane.create_namespace, "prod-"), project)
        await servers.credentials()
        async with await process(plane, tmp_path) as one:
            remedy = "openstackservers.infrastructure.cluster.x-k8s.io: kubectl apply -k deploy/openstack/crds\n"
            await eventually(lambda: readiness(one), lambda text: remedy in text, what="not ready, and the remedy")
            await asyncio.to_thread(plane.apply_crds, *objects(DEPLOY / "crds"))
            await one.ready()
            await servers.make("kept")
            await servers.make("unwanted")
            before = await servers.until_ready("kept", "unwanted")
            in_cloud, asked = await servers.in_cloud(), len(writes(project))
            assert [*in_cloud.values()] == ["ACTIVE", "ACTIVE"]

            # Its rights and its Lease go before its Pod does.
            await asyncio.to_thread(delete_folder, plane, DEPLOY)
            await one.end()

        await servers.delete("unwanted")
        there = await servers.all()
        assert there["kept"]["metadata"]["uid"] == before["kept"]["metadata"]["uid"]
        assert "deletionTimestamp" not in there["kept"]["metadata"]
        assert there["unwanted"]["metadata"]["deletionTimestamp"]
        assert FINALIZERS[OpenStackServer] in there["unwanted"]["metadata"]["finalizers"]
        assert await servers.in_cloud() == in_cloud
        assert writes(project)[asked:] == []

        await asyncio.to_thread(plane.apply, *objects(DEPLOY))
        async with await process(plane, tmp_path) as other:
            await other.ready()
            await eventually(servers.all, lambda found: [*found] == ["kept"], what="the unwanted one is gone")
            kept = (await servers.until_ready("kept"))["kept"]
            name = kept["status"]["instanceID"]
            assert name == before["kept"]["status"]["instanceID"]
            assert await servers.in_cloud() == {name: "ACTIVE"}
            since = writes(project)[asked:]
            assert {each.partition(" ")[0] for each in since} == {"DELETE"}, since
            assert not any(name in each for each in since), since

            await servers.delete("kept")
            await eventually(servers.all, lambda found: not found, what="none is left")
            assert await other.end() == 0
