"""OpenStackServers with a floating IP from a pool: claimed, led to the right port, and released."""

from typing import Any

import pytest

from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.openstack.cloud.marks import mark_for, place
from windlass.openstack.constants import MARK_ANNOTATION

from ..cloud_faults import FAULTS
from ..clouded import MARK, NAMESPACE, Process
from ..pool.cases import CLAIM, REF, All, Floating, World, pool, tree, wanting

READY = "FloatingAddressFromPoolReady"


def told(world: World, type: str = READY) -> tuple[str, str, str]:  # noqa: A002
    return world.condition(OpenStackServer, "worker-0", type)


async def settled(*, pooled: bool = True, **spec: Any) -> World:
    world = World(*([pool()] if pooled else []))
    world.api.load(wanting(world, **spec))
    await All(world).settle()
    return world


async def test_a_server_gets_the_floating_ip_of_its_claim_on_its_port() -> None:
    world = await settled()
    (floating,) = world.cloud.services.floatingips.values()
    (port,) = world.here(OpenStackServer)["worker-0"]["status"]["resources"]["ports"]
    assert floating["port_id"] == port["id"]
    claim = world.here(IPAddressClaim)[CLAIM]
    assert claim["spec"]["poolRef"] == REF
    assert claim["metadata"]["finalizers"] == ["openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim"]
    assert [(each["kind"], each["name"]) for each in claim["metadata"]["ownerReferences"]] == [
        ("OpenStackServer", "worker-0")
    ]
    assert told(world) == ("True", "Ready", floating["floating_ip_address"])
    assert told(world, "Ready")[0] == "True"
    addresses = world.here(OpenStackServer)["worker-0"]["status"]["addresses"]
    assert {"type": "ExternalIP", "address": floating["floating_ip_address"]} in addresses


async def test_until_the_provider_of_the_pool_answers_the_server_runs_and_is_not_ready() -> None:
    world = await settled(pooled=False)
    assert told(world)[:2] == ("False", "WaitingForIPAMProvider")
    assert told(world, "InstanceReady")[0] == "True"
    assert told(world, "Ready")[:2] == ("False", "WaitingForIPAMProvider")


async def test_the_pool_of_another_provider_is_as_good() -> None:
    world = World()
    address = world.floating_ip()
    world.api.load(wanting(world, floatingIPPoolRef={**REF, "apiGroup": "ipam.example.com", "kind": "ExamplePool"}))
    await All(world).settle()
    claim = world.here(IPAddressClaim)[CLAIM]
    assert claim["spec"]["poolRef"]["apiGroup"] == "ipam.example.com"
    given = {"claimRef": {"name": CLAIM}, "poolRef": claim["spec"]["poolRef"], "address": address, "prefix": 24}
    claim["metadata"].pop("resourceVersion")
    world.api.load(tree(IPAddress, CLAIM, given), {**claim, "status": {"addressRef": {"name": CLAIM}}})
    await All(world).settle()
    assert told(world) == ("True", "Ready", address)


async def test_without_an_api_group_the_field_is_named() -> None:
    world = await settled(floatingIPPoolRef={"kind": "OpenStackFloatingIPPool", "name": "addresses"})
    message = "spec.floatingIPPoolRef.apiGroup is missing: name the API group of the pool"
    assert told(world, "Ready") == ("False", "InvalidConfiguration", message)
    assert world.here(IPAddressClaim) == {}
    assert "servers" not in world.held()


async def test_a_server_with_several_ports_gets_it_on_one_that_the_external_network_reaches() -> None:
    world = World(pool())
    inner = world.cloud.services.network("inner", cidr="10.9.0.0/24")
    world.api.load(wanting(world, ports=[{"network": {"id": inner}}, {"network": {"id": world.network}}]))
    await All(world).settle()
    (floating,) = world.cloud.services.floatingips.values()
    assert world.cloud.services.ports[floating["port_id"]]["network_id"] == world.network
    assert told(world)[0] == "True"


