"""Whose the network of a cluster is, on a real API server and a real cloud."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.api.openstack.cluster.stage import NAME, Stage, Tree, held, says, staged
from tests.waiting import eventually
from windlass.api.capi import Cluster
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.core import Secret
from windlass.kube.conditions import find
from windlass.kube.errors import NotFound
from windlass.openstack.cloud.marks import mark_for, place, root_of
from windlass.openstack.cluster.names import GROUP_OF_PROVIDER, of_provider
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

SPEC: Tree = {"managedSubnets": [{"cidr": "10.9.0.0/24"}], "managedSecurityGroups": {}}
STOPPED = "False OwnedByAnother"


async def test_a_copied_openstack_cluster_makes_its_own_network_and_its_deletion_leaves_that_of_the_original(
    stage: Stage,
) -> None:
    await stage.cluster(**SPEC)
    original = await stage.until_ready()
    had = held(stage.project)
    await copied(stage, mark_of(original))
    made = await until(stage, "copy", lambda found: says(found, "Ready") == "True Ready", what="the copy is ready")
    assert root_of(mark_of(made)) != root_of(mark_of(original))
    assert made["status"]["network"]["id"] not in had["networks"]
    await delete_copy(stage)
    assert held(stage.project) == had
    await stage.delete()


async def test_a_forged_mark_of_a_cluster_takes_nothing_and_deletes_nothing(
    plane: PlaneAccess, stage: Stage, project: Project
) -> None:
    await stage.cluster(**SPEC)
    victim, had = mark_of(await stage.until_ready()), held(project)
    async with staged(plane, plane.blocking.create_namespace(), project) as evil:
        secret = (await stage.client.get(Secret, "cloud", namespace=stage.namespace)).tree()
        await evil.make(Secret, "cloud", data=secret["data"])
        before = len(evil.asked())
        await copied(evil, mark_for(root_of(victim), "any", place("cluster", evil.namespace, "copy")))
        stopped = await until(evil, "copy", is_stopped, what="the forged mark is refused")
        assert f"belongs to OpenStackCluster {stage.namespace}/{NAME}" in why(stopped)
        assert root_of(victim) not in why(stopped)
        await delete_copy(evil)
        assert writes(evil, before) == []
    assert held(project) == had
    await stage.delete()


async def test_a_cluster_of_the_provider_that_is_restored_without_status_stops_and_then_is_taken_over_whole(
    plane: PlaneAccess, windlass_namespace: str, project: Project
) -> None:
    sdk = project.sdk
    async with staged(plane, windlass_namespace, project) as stage:
        await stage.cluster(**SPEC, apiServerLoadBalancer={"enabled": True})
        whole = await stage.until_ready()
        had = held(project)
    network, balancer = whole["status"]["network"]["id"], whole["status"]["apiServerLoadBalancer"]["id"]
    text = of_provider(f"{windlass_namespace}-{NAME}")
    describe(project, lambda old: text if "windlass-owner=" in old else old, groups=GROUP_OF_PROVIDER)
    sdk.load_balancer.update_load_balancer(balancer, description=text)
    sdk.network.update_network(network, description="edited by hand")
    [floating] = sdk.network.ips(project_id=project.id)
    async with staged(plane, windlass_namespace, project) as stage:
        before = len(stage.asked())
        await made_again(stage, whole, annotations={})
        stopped = await stage.until(is_stopped, what="it stops at the network")
        assert network in why(stopped)
        assert sdk.network.get_ip(floating.id).port_id == floating.port_id
        sdk.network.update_network(network, description=text)
        await stage.patch({"metadata": {"annotations": {"somebody": "looks again"}}})
        taken = await stage.until_ready()
        assert held(project) == had
        assert [each for each in writes(stage, before) if not each.startswith("PUT")] == []
        for field in ("network", "router", "apiServerLoadBalancer", "workerSecurityGroup"):
            assert taken["status"][field]["id"] == whole["status"][field]["id"]
        assert sdk.network.get_ip(floating.id).port_id == floating.port_id
        await stage.delete()


async def test_of_two_management_clusters_the_older_one_stops_and_leaves_the_network_and_the_newer_one_has_it(
    plane: PlaneAccess, windlass_namespace: str, project: Project
) -> None:
    async with staged(plane, windlass_namespace, project) as stage:
        await stage.cluster(**SPEC)
        whole = await stage.until_ready()
        mark, had = mark_of(whole), held(project)
        newer = mark_for(root_of(mark), "the uid over there", place("cluster", windlass_namespace, NAME))
        before = len(stage.asked())
        describe(project, lambda text: text.replace(mark, newer))
        await stage.patch({"spec": {"controlPlaneOmitAvailabilityZone": True}})
        stopped = await stage.until(is_stopped, what="it stops")
        assert "which has taken it over from this one" in why(stopped)
        await stage.delete()
        assert writes(stage, before) == []
        assert held(project) == had
        await made_again(stage, whole, annotations={MARK_ANNOTATION: newer})  # it comes back, with all that it had
        back = await stage.until_ready()
        assert held(project) == had
        assert {each.partition(" ")[0] for each in writes(stage, before)} == {"PUT"}
        assert mark_of(back) not in (mark, newer)
        await stage.delete()


async def copied(stage: Stage, mark: str) -> None:
    """Another cluster, from the manifest of the first with its annotations."""
    reference = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": "copy"}
    owner = await stage.make(Cluster, "two", spec={"infrastructureRef": reference})
    owners = [{**as_owner(owner), "uid": owner["metadata"]["uid"]}]
    meta = {"ownerReferences": owners, "annotations": {MARK_ANNOTATION: mark}}
    identity = {"type": "Secret", "name": "cloud", "cloudName": "openstack"}
    await stage.make(OpenStackCluster, "copy", metadata=meta, spec={"identityRef": identity, **SPEC})


async def made_again(stage: Stage, whole: Tree, *, annotations: Tree) -> None:
    """The OpenStackCluster, with another uid and without status."""
    try:
        await stage.change(OpenStackCluster, NAME, {"metadata": {"finalizers": None}})
        await stage.client.delete(OpenStackCluster, NAME, namespace=stage.namespace)
    except NotFound:
        pass  # it is gone already
    meta = {"ownerReferences": whole["metadata"]["ownerReferences"], "annotations": annotations}
    await stage.make(OpenStackCluster, NAME, metadata=meta, spec=whole["spec"])


def describe(project: Project, change: Callable[[str], str], *, groups: str = "") -> None:
    """Somebody changes the description of everything in Neutron; that of all our groups to `groups`, if that is set."""
    sdk, own = project.sdk.network, {"project_id": project.id}
    kinds: tuple[tuple[Iterable[Any], Callable[..., Any]], ...] = (
        (sdk.networks(**own), sdk.update_network),
        (sdk.subnets(**own), sdk.update_subnet),
        (sdk.routers(**own), sdk.update_router),
        (sdk.ips(**own), sdk.update_ip),
        (sdk.security_groups(**own), sdk.update_security_group),
    )
    for some, update in kinds:
        for each in some:
            text = groups if groups and update == sdk.update_security_group else change(each.description)
            if "windlass-owner=" in (each.description or ""):
                update(each, description=text)


async def until(stage: Stage, name: str, holds: Callable[[Tree], Any], *, what: str) -> Tree:
    async def get() -> Tree:
        return (await stage.client.get(OpenStackCluster, name, namespace=stage.namespace)).tree()

    return await eventually(get, holds, what=what)


async def delete_copy(stage: Stage) -> None:
    await stage.client.delete(OpenStackCluster, "copy", namespace=stage.namespace)

    async def is_left() -> bool:
        try:
            await stage.client.get(OpenStackCluster, "copy", namespace=stage.namespace)
        except NotFound:
            return False
        return True

    await eventually(is_left, lambda left: not left, what="the copy is gone")


def as_owner(owner: Tree) -> Tree:
    return {"apiVersion": owner["apiVersion"], "kind": "Cluster", "name": owner["metadata"]["name"]}


def mark_of(tree: Tree) -> str:
    return str(tree["metadata"]["annotations"][MARK_ANNOTATION])


def is_stopped(tree: Tree) -> bool:
    return says(tree, "NetworkReady") == STOPPED


def why(tree: Tree) -> str:
    found = find(tree["status"]["conditions"], "NetworkReady")
    assert found is not None
    return str(found["message"])


def writes(stage: Stage, since: int) -> list[str]:
    return [each for each in stage.asked()[since:] if not each.startswith("GET")]
