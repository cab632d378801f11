"""A cluster of Cluster API's own provider that is restored without its status: taken over whole, or left alone."""

from typing import Any

import pytest

from windlass.api.core import Event
from windlass.openstack.cluster.names import of_provider

from .cases import World
from .managed import NAME, ask
from .restored import again, one, restored, tried, writes

LB = f"{NAME}-kubeapi"


async def test_it_is_taken_over_whole_and_nothing_is_made_or_deleted() -> None:
    world = await restored()
    had, before = dict(world.held()), len(world.cloud.requests)
    floating = dict(one(world, "floatingips"))
    await world.process.settle()
    assert world.condition("Ready")[0] == "True", world.tree()["status"]
    assert world.held() == had
    assert {each.partition(" ")[0] for each in writes(world, before)} == {"PUT"}
    for kind in ("networks", "subnets", "routers", "floatingips", "loadbalancers"):
        assert one(world, kind)["description"].endswith(f"windlass-owner={world.mark}")
    assert one(world, "floatingips")["port_id"] == floating["port_id"]
    told = [each.decode().message for each in world.api.listing(Event)]
    which = one(world, "loadbalancers")["id"]
    assert f"load balancer {LB} ({which}), which Cluster API's provider has made for this cluster" in str(told)
    assert len(told) == 6, "network, subnet, router, two groups, load balancer; the floating IP is that of the endpoint"
    world.cloud.pass_time(601.0)
    await world.delete()
    await world.process.settle()
    assert (world.is_gone, world.held()) == (True, {})


@pytest.mark.parametrize(
    ("kind", "change", "part", "why"),
    [
        ("networks", {"description": "mine"}, "NetworkReady", f'its description is not "{of_provider("ns-one")}"'),
        ("subnets", {"cidr": "10.7.0.0/24"}, "NetworkReady", "is 10.7.0.0/24, not 10.6.0.0/24"),
        ("routers", {"description": ""}, "RouterReady", "its description is not"),
        ("security_groups", {"description": ""}, "SecurityGroupsReady", 'is not "Cluster API managed group"'),
        ("loadbalancers", {"description": ""}, "APIEndpointReady", "its description is not"),
    ],
    ids=["network", "subnet", "router", "group", "load balancer"],
)
async def test_what_does_not_fit_stops_it_before_anything_is_created(
    kind: str, change: dict[str, Any], part: str, why: str
) -> None:
    world = await restored()
    there = getattr(world.cloud.services, kind).values()
    found = next(each for each in there if each["name"].startswith("k8s-cluster"))
    found.update(change)
    had, before = dict(world.held()), len(world.cloud.requests)
    floating = dict(one(world, "floatingips"))
    await tried(world)
    status, _, message = world.condition(part)
    assert status == "False"
    assert why in message
    assert found["id"] in message
    assert "set the annotation openstack.windlass.dev/adopt of the OpenStackCluster to none" in message
    assert world.held() == had
    assert {each.partition(" ")[0] for each in writes(world, before)} <= {"PUT"}
    assert one(world, "floatingips")["port_id"] == floating["port_id"]


async def test_two_that_fit_stop_it_and_both_are_named() -> None:
    world = await restored()
    body = {"name": NAME, "description": of_provider("ns-one")}
    other = ask(world, "POST", "/networks", {"network": body})["network"]
    had = dict(world.held())
    await tried(world)
    message = world.condition("NetworkReady")[2]
    assert message.startswith("2 networks are called as that of this cluster and have no mark: ")
    assert other["id"] in message
    assert one_of(world, other) in message
    assert "Delete all but one" in message
    assert world.held() == had
    ask(world, "DELETE", f"/networks/{other['id']}")
    world.cloud.pass_time(1.0)
    await world.process.step()
    assert world.condition("NetworkReady")[1] != "OwnedByAnother", "it looks again whenever somebody changes the object"
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"


async def test_a_router_that_leads_to_another_subnet_is_not_taken_over() -> None:
    world = await restored()
    (other,) = (each for each in world.cloud.services.subnets.values() if each["name"] == "machines")
    router = one(world, "routers")["id"]
    ask(world, "PUT", f"/routers/{router}/add_router_interface", {"subnet_id": other["id"]})
    had = dict(world.held())
    await tried(world)
    assert f"it leads to subnet {other['id']}, which is not that of the cluster" in world.condition("RouterReady")[2]
    assert world.held() == had


async def test_what_the_annotation_says_is_not_its_own_stays_and_its_address_is_not_taken_away() -> None:
    world = await restored()
    services, had = world.cloud.services, dict(world.held())
    floating = dict(one(world, "floatingips"))
    again(world, annotations={"openstack.windlass.dev/adopt": "none"})
    await tried(world)
    assert world.held()["networks"] == 2 * had["networks"]
    assert world.held()["loadbalancers"] == 2
    status, _, message = world.condition("APIEndpointReady")
    assert status == "False"
    text = f"floating IP {floating['floating_ip_address']} ({floating['id']}) leads to port {floating['port_id']}"
    assert text in message
    assert services.floatingips[floating["id"]] == floating, "neither led away nor marked"
    await world.delete()
    await world.process.settle()
    assert (world.is_gone, world.held()) == (True, had)


async def test_an_address_that_leads_nowhere_gets_its_mark_and_leads_to_the_new_load_balancer() -> None:
    world = await restored()
    again(world, annotations={"openstack.windlass.dev/adopt": "none"})
    await tried(world)
    ask(world, "PUT", f"/floatingips/{one(world, 'floatingips')['id']}", {"floatingip": {"port_id": None}})
    world.cloud.pass_time(601.0)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"
    assert one(world, "floatingips")["description"].endswith(f"windlass-owner={world.mark}")


async def test_an_address_is_taken_over_by_its_description_while_the_spec_has_no_endpoint() -> None:
    world = await restored()
    whole = world.tree()
    del whole["spec"]["controlPlaneEndpoint"], whole["metadata"]["resourceVersion"]
    world.api.load(whole)
    had = dict(world.held())
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"
    assert world.held() == had
    address = one(world, "floatingips")["floating_ip_address"]
    assert world.tree()["spec"]["controlPlaneEndpoint"]["host"] == address


def one_of(world: World, other: Any) -> str:
    (found,) = [each["id"] for each in world.cloud.services.networks.values() if each["name"] == NAME and each != other]
    return str(found)
