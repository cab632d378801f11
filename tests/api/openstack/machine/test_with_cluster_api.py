"""The real core manager of Cluster API reads what our controllers write, of machines on a real cloud."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.openstack.working import working
from tests.house import ROOT
from tests.waiting import eventually
from windlass.api import capi
from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event, Secret
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.kube.conditions import find
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType
from windlass.openstack.constants import SECRET_FINALIZER
from windlass.openstack.controllers import makers
from windlass.testing import ControlPlane, crds
from windlass.testing.cloud import Project
from windlass.testing.machines import cluster_api
from windlass.testing.plane.pool import PlanePool

pytestmark = pytest.mark.sampled

Tree = dict[str, Any]

CRDS = ROOT / "deploy" / "openstack" / "crds" / "crds.yaml"
OURS = "infrastructure.cluster.x-k8s.io"
NOWHERE = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
"""The ID of nothing."""


@pytest.fixture
def plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane with Cluster API core and the CRDs that we ship."""
    plane = windlass_planes.plane("openstack", crds=[*crds.documents(*crds.CLUSTER_API_CORE), CRDS])
    if not cluster_api.runs(plane.blocking):
        cluster_api.start(plane.blocking, flags=["--feature-gates=ReconcilerRateLimiting=false"])
    else:
        cluster_api.admit(plane.blocking)
    return plane


class Stage:
    """A namespace in which our controllers work. Writes of an administrator, and looks at what there is."""

    def __init__(self, client: Client, namespace: str, project: Project) -> None:
        self.client = client
        self.namespace = namespace
        self.project = project

    async def make(self, kind: type[Any], name: str, spec: Tree | None = None, **more: Any) -> None:
        meta = {"name": name, "labels": {"cluster.x-k8s.io/cluster-name": "one"}}
        identity = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": meta}
        body = {**identity, **({"spec": spec} if spec is not None else {}), **more}
        await self.client.create(kind, body, namespace=self.namespace, field_manager="kubectl")

    async def secret(self, name: str, **data: str) -> None:
        texts = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in data.items()}
        await self.make(Secret, name, data=texts)

    async def cluster(self, **spec: Any) -> None:
        await self.secret("cloud", clouds_yaml=self.project.clouds_yaml)
        infra = {
            "identityRef": {"type": "Secret", "name": "cloud", "cloudName": "openstack"},
            "network": {"id": self.project.network_id},
            "disableExternalNetwork": True,
            "disableAPIServerFloatingIP": True,
            "apiServerFixedIP": "10.0.0.9",
            **spec,
        }
        await self.make(OpenStackCluster, "one", infra)
        await self.make(capi.Cluster, "one", {"infrastructureRef": _ref(OpenStackCluster, "one")})

    async def machine_set(self, replicas: int) -> None:
        await self.secret("data", value="#cloud-config")
        spec = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}}
        await self.make(OpenStackMachineTemplate, "workers", {"template": {"spec": spec}})
        labels = {"cluster.x-k8s.io/cluster-name": "one", "set": "workers"}
        machine = {
            "clusterName": "one",
            "bootstrap": {"dataSecretName": "data"},
            "infrastructureRef": _ref(OpenStackMachineTemplate, "workers"),
        }
        await self.make(
            capi.MachineSet,
            "workers",
            {
                "clusterName": "one",
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": machine},
            },
        )

    async def all(self, kind: type[Any]) -> list[Tree]:
        found = await self.client.list(kind, namespace=self.namespace)
        return [each.tree() for each in found.items]

    async def get(self, kind: type[Any], name: str) -> Tree:
        return (await self.client.get(kind, name, namespace=self.namespace)).tree()

    async def is_gone(self, kind: type[Any], name: str) -> Any:
        try:
            return (await self.get(kind, name)).get("status")
        except NotFound:
            return True


def _ref(kind: type[Any], name: str) -> Tree:
    return {"apiGroup": OURS, "kind": kind.RESOURCE.kind, "name": name}


def says(tree: Tree, type_: str) -> str:
    found = find(tree.get("status", {}).get("conditions", []), type_)
    return f"{found['status']} {found['reason']}" if found else "missing"


@pytest.fixture
async def stage(plane: ControlPlane, project: Project) -> AsyncIterator[Stage]:
    namespace = plane.blocking.create_namespace("openstack-")
    async with Client(config.load(kubeconfig=plane.kubeconfig())) as client:
        stage = Stage(client, namespace, project)
        async with working(client, lambda clouds: makers(clouds, [namespace]), at_rest=2.0):
            yield stage


def _is_whole(machine: Tree) -> bool:
    """Cluster API writes conditions, spec and status of a Machine one after the other."""
    provisioned = machine.get("status", {}).get("initialization", {}).get("infrastructureProvisioned")
    return bool(provisioned) and says(machine, "InfrastructureReady").startswith("True")


