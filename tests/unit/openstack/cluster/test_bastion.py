"""Which changes of a cluster replace its bastion, and which do not."""

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.plan import Create, Delete, Emit, Outcome
from windlass.kube.control.seen import Absent, Present
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cluster.bastion import Step, bastion

from .cases import Tree, infra, tree
from .networked import OURS

NETWORK = "22222222-8e5f-4d0c-9b0e-3f0a2a1d7c55"
GROUP = "55555555-8e5f-4d0c-9b0e-3f0a2a1d7c55"
EXTRA = [{"id": "66666666-8e5f-4d0c-9b0e-3f0a2a1d7c55"}, {"id": "77777777-8e5f-4d0c-9b0e-3f0a2a1d7c55"}]
SPEC: Tree = {
    "flavor": "m1.small",
    "image": {"filter": {"name": "rhcos", "tags": ["a", "b"]}},
    "securityGroups": EXTRA,
    "tags": ["own", "blue"],
    "serverMetadata": [{"key": "k", "value": "1"}, {"key": "l", "value": "2"}],
    "rootVolume": {"sizeGiB": 10, "availabilityZone": {"name": "az1"}},
}
STATUS: Tree = {
    "network": {"id": NETWORK, "subnets": [{"id": "s"}]},
    "bastionSecurityGroup": {"id": GROUP, "name": "g"},
}


def of(kind: type[Any], found: Tree) -> Present[Any]:
    return Present(msgspec.convert(found, kind), msgspec.json.encode(found))


def cluster(spec: Tree | None = None, *, status: Tree | None = None, **of_cluster: Any) -> Tree:
    wanted = {"spec": {**SPEC, **(spec or {})}, "availabilityZone": "az1"}
    return infra({"managedSecurityGroups": {}, "tags": ["blue"], "bastion": wanted, **of_cluster}, status or STATUS)


def step(found: Tree, server: Tree | None) -> Step:
    seen = of(OpenStackServer, server) if server is not None else Absent()
    return bastion(of(OpenStackCluster, found), seen, OURS, NetworkInventory(), cluster="one", last=Outcome())


def made() -> Tree:
    """The OpenStackServer of the bastion, as the API server has stored it."""
    (create,) = step(cluster(), None).actions
    assert isinstance(create, Create)
    body: Any = deepcopy(dict(create.body))
    body["spec"]["rootVolume"]["availabilityZone"]["from"] = "Name"
    stored = tree(OpenStackServer, create.target.name, body["spec"])
    return {**stored, "metadata": {**stored["metadata"], **body["metadata"]}}


def test_its_openstackserver_is_mapped_as_that_of_a_machine() -> None:
    server = made()
    assert server["metadata"]["name"] == "one-bastion"
    assert server["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "one"}
    assert [each["kind"] for each in server["metadata"]["ownerReferences"]] == ["OpenStackCluster"]
    spec = server["spec"]
    assert spec["identityRef"]["name"] == "cloud"
    assert spec["tags"] == ["own", "blue"]
    assert spec["availabilityZone"] == "az1"
    assert spec["ports"] == [{"network": {"id": NETWORK}, "securityGroups": [{"id": GROUP}, *EXTRA]}]
    assert "userDataRef" not in spec


@pytest.mark.parametrize(
    ("status", "awaited"),
    [
        ({}, "the subnets of the cluster"),
        ({"network": {"id": NETWORK}}, "the subnets of the cluster"),
        ({"network": STATUS["network"]}, "the security group of the bastion"),
    ],
)
def test_it_waits_for_what_its_port_needs(status: Tree, awaited: str) -> None:
    next_step = step(cluster(status={**status, "bastion": {"floatingIP": "203.0.113.1"}}), None)
    assert next_step.actions == ()
    assert next_step.ready.message == f"Waiting for {awaited}"
    assert next_step.part.fields == {"bastion": {"floatingIP": "203.0.113.1"}}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(cluster(), id="nothing"),
        pytest.param(cluster({"tags": ["blue", "own"]}), id="order of tags"),
        pytest.param(cluster({"securityGroups": EXTRA[::-1]}), id="order of groups"),
        pytest.param(cluster({"serverMetadata": SPEC["serverMetadata"][::-1]}), id="order of metadata"),
        pytest.param(cluster({"image": {"filter": {"name": "rhcos", "tags": ["b", "a"]}}}), id="order of a filter"),
        pytest.param(cluster({"trunk": False, "configDrive": False}), id="what is false anyway"),
        pytest.param(
            cluster({"rootVolume": {"sizeGiB": 10, "availabilityZone": {"from": "Name", "name": "az1"}}}), id="default"
        ),
        pytest.param(cluster(status={"bastion": {"id": "s"}}), id="after a move: the network is not known yet"),
        pytest.param(cluster(status={"network": STATUS["network"]}), id="nor is the group"),
    ],
)
def test_what_makes_no_other_server_replaces_nothing(found: Tree) -> None:
    assert not any(each.needed for each in step(found, made()).actions)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param(cluster({"flavor": "m1.medium"}), "flavor m1.small -> m1.medium", id="flavor"),
        pytest.param(
            cluster({"image": {"filter": {"name": "new", "tags": ["a", "b"]}}, "sshKeyName": "key"}),
            "image.filter.name rhcos -> new, sshKeyName  -> key",
            id="image and key",
        ),
        pytest.param(cluster({"configDrive": True}), "configDrive none -> true", id="config drive"),
        pytest.param(cluster(tags=["red"]), "tags[2] none -> red", id="tags of the cluster"),
        pytest.param(
            cluster(status={**STATUS, "bastionSecurityGroup": {"id": EXTRA[0]["id"], "name": "g"}}),
            f"ports[0].securityGroups[0].id {GROUP} -> {EXTRA[0]['id']}",
            id="another group",
        ),
        pytest.param(
            cluster({"rootVolume": {"sizeGiB": 20, "availabilityZone": {"name": "az1"}}}),
            "rootVolume.sizeGiB 10 -> 20",
            id="root volume",
        ),
    ],
)
def test_another_server_is_told_with_what_differs_before_it_is_deleted(found: Tree, text: str) -> None:
    next_step = step(found, made())
    deletion, news = next_step.actions
    assert isinstance(deletion, Delete)
    assert deletion.pin
    assert deletion.why == f"{text}: the bastion is replaced"
    assert isinstance(news, Emit)
    assert (
        next_step.ready.message == news.note == f"Deleting OpenStackServer one-bastion: {text}: the bastion is replaced"
    )


def test_an_openstackserver_of_another_owner_is_left_alone_and_named() -> None:
    other = made()
    other["metadata"]["ownerReferences"][0]["name"] = "two"
    next_step = step(cluster({"flavor": "m1.medium"}), other)
    assert next_step.actions == ()
    assert next_step.ready.message.startswith("OpenStackServer one-bastion belongs to OpenStackCluster two: delete it")
