"""A copy of an OpenStackCluster with its status, or in the place of the original: nothing of the original changes.

Where the original is of Cluster API's own provider, and paused, nothing in the cloud has a mark yet.
"""

from copy import deepcopy

import pytest

from windlass.api.capi import Cluster
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.core import Event
from windlass.kube.verbs import PatchType
from windlass.openstack.constants import CLUSTER_LABEL, PAUSED_ANNOTATION

from .cases import FINALIZER, Tree, World, cluster, secret
from .copies import OfCopy, of_copy, told
from .endpoints import control_machine, members
from .endpoints import made as on_existing_network
from .managed import NAME, managed
from .restored import DESCRIBED, WHOLE, forget, one, restored, tried, writes

SOONER, LATER = "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"


async def original() -> World:
    """The cluster as the provider left it, with its status, and paused."""
    world = managed(**WHOLE)
    await world.process.settle()
    status = world.tree()["status"]
    forget(world)
    pause(world, status)
    return world


def pause(world: World, status: Tree) -> None:
    whole = deepcopy(world.tree())
    whole["metadata"] |= {"annotations": {PAUSED_ANNOTATION: ""}, "creationTimestamp": SOONER}
    world.api.load({**whole, "status": status})


def copy(world: World, of: str, **meta: object) -> OfCopy:
    """With the status of the original, as a member `of` this Cluster."""
    meta = {
        "name": "copy",
        "namespace": "ns",
        "uid": "copy",
        "labels": {CLUSTER_LABEL: of},
        "creationTimestamp": LATER,
        **meta,
    }
    world.api.load({**deepcopy(world.tree()), "metadata": meta})
    return OfCopy(world)


async def deleted(world: World, process: OfCopy) -> list[str]:
    """The copy is deleted; what an Event says of it."""
    await world.api.delete(OpenStackCluster, "copy", namespace="ns")
    await process.settle()
    assert of_copy(world) is None
    return [each.decode().message for each in world.api.listing(Event) if each.decode().reason == "LeftInCloud"]


@pytest.mark.parametrize("status", [False, True], ids=["without status", "with the status of the original"])
async def test_an_object_that_its_cluster_does_not_refer_to_takes_nothing_and_its_deletion_leaves_all(
    status: bool,
) -> None:
    world = await original() if status else await restored()
    if not status:
        pause(world, {})
    had, before = dict(world.held()), len(world.cloud.requests)
    process = copy(world, "one", finalizers=[FINALIZER])
    await process.settle()
    awaited = (
        "Waiting for Cluster ns/one to refer to this object: correct its spec.infrastructureRef, which names "
        "one-infra, or delete this object"
    )
    if not status:
        assert told(of_copy(world), "Ready") == ("Unknown", "NotYetObserved", awaited)
    (left,) = await deleted(world, process)
    assert left == "Left in the cloud: what Cluster one has belongs to OpenStackCluster one-infra"
    assert (writes(world, before), world.held()) == ([], had)


async def test_it_is_served_as_soon_as_its_cluster_refers_to_it() -> None:
    world = await restored()
    pause(world, {})
    process = copy(world, "one")
    await process.settle()
    reference = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": "copy"}
    body = {"spec": {"infrastructureRef": reference}}
    await world.api.patch(Cluster, "one", body, type=PatchType.MERGE, namespace="ns")
    await process.settle()
    assert told(of_copy(world), "Ready")[0] == "True"


def another_cluster(world: World) -> None:
    owner = cluster(infrastructureRef={"kind": "OpenStackCluster", "name": "copy"})
    owner["metadata"].update(name="two", uid="Cluster-two")
    world.api.load(owner)


@pytest.mark.parametrize("marked", [False, True], ids=["of the provider", "with a mark"])
async def test_a_copy_in_another_cluster_with_the_status_of_the_original_changes_nothing_of_it(marked: bool) -> None:
    world = await original()
    if marked:
        world = managed(**WHOLE)
        await world.process.settle()
    another_cluster(world)
    had, before, floating = dict(world.held()), len(world.cloud.requests), dict(one(world, "floatingips"))
    process = copy(world, "two")
    world._process = process
    await tried(world)
    assert told(of_copy(world), "Ready")[0] == "False"
    assert writes(world, before) == []
    await deleted(world, process)
    assert (writes(world, before), world.held()) == ([], had)
    assert one(world, "floatingips") == floating


