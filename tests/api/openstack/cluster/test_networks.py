"""A cluster with a network of its own on a real cloud: made, changed and gone, with the requests counted."""

from typing import Any

import pytest

from tests.api.openstack.cluster.stage import Stage

pytestmark = pytest.mark.sampled

CIDR = "10.9.0.0/24"
NETWORK: dict[str, Any] = {
    "managedSubnets": [{"cidr": CIDR, "dnsNameservers": ["10.0.0.1"]}],
    "managedSecurityGroups": {
        "allNodesSecurityGroupRules": [
            {"name": "bgp", "direction": "ingress", "protocol": "tcp", "portRangeMin": 179, "portRangeMax": 179},
            {
                "name": "ipip",
                "direction": "ingress",
                "protocol": "4",
                "remoteManagedGroups": ["controlplane", "worker"],
            },
            {"name": "ping6", "direction": "ingress", "etherType": "IPv6", "protocol": "icmp"},
            {"name": "lan", "direction": "ingress", "remoteIPPrefix": "10.9.0.7/24"},
        ]
    },
    "tags": ["blue", "a,b"],
    "disableAPIServerFloatingIP": True,
    "controlPlaneEndpoint": {"host": "10.9.0.9", "port": 6443},
}


async def test_a_cluster_makes_its_network_and_goes_without_a_trace(stage: Stage) -> None:
    await stage.cluster(**NETWORK)
    made = await stage.until_ready()
    assert len(stage.asked()) <= 30, stage.asked()
    status, sdk = made["status"], stage.project.sdk.network
    assert status["initialization"]["provisioned"]
    network, subnet = sdk.get_network(status["network"]["id"]), status["network"]["subnets"][0]
    router = sdk.get_router(status["router"]["id"])
    assert sorted(network.tags) == sorted(router.tags) == ["a,b", "blue"]
    assert sdk.get_subnet(subnet["id"]).dns_nameservers == ["10.0.0.1"]
    [interface] = sdk.ports(device_id=router.id)
    assert interface.fixed_ips[0]["subnet_id"] == subnet["id"]
    worker = status["workerSecurityGroup"]["id"]
    rules = list(sdk.security_group_rules(security_group_id=worker))
    assert len(rules) == 15

    before = len(stage.asked())
    sdk.delete_security_group_rule(next(each for each in rules if each.port_range_min == 179))
    await stage.patch({"spec": {"managedSubnets": [{"cidr": CIDR, "dnsNameservers": ["10.0.0.2", "10.0.0.3"]}]}})
    await stage.until_ready()
    assert sdk.get_subnet(subnet["id"]).dns_nameservers == ["10.0.0.2", "10.0.0.3"]
    assert len(list(sdk.security_group_rules(security_group_id=worker))) == 15
    assert sorted(each for each in stage.asked()[before:] if not each.startswith("GET")) == [
        "POST /v2.0/security-group-rules",
        f"PUT /v2.0/subnets/{subnet['id']}",
    ]

    left = sdk.create_port(network_id=network.id, name="one-workers-x-0")
    await stage.delete()
    assert list(sdk.ports(id=left.id)) == []
    assert list(sdk.networks(id=network.id)) == list(sdk.routers(project_id=stage.project.id)) == []
    assert [each.name for each in sdk.security_groups(project_id=stage.project.id)] == ["default"]
