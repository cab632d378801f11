"""`windlass run openstack --machine-api` in the place of the Machine API's machine controller, on a real cloud.

The real MachineSet controller, node links and webhooks of the Machine API are beside it. A set of two is made, scaled
down while a PodDisruptionBudget holds the drain, and scaled to none. Machines and Secrets of other namespaces are none
of its business: it runs with the rights that we ship.
"""

import asyncio
import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.api.machine_sync.stage import CLUSTER, describe_cluster
from tests.authorizer import until_allowed
from tests.program import starting
from tests.waiting import eventually
from windlass.api.core import Event, Node, Pod, Secret
from windlass.api.mapi import Machine, MachineSet
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.conditions import find
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE
from windlass.openstack.installation import HOME
from windlass.openstack.machine_api.constants import MACHINE_API_NAMESPACE
from windlass.testing import BlockingControlPlane, crds
from windlass.testing.cloud import Project
from windlass.testing.machines.machine_api import MachineApi

from .openstack import (
    DEPLOY,
    MACHINE_API_RBAC,
    NAME,
    PROGRAM,
    QUICK,
    USER,
    WITH_MACHINE_API,
    grant_with_machine_api,
)
from .rights import granted, uses

pytestmark = pytest.mark.plane

PLACE = MACHINE_API_NAMESPACE
GROUP = Machine.RESOURCE.api_version
Tree = dict[str, Any]


@pytest.fixture
def plane(request: pytest.FixtureRequest) -> Iterator[BlockingControlPlane]:
    known: list[Path | Mapping[str, Any]] = [*crds.documents(*crds.MACHINES), DEPLOY / "crds" / "crds.yaml"]
    assets = request.config.getoption("windlass_assets")
    with BlockingControlPlane(assets=assets, crds=known) as plane:
        grant_with_machine_api(plane)
        describe_cluster(plane, platform="OpenStack")
        yield plane


@pytest.fixture
def machine_api(plane: BlockingControlPlane, tmp_path: Path) -> Iterator[None]:
    """The real one, without the controllers of machines and drains."""
    theirs = MachineApi(plane, platform="OpenStack", folder=tmp_path, machines=False)
    theirs.start()
    theirs.admit(PLACE)
    yield
    theirs.close()


class Cluster:
    """What people and the rest of the cluster do."""

    def __init__(self, api: Client) -> None:
        self._api = api

    async def apply(self, kind: type[Any], name: str, place: str | None = PLACE, **parts: Any) -> None:
        resource = kind.RESOURCE
        meta = {"name": name, **parts.pop("metadata", {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, **parts}
        await self._api.create(kind, body, namespace=place)

    async def all(self, kind: type[Any], place: str | None = PLACE) -> list[Tree]:
        return [each.tree() for each in (await self._api.list(kind, namespace=place)).items]

    async def patch(self, kind: type[Any], name: str, body: Tree, *, place: str | None = PLACE, part: str = "") -> None:
        await self._api.patch(kind, name, body, type=PatchType.MERGE, namespace=place, subresource=part)

    async def secrets(self, project: Project, place: str) -> None:
        clouds = base64.b64encode(project.clouds_yaml.encode()).decode()
        await self.apply(Secret, "cloud", place, data={"clouds.yaml": clouds})
        await self.apply(Secret, "worker-user-data", place, data={"userData": "e30=", "disableTemplating": "dHJ1ZQ=="})

    async def machine(self, name: str, place: str, value: Tree) -> None:
        spec = {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": value}}
        await self.apply(Machine, name, place, metadata={"labels": LABELS}, spec=spec)

    async def machine_set(self, project: Project, replicas: int) -> None:
        await self.secrets(project, PLACE)
        value = provider_spec(project, serverGroupName="workers")
        template = {"metadata": {"labels": LABELS}, "spec": {"providerSpec": {"value": value}}}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"set": "workers"}}, "template": template}
        await self.apply(MachineSet, "workers", spec={**spec, "authoritativeAPI": "MachineAPI"})

    async def kubelets(self, machines: list[Tree]) -> None:
        """Each Machine has its Node, with one Pod of the application on it."""
        for each in machines:
            name = each["metadata"]["name"]
            await self.apply(Node, name, None, spec={"providerID": each["spec"]["providerID"]})
            container = {"name": "web", "image": "web"}
            spec = {"nodeName": name, "terminationGracePeriodSeconds": 0, "containers": [container]}
            await self.apply(
                Pod, f"web-{name}", "shop", metadata={"labels": {"app": "web"}}, spec={**spec, **NO_ACCOUNT}
            )
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            await self.patch(Node, name, {"status": ready}, place=None, part="status")
            await self.patch(Pod, f"web-{name}", {"status": {"phase": "Running", **ready}}, place="shop", part="status")


def provider_spec(project: Project, *, secrets: str = PLACE, **more: Any) -> Tree:
    """What a Machine has to say, with both its Secrets in the namespace `secrets`."""
    return {
        "apiVersion": "machine.openshift.io/v1alpha1",
        "kind": "OpenstackProviderSpec",
        "cloudsSecret": {"name": "cloud", "namespace": secrets},
        "cloudName": "openstack",
        "flavor": "m1.tiny",
        "image": "cirros",
        "networks": [{"subnets": [{"uuid": project.subnet_id}]}],
        "userDataSecret": {"name": "worker-user-data", "namespace": secrets},
        **more,
    }


LABELS = {"machine.openshift.io/cluster-api-cluster": CLUSTER, "set": "workers"}
NO_ACCOUNT = {"automountServiceAccountToken": False}


def phases(found: list[Tree]) -> list[str]:
    return sorted(str((each.get("status") or {}).get("phase", "")) for each in found)


