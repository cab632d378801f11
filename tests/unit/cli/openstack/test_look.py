"""What `windlass openstack tree` reads: clusters by name and namespace, with the credentials that objects name."""

from typing import Any

import pytest

from tests.unit.openstack.clouded import NAMESPACE, START, World, secret
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.cli.conventions.settings import Settings
from windlass.cli.openstack.show import TreeRequest, look
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.testing.memory import MemoryApi

IDENTITY = {"type": "Secret", "name": "credentials", "cloudName": "one"}
ELSEWHERE = {**IDENTITY, "name": "nothing"}
NO_SECRET = (
    f"Secret {NAMESPACE}/nothing does not exist: create it with the key clouds.yaml, or correct identityRef.name"
)


class Place:
    """Two clusters in one namespace, one in another, on one project with an external network of somebody else."""

    def __init__(self, *kinds: type[Any]) -> None:
        self.world = World()
        self.public = self.world.cloud.services.external_network()
        kinds = kinds or (OpenStackCluster, OpenStackMachine, OpenStackServer)
        self.api = MemoryApi(*kinds, Secret, clock=lambda: START)
        self.api.load(secret())

    def has(self, kind: type[Any], name: str, namespace: str = NAMESPACE, *, status: Any = None, **spec: Any) -> None:
        metadata = {"name": name, "namespace": namespace, "labels": {CLUSTER_LABEL: "one"}}
        resource = kind.RESOURCE
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
        self.api.load({**whole, "status": status or {}})

    async def look(self, wanted: str = "", namespace: str | None = None) -> tuple[list[str], list[str]]:
        """The names of the clusters, and the troubles."""
        sight = await look(self.api, self.world.clouds(), Settings(namespace=namespace), TreeRequest(wanted))
        self.trees = sight.trees
        return [each.name for each in sight.trees], list(sight.troubles)


@pytest.fixture
def place() -> Place:
    place = Place()
    for name, namespace in (("one", NAMESPACE), ("two", NAMESPACE), ("one", "other")):
        place.has(OpenStackCluster, name, namespace, identityRef=IDENTITY)
    data = secret()["data"]
    metadata = {"name": "credentials", "namespace": "other"}
    place.api.load({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    return place


@pytest.mark.parametrize(
    ("wanted", "namespace", "names"),
    [
        ("", None, [f"{NAMESPACE}/one", f"{NAMESPACE}/two", "other/one"]),
        ("", "other", ["other/one"]),
        ("one", None, [f"{NAMESPACE}/one", "other/one"]),
        ("other/one", None, ["other/one"]),
        ("two", NAMESPACE, [f"{NAMESPACE}/two"]),
    ],
)
async def test_clusters_are_chosen_by_name_and_namespace(
    place: Place, wanted: str, namespace: str | None, names: list[str]
) -> None:
    assert await place.look(wanted, namespace) == (names, [])


async def test_a_cluster_that_does_not_exist_is_an_error(place: Place) -> None:
    assert await place.look("other/two") == ([], ["no OpenStackCluster other/two in namespace other"])


async def test_without_the_kind_its_definition_is_missing() -> None:
    _, (trouble,) = await Place(OpenStackServer).look()
    assert trouble.endswith("install its CustomResourceDefinition")


async def test_each_object_is_seen_with_its_own_credentials(place: Place) -> None:
    place.has(OpenStackServer, "w", identityRef=ELSEWHERE, status={"instanceID": "s"})
    _, troubles = await place.look(f"{NAMESPACE}/one")
    assert troubles == [f"the cloud was not asked: {NO_SECRET}"]
    (cluster,) = place.trees
    (server,) = cluster.children
    assert (cluster.notes, [each.state for each in server.children]) == ((), ["Unknown"])


async def test_a_malformed_object_is_named_and_the_others_are_shown(place: Place) -> None:
    place.has(OpenStackServer, "odd", ports="none")
    names, (trouble,) = await place.look("two")
    assert names == [f"{NAMESPACE}/two"]
    assert trouble.startswith(f"OpenStackServer {NAMESPACE}/odd cannot be read: ")


async def test_a_network_of_another_project_is_asked_for_by_its_id() -> None:
    place = Place()
    network = {"id": place.public}
    place.has(OpenStackCluster, "one", identityRef=IDENTITY, status={"externalNetwork": network})
    place.has(OpenStackCluster, "lost", identityRef=IDENTITY, status={"network": {"id": "gone"}})
    assert (await place.look())[1] == []
    lost, one = place.trees
    assert [(each.name, each.notes) for each in one.children] == [("public", ())]
    assert [each.notes for each in lost.children] == [("recorded in the status, but it does not exist",)]
