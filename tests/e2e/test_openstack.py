"""`windlass run openstack` as it is shipped: under its ServiceAccount, with the real Cluster API, on a real cloud.

A cluster comes and goes, and a set of machines with it; its credentials are deleted too early; Cluster API's own
provider comes and goes; the process ends and is replaced. Machines become Nodes of another cluster than their own.
"""

import asyncio
import base64
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession

from tests.program import Program, starting
from tests.waiting import eventually
from windlass.api import capi, ipam, orc
from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.coordination import Lease
from windlass.api.core import Event, Namespace, Node, Secret
from windlass.api.meta import KubernetesObject
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.conditions import is_true
from windlass.kube.verbs import PatchType
from windlass.openstack.beside import PROVIDER_NAMESPACE
from windlass.openstack.constants import LEASE
from windlass.openstack.installation import HOME
from windlass.testing import BlockingControlPlane, crds
from windlass.testing.cloud import Project
from windlass.testing.machines import cluster_api
from windlass.testing.plane.processes import Processes

from .openstack import DEPLOY, NAME, PROGRAM, QUICK, USER
from .rights import granted, uses

pytestmark = pytest.mark.plane

RBAC = DEPLOY / "base" / "rbac.yaml"
PLACE = "prod"
GROUP = OpenStackCluster.RESOURCE.group
SCRAPES = {
    ("", "authentication.k8s.io", "tokenreviews", "create"),
    ("", "authorization.k8s.io", "subjectaccessreviews", "create"),
}
"""What is asked only when somebody scrapes."""
SOMETIMES = {
    *(("", "cluster.x-k8s.io", plural, "get") for plural in ("clusters", "machines")),
    *(("", ipam.GROUP, plural, "get") for plural in ("ipaddresses", "ipaddressclaims")),
    ("", ipam.GROUP, "ipaddressclaims", "delete"),
    ("", orc.GROUP, "images", "watch"),
    *(
        ("", GROUP, plural, "get")
        for plural in (
            *("openstackclusters", "openstackfloatingippools"),
            *("openstackmachines", "openstackmachinetemplates", "openstackservers"),
        )
    ),
}
"""What is read when a cache may lag: another writer was first, a Cluster is not in it, or a machine goes and its owner
stays. What the garbage collector may delete first. What is not installed here."""

Tree = dict[str, Any]


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[BlockingControlPlane]:
    """Without streaming lists, so that caches list and watch."""
    known: list[Path | Mapping[str, Any]] = [*crds.documents(*crds.CLUSTER_API_CORE), DEPLOY / "crds" / "crds.yaml"]
    flags, assets = ["--feature-gates=WatchList=false"], request.config.getoption("windlass_assets")
    with BlockingControlPlane(apiserver_flags=flags, assets=assets, crds=known) as plane:
        cluster_api.start(plane)
        plane.apply_files(RBAC)
        yield plane


