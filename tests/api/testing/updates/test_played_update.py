"""A played update on a real API server with OpenShift's own CRDs: all objects are accepted, budgets hold up drains."""

import asyncio
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from tests.waiting import eventually
from windlass.api import apps, config, core, machineconfiguration
from windlass.api.meta import KubernetesObject, ObjectMeta, Resource
from windlass.kube.client import Client
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.testing.updates.drain import Pod
from windlass.testing.updates.objects import Tree, is_true

pytestmark = pytest.mark.plane

SMALL = Layout(operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=2)))


class PodDisruptionBudget(Struct):
    RESOURCE: ClassVar[Resource] = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


async def trees(api: Client, kind: type[KubernetesObject]) -> dict[str, Tree]:
    return {found.name: found.tree() for found in (await api.list(kind)).items}


async def version(api: Client) -> Tree:
    return (await api.get(config.ClusterVersion, "version")).tree()


def said(tree: Tree, type: str) -> tuple[str, str, str]:  # noqa: A002
    (found,) = [one for one in tree["status"]["conditions"] if one["type"] == type]
    return found["status"], found.get("reason", ""), found["message"]


async def test_the_api_server_accepts_every_object_of_a_healthy_update(admin: Client) -> None:
    cluster = PlayedCluster(admin, pace=0)
    await cluster.install()
    nodes = await trees(admin, core.Node)
    assert len(nodes) == 9
    assert nodes.keys() == (await trees(admin, machineconfiguration.MachineConfigNode)).keys()
    assert said(await version(admin), "Progressing") == ("False", "", "Cluster version is 4.16.0")

    seen = []
    for step in cluster.healthy_update("4.16.1"):
        await step.play()
        seen.append(said(await version(admin), "Progressing"))

    assert seen == [
        ("True", "", "Working towards 4.16.1: 0 of 744 done (0% complete)"),
        ("True", "", "Working towards 4.16.1: 148 of 744 done (19% complete)"),
        ("True", "", "Working towards 4.16.1: 297 of 744 done (39% complete)"),
        ("True", "", "Working towards 4.16.1: 446 of 744 done (59% complete)"),
        ("True", "", "Working towards 4.16.1: 595 of 744 done (79% complete)"),
        (
            "True",
            "ClusterOperatorUpdating",
            "Working towards 4.16.1: 595 of 744 done (79% complete), waiting on machine-config",
        ),
        ("False", "", "Cluster version is 4.16.1"),
    ]
    newest, oldest = (await version(admin))["status"]["history"]
    assert (newest["version"], newest["state"], oldest["version"]) == ("4.16.1", "Completed", "4.16.0")
    assert newest["startedTime"] <= newest["completionTime"]
    assert_updated(
        cluster.layout, await trees(admin, machineconfiguration.MachineConfigPool), await trees(admin, core.Node)
    )
    operator = (await trees(admin, config.ClusterOperator))["machine-config"]
    deployment = (await trees(admin, apps.Deployment))["machine-config-operator"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["version"] for one in operator["status"]["versions"]} == {
        "operator": "4.16.1",
        "operator-image": container["image"],
    }


def assert_updated(layout: Layout, pools: dict[str, Tree], nodes: dict[str, Tree]) -> None:
    for pool in layout.pools:
        found = pools[pool.name]
        name = found["spec"]["configuration"]["name"]
        assert said(found, "Updated") == ("True", "", f"All nodes are updated with MachineConfig {name}")
        assert found["status"]["readyMachineCount"] == pool.nodes
        for node in pool.node_names:
            annotations = nodes[node]["metadata"]["annotations"]
            assert annotations["machineconfiguration.openshift.io/currentConfig"] == name
            assert not nodes[node]["spec"].get("unschedulable")


async def test_a_pool_never_has_more_nodes_away_than_it_may(admin: Client) -> None:
    cluster = PlayedCluster(admin, SMALL, pace=0)
    await cluster.install()
    for step in cluster.healthy_update("4.16.1")[:-1]:
        await step.play()
    rolling, away = asyncio.create_task(cluster.mco.roll("worker")), set()
    while not rolling.done():
        found = await trees(admin, core.Node)
        away.add(frozenset(name for name, node in found.items() if node["spec"].get("unschedulable")))
    await rolling
    assert max(map(len, away)) == 1, away


