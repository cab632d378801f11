"""The simulators beside the real Cluster API core manager: machines on AWS come to run, pause, and go again."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.api import capa, capi, core, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.conditions import is_true
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane
from windlass.testing.machines.simulators.instances import instances
from windlass.testing.plane.processes import Processes

MACHINE_API, CLUSTER_API = "openshift-machine-api", "openshift-cluster-api"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
LABELS = {"cluster.x-k8s.io/cluster-name": "demo", "cluster.x-k8s.io/set-name": "worker"}


@pytest.fixture(scope="module")
def kubeconfig(migration_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The administrator of a plane with Cluster API core, the CRDs, and the simulators as a process."""
    folder = tmp_path_factory.mktemp("simulators")
    for name in (MACHINE_API, CLUSTER_API):
        migration_plane.blocking.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    kubeconfig = migration_plane.kubeconfig()
    processes = Processes(folders=[], log=folder / "supervisor.log")
    argv = [
        *(sys.executable, "-m", "windlass.testing.machines.simulators", "--platform=AWS", "--boot-seconds=1"),
        *(f"--kubeconfig={kubeconfig}", f"--workload-kubeconfig={kubeconfig}"),
    ]
    try:
        processes.start("simulators", argv, log=folder / "simulators.log")
        yield kubeconfig
    finally:
        processes.stop("simulators")
        processes.close()


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=str(kubeconfig))) as admin:
        yield admin


async def test_machines_on_aws_come_to_run_and_go_again(client: Client) -> None:
    await create(client, capi.Cluster, "demo", {"infrastructureRef": reference("AWSCluster", "demo")})
    await create(client, capa.AWSCluster, "demo", {"region": "us-east-1"})
    await create(
        client, capa.AWSMachineTemplate, "worker", {"template": {"spec": {"instanceType": "m6i.xlarge", "ami": {}}}}
    )
    await until(client, capi.Cluster, control_plane_is_known)
    await create(client, capi.MachineSet, "worker", machine_set(replicas=2))

    running = every(2, lambda one: one["status"].get("phase") == "Running")
    await until(client, capi.Machine, running, prefix="worker-")
    machines = await trees(client, capi.Machine, prefix="worker-")
    nodes = await trees(client, core.Node, prefix="worker-")
    assert {one["spec"]["providerID"] for one in machines} == {one["spec"]["providerID"] for one in nodes}
    assert all(one["status"]["addresses"] for one in machines)

    await client.patch(
        capi.MachineSet, "worker", {"spec": {"replicas": 0}}, type=PatchType.MERGE, namespace=CLUSTER_API
    )
    for kind in (capi.Machine, capa.AWSMachine, core.Node):
        await until(client, kind, lambda found: not found, prefix="worker-")


async def test_a_paused_machine_gets_no_instance_until_it_is_resumed(client: Client) -> None:
    for name, annotations in (("paused", {"cluster.x-k8s.io/paused": ""}), ("busy", {})):
        owner = await create(client, capi.Machine, f"x-{name}", machine("no-cluster"))
        owned = {"ownerReferences": [owner_reference(owner)], "annotations": annotations}
        await create(client, capa.AWSMachine, f"x-{name}", {"instanceType": "m6i.xlarge"}, **owned)
    await until(client, core.Node, lambda nodes: names(nodes) == ["x-busy"], prefix="x-")
    await until(client, capa.AWSMachine, lambda found: [*map(is_paused, found)] == [False, True], prefix="x-")
    resume = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": None}}}
    await client.patch(capa.AWSMachine, "x-paused", resume, type=PatchType.MERGE, namespace=CLUSTER_API)
    await until(client, core.Node, lambda nodes: names(nodes) == ["x-busy", "x-paused"], prefix="x-")


async def test_the_machine_api_says_who_is_in_charge_and_runs_what_is_its_own(client: Client) -> None:
    for name, authority in (("theirs", "ClusterAPI"), ("ours", "MachineAPI")):
        await create(client, mapi.Machine, name, {"authoritativeAPI": authority, "providerSpec": {"value": {}}})
    await until(client, mapi.Machine, every(2, lambda one: "conditions" in (one.get("status") or {})))
    await until(client, mapi.Machine, lambda found: phases(found) == {"ours": "Running", "theirs": None})
    await until(client, mapi.Machine, lambda found: is_paused(found[0]), prefix="theirs")
    theirs = (await client.get(mapi.Machine, "theirs", namespace=MACHINE_API)).tree()
    assert theirs["status"]["authoritativeAPI"] == "ClusterAPI"

    left = await client.delete(mapi.Machine, "ours", namespace=MACHINE_API)
    assert left is not None, "the simulator's finalizer holds it"
    await until(client, mapi.Machine, lambda found: phases(found) == {"theirs": None})