class Admin:
    """Writes of people, and looks at what there is, in one namespace."""

    def __init__(self, api: Client, place: str = PLACE) -> None:
        self._api = api
        self._place = place

    async def make(self, kind: type[KubernetesObject], name: str, place: str | None = "", **parts: Any) -> None:
        resource, place = kind.RESOURCE, self._place if place == "" else place
        meta = {"name": name, **({"labels": {"cluster.x-k8s.io/cluster-name": "one"}} if place else {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, **parts}
        await self._api.create(kind, body, namespace=place, field_manager="kubectl")

    async def all(self, kind: type[Any], place: str | None = "") -> list[Tree]:
        listed = await self._api.list(kind, namespace=self._place if place == "" else place)
        return [each.tree() for each in listed.items]

    async def delete(self, kind: type[Any], name: str) -> None:
        await self._api.delete(kind, name, namespace=self._place)

    async def until_nothing_is_left(self) -> None:
        for kind in (capi.Machine, OpenStackMachine, OpenStackServer, OpenStackCluster, capi.Cluster):
            await eventually(lambda kind=kind: self.all(kind), lambda found: not found, what=f"no {kind}")  # type: ignore[misc]

    async def provider_holds(self, holder: str) -> None:
        """The Lease of Cluster API's own provider is taken, or released."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 600}
        if await self.all(Lease, PROVIDER_NAMESPACE):
            patch = {"spec": spec}
            await self._api.patch(Lease, LEASE, patch, type=PatchType.MERGE, namespace=PROVIDER_NAMESPACE)
        else:
            await self.make(Lease, LEASE, PROVIDER_NAMESPACE, spec=spec)

    async def cluster(self, project: Project) -> None:
        clouds = base64.b64encode(project.clouds_yaml.encode()).decode()
        await self.make(Secret, "cloud", data={"clouds.yaml": clouds})
        identity = {"name": "cloud", "cloudName": "openstack"}
        infra = {"identityRef": identity, "network": {"id": project.network_id}, "apiServerFixedIP": "10.6.0.9"}
        alone = {"disableExternalNetwork": True, "disableAPIServerFloatingIP": True}
        await self.make(OpenStackCluster, "one", spec={**infra, **alone})
        await self.make(capi.Cluster, "one", spec={"infrastructureRef": _reference(OpenStackCluster, "one")})

    async def gives_and_takes_a_floating_ip(self, project: Project) -> None:
        """A server asks for one, which no router leads to it; a bare API server has no garbage collector."""
        identity, ref = {"name": "cloud", "cloudName": "openstack"}, _reference(OpenStackFloatingIPPool, "one")
        await self.make(OpenStackFloatingIPPool, "one", spec={"identityRef": identity, "reclaimPolicy": "Delete"})
        machine = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}, "sshKeyName": ""}
        ports = [{"network": {"id": project.network_id}}]
        spec = {"identityRef": identity, "ports": ports, "floatingIPPoolRef": ref, **machine}
        await self.make(OpenStackServer, "jump", spec=spec)
        (address,) = await eventually(lambda: self.all(ipam.IPAddress), bool, what="an IPAddress")
        await self.delete(OpenStackServer, "jump")
        await eventually(lambda: self.all(ipam.IPAddressClaim), lambda found: not found, what="no claim")
        await self.delete(ipam.IPAddress, address["metadata"]["name"])
        await self.delete(OpenStackFloatingIPPool, "one")
        await eventually(lambda: self.all(OpenStackFloatingIPPool), lambda found: not found, what="no pool")

    async def machines(self, replicas: int) -> None:
        await self.make(Secret, "data", data={"value": base64.b64encode(b"#cloud-config").decode()})
        machine = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}}
        await self.make(OpenStackMachineTemplate, "workers", spec={"template": {"spec": machine}})
        template = {
            "clusterName": "one",
            "bootstrap": {"dataSecretName": "data"},
            "infrastructureRef": _reference(OpenStackMachineTemplate, "workers"),
        }
        spec = {
            "clusterName": "one",
            "replicas": replicas,
            "selector": {"matchLabels": {"set": "workers"}},
            "template": {"metadata": {"labels": {"set": "workers"}}, "spec": template},
        }
        await self.make(capi.MachineSet, "workers", spec=spec)


def _reference(kind: type[KubernetesObject], name: str) -> Tree:
    return {"apiGroup": GROUP, "kind": kind.RESOURCE.kind, "name": name}


def ready(found: list[Tree], count: int) -> bool:
    return len(found) == count and all(
        is_true(each.get("status", {}).get("conditions", []), "InfrastructureReady") for each in found
    )


def writes_of(project: Project) -> int:
    """How often the cloud was asked to change something; tokens do not count."""
    found = project.requests(user_agent="windlass-openstack")
    return sum(each.method != "GET" and each.service != "keystone" for each in found)


async def readiness(process: Program) -> str:
    try:
        async with ClientSession() as session, session.get(f"{process.probes}/readyz?verbose") as answer:
            return await answer.text()
    except ClientError:
        return ""


def running(account: Path, folder: Path) -> AbstractAsyncContextManager[Program]:
    return starting([*PROGRAM, f"--kubeconfig={account}", f"--namespace={HOME}", *QUICK], folder)


async def test_it_does_its_whole_job_by_the_rights_that_are_shipped(
    plane: BlockingControlPlane, project: Project, tmp_path: Path
) -> None:
    account = await asyncio.to_thread(plane.service_account_kubeconfig, HOME, NAME)
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as client:
        admin = Admin(client)
        for place in (PLACE, PROVIDER_NAMESPACE):
            await admin.make(Namespace, place, None)
        await admin.provider_holds("capo-controller-manager-0")
        await admin.cluster(project)
        async with running(account, tmp_path) as process:
            await eventually(
                lambda: readiness(process), lambda text: "capo-controller-manager-0 holds Lease" in text, what="idle"
            )
            assert project.requests(user_agent="windlass-openstack") == []
            await admin.provider_holds("")
            await process.ready()

            await eventually(lambda: admin.all(capi.Cluster), lambda found: ready(found, 1), what="a cluster")
            await admin.machines(2)
            await eventually(lambda: admin.all(capi.Machine), lambda found: ready(found, 2), what="two machines")
            await admin.gives_and_takes_a_floating_ip(project)
            assert await process.end() == 0
        (lease,) = await admin.all(Lease, HOME)
        assert not lease["spec"].get("holderIdentity")

        writes = writes_of(project)
        async with running(account, tmp_path) as process:
            await process.ready()
            await admin.delete(Secret, "cloud")
            await eventually(
                lambda: admin.all(Event),
                lambda found: "CredentialsInUse" in {each["reason"] for each in found},
                what="an Event that the Secret is needed",
            )
            assert writes_of(project) == writes
            await admin.delete(capi.Cluster, "one")
            await admin.until_nothing_is_left()
            await eventually(
                lambda: admin.all(Secret), lambda found: "cloud" not in {each["metadata"]["name"] for each in found}
            )
            assert await process.end() == 0

    grants, allowed = granted(RBAC, NAME), uses(plane.audit, USER, "allow")
    assert uses(plane.audit, USER, "forbid") == set()
    assert {use for use in allowed if not any(grant.covers(use) for grant in grants)} == set()
    unused = {grant[:4] for grant in grants if not any(grant.covers(use) for use in allowed)}
    assert unused <= SCRAPES | SOMETIMES


@pytest.fixture
def workload(request: pytest.FixtureRequest) -> Iterator[BlockingControlPlane]:
    """The cluster that the machines are of: another API server than that of the machines."""
    with BlockingControlPlane(assets=request.config.getoption("windlass_assets")) as plane:
        yield plane


@pytest.fixture
def guests(
    plane: BlockingControlPlane, workload: BlockingControlPlane, project: Project, tmp_path: Path
) -> Iterator[None]:
    """Kubelets of the project's servers in the workload cluster, and the installer, which tells where that is."""
    file = tmp_path / "clouds.yaml"
    file.write_text(project.clouds_yaml, encoding="utf-8")
    argv = ["env", f"OS_CLIENT_CONFIG_FILE={file}", sys.executable, "-m", "windlass.testing.machines.simulators"]
    argv += ["--guest", "--os-cloud=openstack", f"--workload-kubeconfig={workload.kubeconfig()}"]
    argv += [f"--kubeconfig={plane.kubeconfig()}", "--cluster-api-namespace=apart"]
    processes = Processes(folders=[], log=tmp_path / "supervisor.log")
    processes.start("guests", argv, log=tmp_path / "guests.log")
    yield
    processes.stop("guests")
    processes.close()


@pytest.mark.usefixtures("guests")
async def test_machines_become_nodes_of_another_cluster(
    plane: BlockingControlPlane, workload: BlockingControlPlane, project: Project, tmp_path: Path
) -> None:
    account = await asyncio.to_thread(plane.service_account_kubeconfig, HOME, NAME)
    async with (
        Client(connections.load(kubeconfig=plane.kubeconfig())) as client,
        Client(connections.load(kubeconfig=workload.kubeconfig())) as there,
        running(account, tmp_path),
    ):
        admin = Admin(client, "apart")
        await admin.make(Namespace, "apart", None)
        await admin.cluster(project)
        await eventually(
            lambda: admin.all(capi.Cluster),
            lambda found: ready(found, 1) and is_true(found[0]["status"]["conditions"], "RemoteConnectionProbe"),
            what="a cluster that Cluster API reaches",
        )
        await admin.machines(2)
        machines = await eventually(
            lambda: admin.all(capi.Machine),
            lambda found: len(found) == 2 and all(each.get("status", {}).get("phase") == "Running" for each in found),
            what="machines with Nodes",
        )
        nodes = await Admin(there).all(Node, None)
        assert {node["spec"]["providerID"] for node in nodes} == {each["spec"]["providerID"] for each in machines}
        assert await admin.all(Node, None) == []
        await admin.delete(capi.Cluster, "one")
        await admin.until_nothing_is_left()
        await eventually(lambda: Admin(there).all(Node, None), lambda found: not found, what="no Node")
