"""A Machine names a server that another object here has recorded, and that has no mark yet."""

from typing import Any

import pytest

from tests.unit.openstack.clouded import NAMESPACE, PROJECT
from tests.unit.openstack.machine_api.cases import NAME, Fleet, Tree, machine, other_side
from tests.unit.openstack.machine_api.lives import Life, delete, deletions, of, says
from windlass.openstack.cloud.wire import Http

OWNER = "worker-7"


def of_cluster_api(_: Fleet, which: str) -> Tree:
    """A paused OpenStackServer, as Cluster API's provider left it."""
    tree = other_side(mark="", paused="True", name=OWNER)
    return {**tree, "status": {**tree["status"], "instanceID": which}}


def of_the_machine_api(world: Fleet, which: str) -> Tree:
    """Another Machine, as OpenShift's machine controller left it."""
    tree = machine(world, meta={"name": OWNER}, status={"phase": "Running"})
    return {**tree, "spec": {**tree["spec"], "providerID": f"openstack:///{which}"}}


def made_by_others(world: Fleet) -> str:
    """A server without a mark."""
    body = {"name": OWNER, "flavorRef": world.flavor, "networks": []}
    _, made = world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    world.cloud.pass_time(5)
    return str(made["server"]["id"])


@pytest.mark.parametrize(
    ("recorder", "whose"),
    [
        (of_cluster_api, f"OpenStackServer openshift-cluster-api/{OWNER}"),
        (of_the_machine_api, f"Machine {NAMESPACE}/{OWNER}"),
    ],
)
async def test_a_machine_does_not_take_a_server_that_another_has_recorded_and_its_deletion_leaves_it(
    recorder: Any, whose: str
) -> None:
    world = Fleet()
    had = made_by_others(world)
    tree = machine(world)
    tree["spec"]["providerID"] = f"openstack:///{had}"
    world.api.load(recorder(world, had), tree)
    await Life(world).settle()
    reason, message = says(of(world, NAME))
    told = f"server {had} belongs to {whose}: remove spec.providerID if this object is to have a server of its own"
    assert (reason, message) == ("OwnedByAnother", told)
    await delete(world, NAME)
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert all(each.method == "GET" for each in world.cloud.requests)


@pytest.mark.parametrize("recorder", [of_cluster_api, of_the_machine_api])
async def test_of_two_that_have_recorded_a_server_the_older_one_has_it_and_the_deletion_of_the_other_leaves_it(
    recorder: Any,
) -> None:
    world = Fleet()
    had = made_by_others(world)
    tree, original = machine(world, status={"phase": "Running"}), recorder(world, had)
    tree["spec"]["providerID"] = f"openstack:///{had}"
    tree["metadata"]["creationTimestamp"] = "2026-11-02T00:00:00Z"
    original["metadata"]["creationTimestamp"] = "2026-11-01T00:00:00Z"
    world.api.load(original, tree)
    await Life(world).settle()
    assert says(of(world, NAME))[0] == "OwnedByAnother"
    await delete(world, NAME)
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert all(each.method == "GET" for each in world.cloud.requests)
