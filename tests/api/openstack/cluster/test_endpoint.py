"""A cluster with a load balancer on a real cloud: made, a machine led to, changed and gone."""

from typing import Any

import pytest

from tests.api.openstack.cluster.stage import Stage, says
from tests.waiting import eventually

pytestmark = pytest.mark.sampled

LB: dict[str, Any] = {"enabled": True, "monitor": {"delay": 7}}
LISTS = [
    "GET /v2.0/networks",  # external ones
    *(f"GET /v2.0/{each}" for each in ("networks", "subnets", "routers", "security-groups", "floatingips", "ports")),
    "GET /v2.0/lbaas/loadbalancers",
]
"""What is asked for at a look at rest."""


async def test_the_endpoint_leads_to_the_control_plane(stage: Stage) -> None:
    sdk, project = stage.project.sdk, stage.project
    network = {"managedSubnets": [{"cidr": "10.9.0.0/24"}], "managedSecurityGroups": {}}
    await stage.cluster(**network, apiServerLoadBalancer=LB)
    made = await stage.until_ready()
    assert len(stage.asked()) <= 36, stage.asked()
    told = made["status"]["apiServerLoadBalancer"]
    assert made["spec"]["controlPlaneEndpoint"] == {"host": told["ip"], "port": 6443}
    balancer = sdk.load_balancer.get_load_balancer(told["id"])
    assert (balancer.provisioning_status, balancer.vip_address) == ("ACTIVE", told["internalIP"])
    [floating] = sdk.network.ips(project_id=project.id)
    assert (floating.floating_ip_address, floating.port_id) == (told["ip"], balancer.vip_port_id)
    listeners = {each.protocol_port: each for each in sdk.load_balancer.listeners(project_id=project.id)}
    monitors = list(sdk.load_balancer.health_monitors(project_id=project.id))
    assert sorted(listeners) == [6443]
    assert all(each.default_pool_id for each in listeners.values())
    assert [each.delay for each in monitors] == [7]

    before = len(stage.asked())

    async def looked() -> list[str]:
        return stage.asked()[before:]

    await stage.patch({"spec": {"controlPlaneOmitAvailabilityZone": True}})  # it takes no write, but all is looked at
    asked = await eventually(looked, lambda found: len(found) >= len(LISTS), what="a look at rest")
    assert sorted(asked) == sorted(LISTS), "the parts of the load balancer have not changed, so nobody reads them"

    await stage.patch({"spec": {"apiServerLoadBalancer": {"monitor": {"delay": 9}, "allowedCIDRs": ["192.0.2.0/24"]}}})
    sdk.load_balancer.delete_health_monitor(monitors[0])
    await stage.control_machine("cp-0")
    found = await stage.until_machine_ready("cp-0")
    assert says(found, "APIServerIngressReady") == "True Ready"
    assert found["status"]["initialization"]["provisioned"]
    [address] = [each["address"] for each in found["status"]["addresses"] if each["type"] == "InternalIP"]
    for listener in listeners.values():
        [member] = sdk.load_balancer.members(listener.default_pool_id)
        assert (member.address, member.protocol_port) == (address, listener.protocol_port)
    await stage.until_ready()
    assert [each.delay for each in sdk.load_balancer.health_monitors(project_id=project.id)] == [9]
    gateway = sdk.network.get_router(made["status"]["router"]["id"]).external_gateway_info
    inside = {"10.9.0.0/24", *(f"{each['ip_address']}/32" for each in gateway["external_fixed_ips"])}
    for listener in sdk.load_balancer.listeners(project_id=project.id):
        assert set(listener.allowed_cidrs) == {"192.0.2.0/24", *inside}

    await _somebody_takes_away(stage, made)
    made_until = len(stage.asked())
    await stage.delete_machine("cp-0")
    deleted = [each for each in stage.asked()[made_until:] if each.startswith("DELETE")]
    assert ["members" in deleted[0], "servers" in deleted[1]] == [True, True], deleted
    await stage.delete()
    assert list(sdk.load_balancer.load_balancers(project_id=project.id)) == []
    assert list(sdk.network.ips(project_id=project.id)) == list(sdk.network.ports(project_id=project.id)) == []


async def _somebody_takes_away(stage: Stage, made: Any) -> None:
    """A rule, the router, the way of the address and the member: each comes back."""
    sdk, own = stage.project.sdk, {"project_id": stage.project.id}
    status = made["status"]
    subnet, group = status["network"]["subnets"][0]["id"], status["controlPlaneSecurityGroup"]["id"]
    [floating] = sdk.network.ips(**own)
    [listener] = sdk.load_balancer.listeners(**own)
    [member] = sdk.load_balancer.members(listener.default_pool_id)
    rules = list(sdk.network.security_group_rules(security_group_id=group))

    async def there() -> dict[str, Any]:
        routers = [each.id for each in sdk.network.routers(**own)]
        interfaces = [port for each in routers for port in sdk.network.ports(device_id=each)]
        return {
            "member": [each.address for each in sdk.load_balancer.members(listener.default_pool_id)],
            "floating": [(each.id, each.port_id) for each in sdk.network.ips(**own)],
            "rules": len(list(sdk.network.security_group_rules(security_group_id=group))),
            "interfaces": [ip["subnet_id"] for port in interfaces for ip in port.fixed_ips],
        }

    whole = await there()
    sdk.load_balancer.delete_member(member, listener.default_pool_id)
    sdk.network.update_ip(floating, port_id=None)
    sdk.network.delete_security_group_rule(next(each for each in rules if each.port_range_min == 6443))
    router = status["router"]["id"]
    sdk.network.remove_interface_from_router(router, subnet)
    sdk.network.delete_router(router)
    # A spec that changes is looked at with fresh lists; else it would be the next look at rest.
    await stage.patch({"spec": {"apiServerLoadBalancer": {"monitor": {"delay": 8}}}})
    await eventually(there, lambda found: found == whole, what="all is back")
    assert (await stage.until_ready())["status"]["router"]["id"] != router