class OfNamesake(OfCopy):
    """The controller, at work on an OpenStackCluster of Cluster `one` in the namespace `ns-a`."""

    key = ("ns-a", "copy")


async def test_a_new_cluster_whose_network_is_called_as_that_of_another_one_makes_its_own() -> None:
    """Cluster `a-one` in the namespace `ns`, of Cluster API's provider, is paused."""
    world = await original()
    for kind in (*DESCRIBED, "security_groups", "listeners", "pools"):
        for each in getattr(world.cloud.services, kind).values():
            changed = {name: each.get(name) or "" for name in ("name", "description")}
            each.update({name: text.replace("ns-one", "ns-a-one") for name, text in changed.items()})
    spec = {name: each for name, each in world.tree()["spec"].items() if name != "controlPlaneEndpoint"}
    meta = {"name": "copy", "uid": "copy", "labels": {CLUSTER_LABEL: "one"}, "creationTimestamp": LATER}
    trees = [
        {**cluster(infrastructureRef={"kind": "OpenStackCluster", "name": "copy"}), "metadata": {"name": "one"}},
        {**secret(), "metadata": {"name": "cloud"}},
        {**world.tree(), "spec": spec, "status": {}, "metadata": meta},
    ]
    world.api.load(*({**each, "metadata": {**each["metadata"], "namespace": "ns-a"}} for each in trees))
    had, before = dict(world.held()), len(world.cloud.requests)
    theirs = {each["id"] for kind in DESCRIBED for each in getattr(world.cloud.services, kind).values()}
    process = OfNamesake(world)
    await process.settle()
    made = world.api.peek(OpenStackCluster, "copy", namespace="ns-a")
    assert made is not None
    assert told(made.tree(), "Ready")[0] == "True"
    assert world.held()["networks"] == 2 * had["networks"]
    assert not [each for each in writes(world, before) if any(which in each for which in theirs)]
    await world.api.delete(OpenStackCluster, "copy", namespace="ns-a")
    await process.settle()
    assert world.held() == had


async def test_the_members_of_a_load_balancer_stay_although_the_status_of_a_copy_records_it() -> None:
    world = await on_existing_network(None, control_machine("cp-0", "10.0.0.21"), control_machine("cp-1", "10.0.0.22"))
    had, before = members(world), len(world.cloud.requests)
    another_cluster(world)
    process = copy(world, "two")
    world._process = process
    await tried(world)
    lb = one(world, "loadbalancers")["id"]
    whose = f"load balancer {lb} belongs to OpenStackCluster ns/one-infra, and is recorded here: "
    assert told(of_copy(world), "APIEndpointReady") == ("False", "OwnedByAnother", f"{whose}remove it from the status")
    assert (writes(world, before), len(had), members(world)) == ([], 2, had)


async def test_it_says_how_a_load_balancer_without_a_mark_becomes_its_own() -> None:
    world = await restored()
    balancer = one(world, "loadbalancers")
    balancer["name"] = "another"
    whole = deepcopy(world.tree())
    world.api.load({**whole, "status": {"apiServerLoadBalancer": {"id": balancer["id"], "name": "another"}}})
    world._process = None
    await tried(world)
    status, reason, message = world.condition("APIEndpointReady")
    assert (status, reason) == ("False", "OwnedByAnother")
    assert message == (
        f"load balancer another ({balancer['id']}), which the status records, has neither mark nor name of this "
        f"cluster: call it {NAME}-kubeapi if it is to be this cluster's, or create this object without its status"
    )
    balancer["name"] = f"{NAME}-kubeapi"
    world.cloud.pass_time(601.0)
    await world.process.settle()
    assert world.condition("APIEndpointReady")[0] == "True"