async def test_a_budget_without_disruptions_holds_the_drain_up_until_it_goes(
    admin: Client, update_plane: ControlPlane
) -> None:
    cluster = PlayedCluster(admin, SMALL, pace=0, patience=0)
    await cluster.install()
    namespace = await update_plane.create_namespace()
    await a_protected_pod(admin, namespace, node="worker-0")
    await cluster.cvo.start("4.16.1")
    await cluster.cvo.progress("machine-config")
    await cluster.mco.render("4.16.1")
    rolling = asyncio.create_task(cluster.mco.roll("worker"))

    async def pool() -> Tree:
        return (await admin.get(machineconfiguration.MachineConfigPool, "worker")).tree()

    reason = (
        "failed to drain node: worker-0 after 1 hour. Please see machine-config-controller logs for more information"
    )
    stuck = await eventually(pool, lambda found: is_true(found, "Degraded"))
    assert said(stuck, "NodeDegraded") == (
        "True",
        "1 nodes are reporting degraded status on sync",
        f'Node worker-0 is reporting: "{reason}"',
    )
    node = (await trees(admin, core.Node))["worker-0"]
    assert node["spec"]["unschedulable"]
    prefix = "machineconfiguration.openshift.io/"
    assert node["metadata"]["annotations"][f"{prefix}desiredDrain"].startswith("drain-")
    assert node["metadata"]["annotations"][f"{prefix}lastAppliedDrain"].startswith("uncordon-")
    progress = (await trees(admin, machineconfiguration.MachineConfigNode))["worker-0"]
    assert said(progress, "Drained")[0] == "Unknown"
    assert not rolling.done()

    await admin.delete(PodDisruptionBudget, "shop", namespace=namespace)
    await rolling
    assert [found.name for found in (await admin.list(Pod, namespace=namespace)).items] == []
    assert is_true(await pool(), "Updated")
    assert not is_true(await pool(), "Degraded")


async def a_protected_pod(admin: Client, namespace: str, *, node: str) -> None:
    """A Pod on the Node that its budget does not allow to be evicted, once that is counted."""
    metadata = {"name": "shop", "labels": {"app": "shop"}}
    container = {"name": "c", "image": "none"}
    await admin.create(
        Pod, {"metadata": metadata, "spec": {"nodeName": node, "containers": [container]}}, namespace=namespace
    )
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    how: dict[str, Any] = {"type": PatchType.MERGE, "namespace": namespace, "subresource": "status"}
    await admin.patch(Pod, "shop", {"status": status}, **how)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}}
    await admin.create(PodDisruptionBudget, {"metadata": {"name": "shop"}, "spec": spec}, namespace=namespace)

    async def counted() -> Tree:
        budget = await admin.get(PodDisruptionBudget, "shop", namespace=namespace)
        status: Tree = budget.tree().get("status", {})
        return status

    await eventually(counted, lambda found: (found.get("currentHealthy"), found.get("disruptionsAllowed")) == (1, 0))


async def test_no_node_of_a_paused_pool_is_begun(admin: Client) -> None:
    cluster = PlayedCluster(admin, SMALL, pace=0)
    await cluster.install()
    await cluster.mco.pause("worker")
    await cluster.mco.render("4.16.1")

    async def pool() -> Tree:
        return (await admin.get(machineconfiguration.MachineConfigPool, "worker")).tree()

    config_name = (await pool())["spec"]["configuration"]["name"]
    paused = f"Pool is paused; will not update to MachineConfig {config_name}"
    assert said(await pool(), "Updating") == ("False", "", paused)
    rolling = asyncio.create_task(cluster.mco.roll("worker"))
    await cluster.mco.roll("master")
    assert (await pool())["status"]["updatedMachineCount"] == 0
    assert not rolling.done()
    await cluster.mco.pause("worker", paused=False)
    await rolling
    assert is_true(await pool(), "Updated")


async def test_operators_that_are_not_well_are_waited_for_and_then_named_as_the_failure(admin: Client) -> None:
    cluster = PlayedCluster(admin, SMALL, pace=0)
    await cluster.install()
    cvo = cluster.cvo
    await cvo.start("4.16.1")
    await cvo.progress("etcd")
    await cvo.degrade("etcd", reason="EtcdMembersDegraded", message="2 of 3 members are available")
    waiting = "Working towards 4.16.1: 0 of 744 done (0% complete), waiting up to 40 minutes on etcd"
    assert said(await version(admin), "Progressing") == ("True", "ClusterOperatorDegraded", waiting)
    assert said(await version(admin), "Failing") == ("False", "", "")

    await cvo.degrade("machine-config", reason="RequiredPoolsFailed", message="Failed to resync 4.16.1")
    await cvo.give_up()
    names = "etcd, machine-config"
    failing = ("True", "ClusterOperatorsDegraded", f"Cluster operators {names} are degraded")
    exceeded = f"Unable to apply 4.16.1: wait has exceeded 40 minutes for these operators: {names}"
    assert said(await version(admin), "Failing") == failing
    assert said(await version(admin), "Progressing") == ("True", "ClusterOperatorsDegraded", exceeded)

    await cvo.recover("machine-config")
    await cvo.fail("etcd", reason="EtcdMembersNotAvailable", message="1 of 3 members is available")
    assert said(await version(admin), "Progressing")[1] == "ClusterOperatorNotAvailable"
    with pytest.raises(ValueError, match=r"update to 4\.16\.1 cannot be complete: etcd, machine-config did not finish"):
        await cvo.complete()


async def test_an_update_that_is_superseded_stays_partial_and_has_an_end(admin: Client) -> None:
    cluster = PlayedCluster(admin, SMALL, pace=0)
    await cluster.install()
    await cluster.cvo.start("4.16.1")
    await cluster.cvo.start("4.16.2")
    history = (await version(admin))["status"]["history"]
    assert [(one["version"], one["state"], one["completionTime"] is None) for one in history] == [
        ("4.16.2", "Partial", True),
        ("4.16.1", "Partial", False),
        ("4.16.0", "Completed", False),
    ]