async def test_cluster_api_sees_cluster_and_machines_provisioned_and_they_go_whole(stage: Stage) -> None:
    await stage.cluster()
    cluster = await eventually(
        lambda: stage.get(capi.Cluster, "one"),
        lambda found: found.get("status", {}).get("initialization", {}).get("infrastructureProvisioned"),
        what="the Cluster has infrastructure",
    )
    cluster = await eventually(
        lambda: stage.get(capi.Cluster, "one"),
        lambda found: says(found, "InfrastructureReady").startswith("True"),
        what="Ready is shown as InfrastructureReady",
    )
    assert cluster["spec"]["controlPlaneEndpoint"] == {"host": "10.0.0.9", "port": 6443}
    assert [each["name"] for each in cluster["status"]["failureDomains"]]

    await stage.machine_set(2)
    machines = await eventually(
        lambda: stage.all(capi.Machine),
        lambda found: len(found) == 2 and all(map(_is_whole, found)),
        what="two Machines with infrastructure",
    )
    servers = {each["status"]["instanceID"] for each in await stage.all(OpenStackServer)}
    assert {each["spec"]["providerID"] for each in machines} == {f"openstack:///{each}" for each in servers}
    for machine in machines:
        assert machine["status"]["initialization"]["infrastructureProvisioned"]
        assert {each["type"] for each in machine["status"]["addresses"]} >= {"InternalIP", "InternalDNS"}
    secret = await stage.get(Secret, "cloud")
    assert SECRET_FINALIZER in secret["metadata"]["finalizers"]

    await stage.client.delete(Secret, "cloud", namespace=stage.namespace)  # too early
    await stage.client.delete(capi.Cluster, "one", namespace=stage.namespace)
    for kind in (capi.Machine, OpenStackMachine, OpenStackServer):
        await eventually(lambda kind=kind: stage.all(kind), lambda found: not found, what=f"no {kind.__name__}")  # type: ignore[misc]
    await eventually(lambda: stage.is_gone(OpenStackCluster, "one"), lambda gone: gone is True, what="no cluster")
    await eventually(lambda: stage.is_gone(Secret, "cloud"), lambda gone: gone is True, what="the Secret goes")


async def test_a_machine_health_check_has_a_machine_replaced_with_its_server(stage: Stage, plane: ControlPlane) -> None:
    await stage.cluster()
    await stage.machine_set(1)
    [old] = await eventually(
        lambda: stage.all(capi.Machine), lambda found: len(found) == 1 and all(map(_is_whole, found)), what="a Machine"
    )
    had = {each.id for each in _held(stage.project)}
    check = {
        "clusterName": "one",
        "selector": {"matchLabels": {"set": "workers"}},
        "checks": {"nodeStartupTimeoutSeconds": 0},
    }
    plane.blocking.apply(
        {
            "apiVersion": old["apiVersion"],
            "kind": "MachineHealthCheck",
            "metadata": {"name": "workers", "namespace": stage.namespace},
            "spec": check,
        }
    )
    mark = {"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}}
    name = old["metadata"]["name"]
    await stage.client.patch(capi.Machine, name, mark, type=PatchType.MERGE, namespace=stage.namespace)

    def is_replaced(found: list[Tree]) -> bool:
        return [each["metadata"]["name"] for each in found] != [name] and len(found) == 1 and _is_whole(found[0])

    [new] = await eventually(lambda: stage.all(capi.Machine), is_replaced, what="another Machine")
    [server] = await stage.all(OpenStackServer)
    assert new["spec"]["providerID"] == f"openstack:///{server['status']['instanceID']}"
    there = {each.id for each in _held(stage.project)}
    assert not there & had, "the old server goes with its port"
    assert len(there) == len(had) == 2
    await stage.client.delete(capi.Cluster, "one", namespace=stage.namespace)
    await eventually(lambda: stage.is_gone(OpenStackCluster, "one"), lambda gone: gone is True, what="no cluster")


def _held(project: Project) -> list[Any]:
    return [*project.sdk.compute.servers(), *project.sdk.network.ports(project_id=project.id)]


async def test_a_machine_whose_flavor_subnet_or_zone_does_not_exist_says_so(stage: Stage) -> None:
    await stage.cluster()
    await stage.secret("data", value="#cloud-config")
    port = {"network": {"id": stage.project.network_id}, "fixedIPs": [{"subnet": {"id": NOWHERE}}]}
    troubles: list[tuple[str, Tree, Tree, str, str]] = [
        ("flavor", {"flavor": "no-such-flavor"}, {}, "DependencyFailed", "no-such-flavor"),
        ("subnet", {"ports": [port]}, {}, "DependencyFailed", NOWHERE),
        ("zone", {}, {"failureDomain": "no-such-zone"}, "InvalidConfiguration", "availability zone"),
    ]
    for name, wrong, wrong_in_owner, _, _ in troubles:
        spec = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}, **wrong}
        await stage.make(OpenStackMachine, name, spec)
        machine = {
            "clusterName": "one",
            "bootstrap": {"dataSecretName": "data"},
            "infrastructureRef": _ref(OpenStackMachine, name),
            **wrong_in_owner,
        }
        await stage.make(capi.Machine, name, machine)
    for name, _, _, reason, text in troubles:
        found = await eventually(
            lambda name=name: stage.get(capi.Machine, name),  # type: ignore[misc]
            lambda found, reason=reason: says(found, "InfrastructureReady") == f"False {reason}",  # type: ignore[misc]
            what=f"the Machine tells of its {name}",
        )
        told = find(found["status"]["conditions"], "InfrastructureReady")
        assert told is not None
        assert text in told["message"]
    events = await eventually(lambda: stage.all(Event), lambda found: any(map(_is_refusal, found)), what="the Event")
    assert {each["involvedObject"]["name"] for each in events if _is_refusal(each)} == {"zone"}
    for name, *_ in troubles:
        await stage.client.delete(capi.Machine, name, namespace=stage.namespace)
    await eventually(lambda: stage.all(OpenStackMachine), lambda found: not found, what="no OpenStackMachine")


def _is_refusal(event: Tree) -> bool:
    return bool(event["reason"] == "Failedcreateserver")