async def test_a_machine_set_of_the_machine_api_has_as_many_running_machines_as_it_says(client: Client) -> None:
    labels = {"machine.openshift.io/cluster-api-machineset": "pool"}
    template = {"metadata": {"labels": labels}, "spec": {"providerSpec": {"value": {}}}}
    spec = {"authoritativeAPI": "MachineAPI", "replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    await create(client, mapi.MachineSet, "pool", spec)
    await until(client, mapi.Machine, every(3, lambda one: one["status"].get("phase") == "Running"), prefix="pool-")
    await until(client, mapi.MachineSet, every(1, lambda one: one["status"].get("readyReplicas") == 3))
    machines = await trees(client, mapi.Machine, prefix="pool-")
    nodes = await trees(client, core.Node, prefix="pool-")
    assert {one["spec"]["providerID"] for one in machines} == {one["spec"]["providerID"] for one in nodes}

    first = names(machines)[0]
    await client.delete(mapi.Machine, first, namespace=MACHINE_API)
    await until(client, mapi.Machine, lambda found: len(found) == 3 and first not in names(found), prefix="pool-")
    await scale(client, 1)
    await until(client, mapi.Machine, lambda found: len(found) == 1, prefix="pool-")
    await client.delete(mapi.MachineSet, "pool", namespace=MACHINE_API)
    for kind in (mapi.Machine, core.Node):
        await until(client, kind, lambda found: not found, prefix="pool-")
    made = [one for one in await instances(client, namespace=CLUSTER_API) if one.machine.startswith("pool-")]
    assert {one.machine for one in made} >= {*names(machines)}
    assert not any(one.alive for one in made)


async def scale(client: Client, replicas: int) -> None:
    body = {"spec": {"replicas": replicas}}
    await client.patch(mapi.MachineSet, "pool", body, type=PatchType.MERGE, namespace=MACHINE_API)


def is_paused(machine: dict[str, Any]) -> bool:
    return is_true((machine.get("status") or {}).get("conditions") or [], "Paused")


def names(found: list[dict[str, Any]]) -> list[str]:
    return sorted(one["metadata"]["name"] for one in found)


def owner_reference(owner: dict[str, Any]) -> dict[str, str]:
    identity = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", **identity}


def phases(machines: list[dict[str, Any]]) -> dict[str, str | None]:
    return {one["metadata"]["name"]: (one.get("status") or {}).get("phase") for one in machines}


def control_plane_is_known(clusters: list[dict[str, Any]]) -> bool:
    (cluster,) = clusters
    return is_true((cluster.get("status") or {}).get("conditions") or [], "ControlPlaneInitialized")


def every(count: int, holds: Callable[[dict[str, Any]], bool]) -> Callable[[list[dict[str, Any]]], bool]:
    return lambda found: len(found) == count and all("status" in one and holds(one) for one in found)


def reference(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": INFRASTRUCTURE, "kind": kind, "name": name}


def machine(cluster: str, infrastructure: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "clusterName": cluster,
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": infrastructure or reference("AWSMachine", "none"),
    }


def machine_set(*, replicas: int) -> dict[str, Any]:
    return {
        "clusterName": "demo",
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": machine("demo", reference("AWSMachineTemplate", "worker")),
        },
    }


async def create(
    client: Client, kind: type[KubernetesObject], name: str, spec: dict[str, Any], **metadata: Any
) -> dict[str, Any]:
    body = {"metadata": {"name": name, **metadata}, "spec": spec}
    return (await client.create(kind, body, namespace=home(kind))).tree()


async def trees(client: Client, kind: type[KubernetesObject], *, prefix: str = "") -> list[dict[str, Any]]:
    listed = await client.list(kind, namespace=home(kind))
    return [found.tree() for found in listed.items if found.name.startswith(prefix)]


async def until(
    client: Client,
    kind: type[KubernetesObject],
    holds: Callable[[list[dict[str, Any]]], bool],
    *,
    prefix: str = "",
) -> None:
    """Wait until `holds` is true of the objects of `kind` named `prefix`...; fails with what there is instead."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while not holds(found := await trees(client, kind, prefix=prefix)):
        if loop.time() > deadline:
            pytest.fail(f"after {PATIENCE:.0f} s {kind.RESOURCE.name} still are: {found}")
        await asyncio.sleep(0.1)


def home(kind: type[KubernetesObject]) -> str | None:
    if not kind.RESOURCE.namespaced:
        return None
    return MACHINE_API if kind.RESOURCE.group == "machine.openshift.io" else CLUSTER_API