async def test_a_server_that_the_external_network_does_not_reach_gets_it_when_a_router_is_there() -> None:
    world = World(pool())
    inner = world.cloud.services.network("inner", cidr="10.9.0.0/24")
    world.api.load(wanting(world, ports=[{"network": {"id": inner}}]))
    every = All(world)
    await every.turn()
    await every.turn()
    assert told(world)[:2] == ("False", "UnableToFindFloatingIPNetwork")
    world.connect(inner)
    world.cloud.pass_time(600)
    await every.settle()
    assert told(world)[0] == "True"


async def test_a_deleted_server_releases_its_address_after_it_is_gone() -> None:
    world = await settled()
    await world.delete(OpenStackServer, "worker-0")
    await Floating(world).settle()
    assert CLAIM in world.here(IPAddressClaim)
    await Process(world).settle()
    assert world.here(OpenStackServer) == {}
    assert [each["port_id"] for each in world.cloud.services.floatingips.values()] == [None]
    await All(world).settle()
    assert world.here(IPAddressClaim) == world.here(IPAddress) == {}
    assert world.held().get("floatingips", 0) == 0


async def test_the_claim_of_an_earlier_server_of_the_name_is_released_and_the_new_server_gets_its_own() -> None:
    world = await settled()
    before = world.here(IPAddressClaim)[CLAIM]["metadata"]["uid"]
    await world.delete(OpenStackServer, "worker-0")
    await Process(world).settle()
    world.api.load(wanting(world))
    await All(world).settle()
    assert world.here(IPAddressClaim)[CLAIM]["metadata"]["uid"] != before
    assert told(world)[0] == "True"
    assert len(world.addresses) == 1


async def test_a_claim_that_a_user_made_is_neither_used_nor_deleted() -> None:
    world = World(pool(), tree(IPAddressClaim, CLAIM, {"poolRef": REF}))
    await All(world).settle()
    assert CLAIM in world.here(IPAddressClaim)
    world.api.load(wanting(world))
    await All(world).settle()
    assert told(world)[:2] == ("False", "FloatingIPError")


@pytest.mark.parametrize("by", ["taken off", "led elsewhere", "deleted"])
async def test_what_others_do_to_the_floating_ip_is_noticed(by: str) -> None:
    world = await settled()
    ((which, floating),) = world.cloud.services.floatingips.items()
    ours, path = floating["port_id"], f"/v2.0/floatingips/{which}"
    other = world.ask("POST", "/v2.0/ports", {"port": {"name": "vm", "network_id": world.network}})["port"]["id"]
    if by == "deleted":
        world.ask("DELETE", path)
    else:
        world.ask("PUT", path, {"floatingip": {"port_id": None if by == "taken off" else other}})
    world.cloud.pass_time(61)
    await All(world).settle()
    if by == "taken off":
        assert world.cloud.services.floatingips[which]["port_id"] == ours
        assert told(world)[0] == "True"
    else:
        assert told(world)[:2] == ("False", "FloatingIPError")
        assert ("does not exist" if by == "deleted" else other) in told(world)[2]


async def test_a_paused_server_gets_no_address() -> None:
    world = World(pool())
    paused = wanting(world)
    own = mark_for(MARK, "u", place("server", NAMESPACE, "worker-0"))
    paused["metadata"] |= {"uid": "u", "annotations": {"cluster.x-k8s.io/paused": "", MARK_ANNOTATION: own}}
    world.api.load(paused)
    await All(world).settle()
    assert world.here(IPAddressClaim) == {}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_an_association_that_meets_a_fault_is_repeated(fault: dict[str, Any]) -> None:
    world = World(pool())
    world.api.load(wanting(world))
    ordered = world.cloud.fault(method="PUT", path="^/v2.0/floatingips/[^/]+$", **fault)
    await All(world).settle()
    assert ordered.hits == 1
    assert told(world)[0] == "True"
