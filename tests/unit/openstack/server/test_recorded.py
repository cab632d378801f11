"""An object names a server that another object here has recorded, and that has no mark yet."""

from typing import Any

import pytest

from tests.unit.openstack.clouded import KEY, NAMESPACE, PROJECT, Process, World, server
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import ADOPT_ANNOTATION, PAUSED_ANNOTATION
from windlass.openstack.server.controller import server_controller

from .lives import deletions, of, reason_of, told

Tree = dict[str, Any]
ADOPTER = "adopter"
OWNER = "worker-7"


class Life(Process):
    """Serves the adopter, beside the Machine API."""

    key = (NAMESPACE, ADOPTER)
    mirrors = NAMESPACE

    def make(self, reader: Any) -> Any:
        now = lambda: self.world.now  # noqa: E731
        return server_controller(reader, self.clouds, now=now, machine_api=NAMESPACE, mirrors=self.mirrors)


class InAnotherNamespace(Life):
    """The adopter is in no namespace of the Machine API's mirrors."""

    mirrors = "openshift-cluster-api"


def made_by_others(world: World) -> str:
    """A server without a mark, with a port."""
    port = {"network_id": world.network, "name": OWNER}
    _, made = world.cloud.services.handle(PROJECT, Http("network", "POST", "/v2.0/ports", body={"port": port}))
    body = {"name": OWNER, "flavorRef": world.flavor, "networks": [{"port": made["port"]["id"]}]}
    _, made = world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    world.cloud.pass_time(5)
    return str(made["server"]["id"])


def paused_server(which: str) -> Tree:
    """As Cluster API's provider left it."""
    return {
        **server(World()),
        "metadata": {"name": OWNER, "namespace": "other", "uid": "u-other", "annotations": {PAUSED_ANNOTATION: "true"}},
        "status": {"instanceID": which},
    }


def paused_machine(which: str) -> Tree:
    resource = OpenStackMachine.RESOURCE
    meta = {"name": OWNER, "namespace": NAMESPACE, "annotations": {PAUSED_ANNOTATION: "true"}}
    spec = {"flavor": "m1.small", "image": {}, "sshKeyName": "", "providerID": f"openstack:///{which}"}
    told = {"instanceID": which}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": spec, "status": told}


