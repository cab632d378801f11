"""What `windlass openstack tree` reads: clusters by name and namespace, with the credentials that objects name."""

from typing import Any

import pytest

from tests.unit.openstack.clouded import NAMESPACE, START, World, secret
from windlass.api import mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.capability.conventions.settings import Settings
from windlass.model import MemoryApi
from windlass.openstack.cli.show import TreeRequest, look
from windlass.openstack.constants import CLUSTER_LABEL

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
        kinds = kinds or (OpenStackCluster, OpenStackMachine, OpenStackServer, OpenStackFloatingIPPool, mapi.Machine)
        self.api = MemoryApi(*kinds, Secret, clock=lambda: START)
        self.api.load(secret())

    def has(
        self,
        kind: type[Any],
        name: str,
        namespace: str = NAMESPACE,
        *,
        status: Any = None,
        labels: dict[str, str] | None = None,
        owner: type[Any] | None = None,
        **spec: Any,
    ) -> None:
        metadata: dict[str, Any] = {"name": name, "namespace": namespace}
        metadata["labels"] = {CLUSTER_LABEL: "one"} if labels is None else labels
        if owner is not None:
            reference = {
                "apiVersion": owner.RESOURCE.api_version,
                "kind": owner.RESOURCE.kind,
                "name": name,
                "uid": "u",
            }
            metadata["ownerReferences"] = [reference]
        resource = kind.RESOURCE
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
        self.api.load({**whole, "status": status or {}})

    async def look(self, wanted: str = "", namespace: str | None = None) -> tuple[list[str], list[str]]:
        """The names of the clusters, and the troubles."""
        request = TreeRequest(wanted, machine_api=NAMESPACE)
        sight = await look(self.api, self.world.clouds(), Settings(namespace=namespace), request)
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
    assert await place.look("other/two") == (
        [],
        [
            "no OpenStackCluster, OpenStackFloatingIPPool, Machine of the Machine API on OpenStack, or "
            "OpenStackMachine or OpenStackServer that belongs to no cluster is named two in namespace other"
        ],
    )


async def test_without_the_kind_its_definition_is_missing() -> None:
    _, (trouble,) = await Place(OpenStackServer).look()
    assert trouble.endswith("install its CustomResourceDefinition")


async def test_what_belongs_to_no_cluster_follows_with_its_server(place: Place) -> None:
    gone = {CLUSTER_LABEL: "gone"}
    place.has(OpenStackServer, "jump", labels={}, identityRef=IDENTITY)
    place.has(OpenStackMachine, "orphaned", labels=gone)
    place.has(OpenStackServer, "orphaned", labels=gone, owner=OpenStackMachine, identityRef=IDENTITY)
    place.has(OpenStackServer, "bastion", identityRef=IDENTITY)  # with the label of cluster one
    names, troubles = await place.look(namespace=NAMESPACE)
    assert (names[-2:], troubles) == ([f"{NAMESPACE}/orphaned", f"{NAMESPACE}/jump"], [])
    machine, jump = place.trees[-2:]
    assert (machine.kind, machine.notes) == ("OpenStackMachine", ("its cluster gone has no OpenStackCluster",))
    assert [each.kind for each in machine.children] == ["OpenStackServer"]
    assert (jump.kind, jump.notes) == ("OpenStackServer", ())
    assert await place.look("jump") == ([f"{NAMESPACE}/jump"], [])


async def test_a_machine_of_no_cluster_and_without_credentials_is_shown(place: Place) -> None:
    place.has(OpenStackMachine, "alone", labels={})
    names, (trouble,) = await place.look("alone")
    assert names == [f"{NAMESPACE}/alone"]
    assert trouble.startswith("the cloud was not asked: it names no credentials")


def provider_spec(**fields: Any) -> dict[str, Any]:
    return {"value": {"cloudName": "one", "cloudsSecret": {"name": "credentials"}, **fields}}


async def test_pools_and_machines_of_the_machine_api_follow_the_clusters(place: Place) -> None:
    place.has(mapi.Machine, "w", providerSpec=provider_spec())
    place.has(mapi.Machine, "of-another-platform", providerSpec={"value": {"kind": "AWSMachineProviderConfig"}})
    place.has(OpenStackFloatingIPPool, "pool", identityRef=IDENTITY, reclaimPolicy="Delete")
    names = [f"{NAMESPACE}/one", f"{NAMESPACE}/two", f"{NAMESPACE}/pool", f"{NAMESPACE}/w"]
    assert await place.look(namespace=NAMESPACE) == (names, [])
    assert await place.look(f"{NAMESPACE}/w") == ([f"{NAMESPACE}/w"], [])
    assert await place.look("pool") == ([f"{NAMESPACE}/pool"], [])


async def test_machines_of_the_machine_api_are_those_of_its_namespace(place: Place) -> None:
    place.has(mapi.Machine, "w", providerSpec=provider_spec())
    place.has(mapi.Machine, "w", "other", providerSpec=provider_spec())
    assert await place.look("w") == ([f"{NAMESPACE}/w"], [])
    assert await place.look(namespace="other") == (["other/one"], [])


async def test_a_machine_that_names_credentials_of_another_namespace_is_shown_without_asking_with_them(
    place: Place,
) -> None:
    foreign = {"name": "credentials", "namespace": "other"}
    place.has(mapi.Machine, "w", providerSpec=provider_spec(cloudsSecret=foreign))
    names, (trouble,) = await place.look("w")
    assert names == [f"{NAMESPACE}/w"]
    assert f"Machine {NAMESPACE}/w: spec.providerSpec.value.cloudsSecret.namespace is 'other'" in trouble
    assert place.world.cloud.requests == []


async def test_machines_are_shown_where_nothing_else_is_served() -> None:
    place = Place(mapi.Machine)
    place.has(mapi.Machine, "w", providerSpec=provider_spec())
    assert await place.look() == ([f"{NAMESPACE}/w"], [])


async def test_a_machine_that_names_no_credentials_is_shown_with_the_remedy(place: Place) -> None:
    place.has(mapi.Machine, "w", providerSpec=provider_spec(cloudsSecret=None))
    place.has(mapi.Machine, "x", providerSpec=provider_spec(cloudsSecret={"name": "nothing"}))
    _, troubles = await place.look("w")
    remedy = "set identityRef, or cloudsSecret in the provider spec of a Machine"
    assert troubles == [f"the cloud was not asked: it names no credentials: {remedy}"]
    assert (await place.look("x"))[1] == [f"the cloud was not asked: {NO_SECRET}"]


async def test_each_project_is_listed_once_however_many_objects_there_are(place: Place) -> None:
    await place.look()
    once = len(place.world.cloud.requests)
    for number in range(5):
        place.has(mapi.Machine, f"w-{number}", providerSpec=provider_spec())
        place.has(OpenStackFloatingIPPool, f"pool-{number}", identityRef=IDENTITY, reclaimPolicy="Delete")
    await place.look()
    assert len(place.world.cloud.requests) == 2 * once


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
    assert [each.notes for each in lost.children] == [("recorded, but it does not exist",)]