def held_by_budget(found: list[Tree]) -> bool:
    said = [find((each.get("status") or {}).get("conditions") or [], "Drained") for each in found]
    return any(
        one is not None and one["status"] == "False" and "disruption budget web" in one["message"] for one in said
    )


def budget(plane: BlockingControlPlane, *, least: int) -> None:
    """At least so many Pods of the application must stay."""
    path = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web"
    plane.rest.request("PATCH", path, {"spec": {"minAvailable": least}}, content_type="application/merge-patch+json")


@pytest.mark.usefixtures("machine_api")
async def test_a_set_of_the_machine_api_is_served_drained_and_deleted(
    plane: BlockingControlPlane, project: Project, tmp_path: Path
) -> None:
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "shop"}})
    selector = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    meta = {"name": "web", "namespace": "shop"}
    plane.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": selector})
    account = await asyncio.to_thread(plane.service_account_kubeconfig, HOME, NAME)
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as client:
        cluster = Cluster(client)
        argv = [*PROGRAM, f"--kubeconfig={account}", f"--namespace={HOME}", *WITH_MACHINE_API, *QUICK]
        async with starting(argv, tmp_path) as process:
            await process.ready()
            await cluster.machine_set(project, 2)
            there = await eventually(
                lambda: cluster.all(Machine), lambda found: phases(found) == ["Provisioned"] * 2, what="two servers"
            )
            await cluster.kubelets(there)
            await eventually(lambda: cluster.all(Machine), lambda found: phases(found) == ["Running"] * 2, what="Nodes")
            assert [each.name for each in project.sdk.compute.server_groups()] == ["workers"]

            await cluster.patch(MachineSet, "workers", {"spec": {"replicas": 1}})
            await eventually(lambda: cluster.all(Machine), held_by_budget, what="a drain that the budget holds")
            assert len(list(project.sdk.compute.servers())) == 2
            budget(plane, least=0)
            (kept,) = await eventually(
                lambda: cluster.all(Machine), lambda found: phases(found) == ["Running"], what="one machine"
            )
            assert [each["metadata"]["name"] for each in await cluster.all(Node, None)] == [kept["metadata"]["name"]]
            assert len(await cluster.all(Pod, "shop")) == 1
            await cluster.patch(MachineSet, "workers", {"spec": {"replicas": 0}})
            await eventually(lambda: cluster.all(Machine), lambda found: not found, what="no machine")
            assert await cluster.all(Node, None) == []
            assert {"Created", "DrainSucceeded"} <= {each["reason"] for each in await cluster.all(Event)}
            assert await process.end() == 0
    for group in list(project.sdk.compute.server_groups()):
        project.sdk.compute.delete_server_group(group)
    grants, allowed = granted(MACHINE_API_RBAC, NAME), uses(plane.audit, USER, "allow")
    assert uses(plane.audit, USER, "forbid") == set()
    assert {use for use in allowed if not any(grant.covers(use) for grant in grants)} == set()


async def test_a_machine_lends_nobody_the_secrets_of_another_namespace(
    plane: BlockingControlPlane, project: Project, tmp_path: Path
) -> None:
    for name in ("evil", "creds"):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = await asyncio.to_thread(plane.service_account_kubeconfig, HOME, NAME)
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as client:
        cluster = Cluster(client)
        for place in (PLACE, "creds", "evil"):
            await cluster.secrets(project, place)
        argv = [*PROGRAM, f"--kubeconfig={account}", f"--namespace={HOME}", *WITH_MACHINE_API, *QUICK]
        async with starting(argv, tmp_path) as process:
            await process.ready()
            await cluster.machine("borrowed", "evil", provider_spec(project, secrets="creds"))
            await cluster.machine("elsewhere", "evil", provider_spec(project, secrets="evil"))
            await cluster.machine("lent", PLACE, provider_spec(project, secrets="creds"))
            await cluster.machine("own", PLACE, provider_spec(project))
            ended = ["Failed", "Provisioned"]
            lent, _ = await eventually(
                lambda: cluster.all(Machine), lambda found: phases(found) == ended, what="one server"
            )
            told = find(lent["status"]["conditions"], "InstanceReady")
            assert told is not None
            assert told["reason"] == "InvalidConfiguration"
            assert "cloudsSecret.namespace is 'creds'" in told["message"]
            assert "copy Secret creds/cloud there, and leave namespace out" in told["message"]
            for untouched in await cluster.all(Machine, "evil"):
                assert "status" not in untouched
                assert {"annotations", "finalizers"} & untouched["metadata"].keys() == set()
            assert [each.name for each in project.sdk.compute.servers()] == ["own"]
            await client.delete(Machine, "own", namespace=PLACE)
            await eventually(lambda: cluster.all(Machine), lambda found: len(found) == 1, what="no server")
            assert await process.end() == 0
    read = {use.namespace for use in uses(plane.audit, USER, "allow") if use.resource == "secrets"}
    assert read == {PLACE, CLUSTER_API_NAMESPACE}
    assert uses(plane.audit, USER, "forbid") == set()


async def test_the_account_that_we_ship_may_read_secrets_where_its_machines_are_and_nowhere_else(
    plane: BlockingControlPlane,
) -> None:
    for place in (PLACE, CLUSTER_API_NAMESPACE):
        until_allowed(plane.rest, USER, "get", "secrets", namespace=place)
    until_allowed(plane.rest, USER, "patch", "machines.machine.openshift.io", namespace=PLACE)
    for elsewhere in ("", HOME, "kube-system", "openshift-config"):  # empty: in all
        for verb, resource in (("get", "secrets"), ("list", "secrets"), ("patch", "machines.machine.openshift.io")):
            until_allowed(plane.rest, USER, verb, resource, allowed=False, namespace=elsewhere)