def machine_of_the_machine_api(which: str) -> Tree:
    resource = Machine.RESOURCE
    spec = {"providerID": f"openstack:///{which}", "providerSpec": {}}
    meta = {"name": OWNER, "namespace": NAMESPACE}
    told = {"phase": "Running"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": spec, "status": told}


def recording(world: World, which: str) -> Tree:
    """A copy with the status of the original, as a backup brings it into another namespace."""
    tree = server(world)
    tree["metadata"] |= {"name": ADOPTER, "creationTimestamp": "2026-11-02T00:00:00Z"}
    return {**tree, "status": {"instanceID": which}}


def made(tree: Tree, when: str, **meta: str) -> Tree:
    return {**tree, "metadata": {**tree["metadata"], "creationTimestamp": when, **meta}}


def adopter(world: World, which: str, name: str = ADOPTER) -> Tree:
    tree = server(world)
    tree["metadata"] |= {"name": name, "annotations": {ADOPT_ANNOTATION: which}}
    return tree


@pytest.mark.parametrize(
    ("recorder", "whose"),
    [
        (paused_server, f"OpenStackServer other/{OWNER}"),
        (paused_machine, f"OpenStackServer {NAMESPACE}/{OWNER}"),
        (machine_of_the_machine_api, f"Machine {NAMESPACE}/{OWNER}"),
    ],
)
async def test_an_object_does_not_adopt_a_server_that_another_has_recorded_and_its_deletion_leaves_it(
    recorder: Any, whose: str
) -> None:
    world = World()
    had = made_by_others(world)
    world.api.load(recorder(had), adopter(world, had))
    await Life(world).settle()
    reason, message = told(of(world, ADOPTER))
    remedy = f"remove the annotation {ADOPT_ANNOTATION} if this object is to have a server of its own"
    assert (reason, message) == ("OwnedByAnother", f"server {had} belongs to {whose}: {remedy}")
    await world.api.delete(OpenStackServer, ADOPTER, namespace=NAMESPACE)
    await Life(world).settle()
    assert world.api.peek(OpenStackServer, ADOPTER, namespace=NAMESPACE) is None
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert all(each.method == "GET" for each in world.cloud.requests)


async def test_it_makes_a_server_of_its_own_once_the_annotation_is_removed() -> None:
    world = World()
    had = made_by_others(world)
    world.api.load(paused_server(had), adopter(world, had))
    await Life(world).settle()
    body: Tree = {"metadata": {"annotations": {ADOPT_ANNOTATION: None}}}
    await world.api.patch(OpenStackServer, ADOPTER, body, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world).settle()
    assert reason_of(of(world, ADOPTER)) == "Ready"
    assert of(world, ADOPTER)["status"]["instanceID"] != had
    assert world.held()["servers"] == 2


async def test_another_object_that_only_names_the_server_is_not_in_the_way() -> None:
    world = World()
    had = made_by_others(world)
    wanting = machine_of_the_machine_api(had)
    world.api.load({**wanting, "status": {}}, adopter(world, had), adopter(world, had, KEY[1]))
    await Life(world).settle()
    assert (reason_of(of(world, ADOPTER)), of(world, ADOPTER)["status"]["instanceID"]) == ("Ready", had)


@pytest.mark.parametrize("recorder", [paused_machine, machine_of_the_machine_api])
async def test_the_same_machine_of_another_kind_is_not_in_the_way(recorder: Any) -> None:
    world = World()
    had = made_by_others(world)
    tree = recorder(had)
    world.api.load({**tree, "metadata": {**tree["metadata"], "name": ADOPTER}}, adopter(world, had))
    await Life(world).settle()
    assert (reason_of(of(world, ADOPTER)), of(world, ADOPTER)["status"]["instanceID"]) == ("Ready", had)


async def test_a_machine_of_the_same_name_in_the_machine_api_is_another_one_for_all_but_its_mirror() -> None:
    world = World()
    had = made_by_others(world)
    tree = machine_of_the_machine_api(had)
    world.api.load({**tree, "metadata": {**tree["metadata"], "name": ADOPTER}}, adopter(world, had))
    await InAnotherNamespace(world).settle()
    reason, message = told(of(world, ADOPTER))
    assert (reason, f"belongs to Machine {NAMESPACE}/{ADOPTER}" in message) == ("OwnedByAnother", True)
    await world.api.delete(OpenStackServer, ADOPTER, namespace=NAMESPACE)
    await InAnotherNamespace(world).settle()
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])


@pytest.mark.parametrize("recorder", [paused_server, machine_of_the_machine_api])
async def test_of_two_that_have_recorded_a_server_the_older_one_has_it_and_the_deletion_of_the_other_leaves_it(
    recorder: Any,
) -> None:
    world = World()
    had = made_by_others(world)
    world.api.load(made(recorder(had), "2026-11-01T00:00:00Z"), recording(world, had))
    await Life(world).settle()
    reason, message = told(of(world, ADOPTER))
    assert (reason, f"/{OWNER}: delete this object, which leaves the cloud as it is" in message) == (
        "OwnedByAnother",
        True,
    )
    await world.api.delete(OpenStackServer, ADOPTER, namespace=NAMESPACE)
    await Life(world).settle()
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert all(each.method == "GET" for each in world.cloud.requests)


async def test_the_oldest_machine_that_has_recorded_a_server_has_it_although_a_copy_has_recorded_it_too() -> None:
    world = World()
    had = made_by_others(world)
    own = made(paused_machine(had), "2026-11-01T00:00:00Z", name=ADOPTER, uid="u-own")
    copied = made(paused_machine(had), "2026-11-02T00:00:00Z", uid="u-copy")
    world.api.load(own, copied, adopter(world, had))
    await Life(world).settle()
    assert (reason_of(of(world, ADOPTER)), of(world, ADOPTER)["status"]["instanceID"]) == ("Ready", had)
