"""The model of a cloud does what clouds do. The same cases run on a real one, in `tests/api/testing/cloud`."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests import cloud_cases, cloud_cases_clusters
from tests.cloud_cases import Site
from windlass.openstack.cloud.failures import Doubtful
from windlass.testing.memory_cloud import MemoryCloud

CASES = {**cloud_cases.CASES, **cloud_cases_clusters.CASES}


def _site() -> Site:
    cloud = MemoryCloud(no_answer=lambda service, write, slow: Doubtful(service, "no answer"))
    services = cloud.services
    network = services.network("machines")
    services.external_network()

    async def until(look: Callable[[], Awaitable[Any]], wanted: Callable[[Any], bool]) -> Any:
        for _ in range(10):
            if wanted(found := await look()):
                return found
            cloud.pass_time(1)
        raise AssertionError("it does not come")

    def set_quota(resource: str, limit: int) -> None:
        services.quotas.setdefault("project", {})[resource] = limit

    return Site(
        wire=cloud.wire("project"),
        network=network,
        subnet=services.networks[network]["subnets"][0],
        image=services.image("cirros"),
        flavor=services.flavor("m1.tiny", ephemeral=0),
        until=until,
        set_quota=set_quota,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_model_does_what_clouds_do(case: Callable[[Site], Awaitable[Any]]) -> None:
    assert await case(_site()) == CASES[case]


async def test_what_the_test_laid_out_is_not_what_the_project_holds() -> None:
    site = _site()
    cloud = site.wire.cloud.services  # type: ignore[attr-defined]
    assert cloud.held("project") == {}
    await site.ask("network", "POST", "/v2.0/networks", {"network": {"name": "n"}})
    await site.ask("network", "POST", "/v2.0/security-groups", {"security_group": {"name": "g"}})
    await site.ask(
        "load-balancer", "POST", "/v2.0/lbaas/loadbalancers", {"loadbalancer": {"vip_subnet_id": site.subnet}}
    )
    groups = {"security_groups": 1, "security_group_rules": 2}
    assert cloud.held("project") == {"networks": 1, "ports": 1, **groups, "loadbalancers": 1}


async def test_where_the_policy_allows_it_external_addresses_are_chosen_and_given_once() -> None:
    site = _site()
    services = site.wire.cloud.services  # type: ignore[attr-defined]
    services.may_choose_addresses = True
    [external] = [each["id"] for each in services.networks.values() if each["router:external"]]
    wanted = {"floating_network_id": external, "floating_ip_address": "203.0.113.99"}
    status, made = await site.ask("network", "POST", "/v2.0/floatingips", {"floatingip": wanted})
    assert (status, made["floatingip"]["floating_ip_address"]) == (201, "203.0.113.99")
    gateway = {"network_id": external, "external_fixed_ips": [{"ip_address": "203.0.113.99"}]}
    status, refusal = await site.ask("network", "POST", "/v2.0/routers", {"router": {"external_gateway_info": gateway}})
    assert (status, refusal["NeutronError"]["type"]) == (409, "IpAddressAlreadyAllocated")
    assert services.held("project") == {"floatingips": 1}


async def test_a_lost_answer_leaves_a_load_balancer_behind() -> None:
    site = _site()
    cloud = site.wire.cloud  # type: ignore[attr-defined]
    cloud.fault(service="load-balancer", method="POST", path="/loadbalancers$", status=503, after=True)
    body = {"loadbalancer": {"name": "lb", "vip_subnet_id": site.subnet, "description": "m"}}
    status, _ = await site.ask("load-balancer", "POST", "/v2.0/lbaas/loadbalancers", body)
    query = (("description", "m"),)
    _, found = await site.ask("load-balancer", "GET", "/v2.0/lbaas/loadbalancers", query=query)
    assert (status, len(found["loadbalancers"])) == (503, 1)
