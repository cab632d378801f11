"""A cluster on a network with IPv6 and IPv4, on a real cloud: its load balancer, its member, and address pairs."""

from typing import Any

import pytest

from tests.api.openstack.cluster.stage import Stage
from tests.waiting import eventually
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer

pytestmark = pytest.mark.sampled

Tree = dict[str, Any]


def both(stage: Stage) -> tuple[str, str, str]:
    """A network with a subnet of IPv6, then one of IPv4, both on a router that leads outside. Its ID, and theirs."""
    network = stage.project.sdk.network
    [external] = network.networks(is_router_external=True)
    made = network.create_network(name="dual")
    six = network.create_subnet(name="six", network_id=made.id, ip_version=6, cidr="fd00:8::/64")
    four = network.create_subnet(name="four", network_id=made.id, ip_version=4, cidr="10.8.0.0/24")
    router = network.create_router(name="dual", external_gateway_info={"network_id": external.id})
    for subnet in (six, four):
        network.add_interface_to_router(router, subnet.id)
    return made.id, six.id, four.id


async def pairs(stage: Stage, port: str) -> list[str]:
    found = stage.project.sdk.network.get_port(port)
    return sorted(each["ip_address"] for each in found.allowed_address_pairs)


async def test_a_load_balancer_with_a_floating_ip_is_on_ipv4_and_pairs_of_running_machines_change(stage: Stage) -> None:
    sdk = stage.project.sdk
    network, six, four = both(stage)
    subnets = [{"id": six}, {"id": four}]
    await stage.cluster(
        network={"id": network},
        subnets=subnets,
        apiServerLoadBalancer={"enabled": True},
        managedSecurityGroups={},
        apiServerPort=443,
    )
    made = await stage.until_ready()
    told = made["status"]["apiServerLoadBalancer"]
    assert made["spec"]["controlPlaneEndpoint"] == {"host": told["ip"], "port": 443}
    balancer = sdk.load_balancer.get_load_balancer(told["id"])
    assert balancer.vip_subnet_id == four
    group = sdk.network.get_security_group(made["status"]["controlPlaneSecurityGroup"]["id"])
    assert {6443, 443} <= {each["port_range_min"] for each in group.security_group_rules}

    await stage.control_machine("cp-0")
    await stage.until_machine_ready("cp-0")
    [pool] = sdk.load_balancer.pools(project_id=stage.project.id)
    [member] = sdk.load_balancer.members(pool)
    assert member.address.startswith("10.8.0.")
    assert member.protocol_port == 443

    server = (await stage.client.get(OpenStackServer, "cp-0", namespace=stage.namespace)).tree()
    [port] = [each["id"] for each in server["status"]["resources"]["ports"]]
    sdk.network.update_port(port, allowed_address_pairs=[{"ip_address": "10.8.0.77"}])  # as OpenShift does
    wanted = server["spec"]["ports"]
    for ours, expected in (
        (["10.8.0.201", "10.8.0.202"], ["10.8.0.201", "10.8.0.202", "10.8.0.77"]),
        (["10.8.0.202"], ["10.8.0.202", "10.8.0.77"]),
        ([], ["10.8.0.77"]),
    ):
        changed = [{**wanted[0], "allowedAddressPairs": [{"ipAddress": each} for each in ours]}]
        await stage.change(OpenStackServer, "cp-0", {"spec": {"ports": changed}})
        await eventually(lambda: pairs(stage, port), lambda found, to=expected: found == to, what=f"pairs {expected}")  # type: ignore[misc]
    assert (await stage.client.get(OpenStackMachine, "cp-0", namespace=stage.namespace)).tree()["status"]["instanceID"]

    await stage.delete_machine("cp-0")
    await stage.delete()
    router = next(iter(sdk.network.routers(project_id=stage.project.id)))
    for subnet in (six, four):
        sdk.network.remove_interface_from_router(router, subnet)
    sdk.network.delete_router(router)
    sdk.network.delete_network(network)
