"""A cluster with a load balancer on a real cloud: made, a machine led to, changed and gone."""

from typing import Any

from tests.api.openstack.cluster.stage import NAME, Stage, says
from tests.waiting import eventually
from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.core import Secret
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType

LB: dict[str, Any] = {"enabled": True, "monitor": {"delay": 7}}
LISTS = [
    "GET /v2.0/networks",  # external ones
    *(f"GET /v2.0/{each}" for each in ("networks", "subnets", "routers", "security-groups", "floatingips", "ports")),
    "GET /v2.0/lbaas/loadbalancers",
]
"""What is asked for at a look at rest."""
LABELS = {"cluster.x-k8s.io/cluster-name": NAME, "cluster.x-k8s.io/control-plane": ""}


async def control_machine(stage: Stage, name: str) -> None:
    """A Machine of the control plane with its OpenStackMachine, as Cluster API makes them when it may."""
    done = {"status": {"initialization": {"infrastructureProvisioned": True}}}
    await stage.client.patch(
        Cluster, NAME, done, type=PatchType.MERGE, namespace=stage.namespace, subresource="status", field_manager="core"
    )
    await stage.make(Secret, "data", stringData={"value": "#!/bin/sh"})
    reference = {"apiGroup": OpenStackMachine.RESOURCE.group, "kind": "OpenStackMachine", "name": name}
    spec = {"clusterName": NAME, "bootstrap": {"dataSecretName": "data"}, "infrastructureRef": reference}
    owner = await stage.make(Machine, name, spec=spec, metadata={"labels": LABELS})
    reference = {"apiVersion": owner["apiVersion"], "kind": "Machine", "name": name, "uid": owner["metadata"]["uid"]}
    await stage.make(
        OpenStackMachine,
        name,
        metadata={"labels": LABELS, "ownerReferences": [reference]},
        spec={"image": {"filter": {"name": "cirros"}}, "flavor": "m1.tiny", "sshKeyName": ""},
    )


async def machine(stage: Stage, name: str) -> Any:
    """What it is now; None if it is gone."""
    try:
        return (await stage.client.get(OpenStackMachine, name, namespace=stage.namespace)).tree()
    except NotFound:
        return None


async def test_l8_l6_m10_the_endpoint_leads_to_the_control_plane(stage: Stage) -> None:
    sdk, project = stage.project.sdk, stage.project
    network = {"managedSubnets": [{"cidr": "10.9.0.0/24"}], "managedSecurityGroups": {}}
    await stage.cluster(**network, apiServerLoadBalancer=LB)
    made = await stage.until_ready()
    assert len(stage.asked()) <= 30, stage.asked()
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

    await stage.patch({"metadata": {"annotations": {"somebody": "looks"}}})
    asked = await eventually(looked, lambda found: len(found) >= len(LISTS), what="a look at rest")
    assert sorted(asked) == sorted(LISTS), "the parts of the load balancer have not changed, so nobody reads them"

    await stage.patch({"spec": {"apiServerLoadBalancer": {"monitor": {"delay": 9}, "allowedCIDRs": ["192.0.2.0/24"]}}})
    sdk.load_balancer.delete_health_monitor(monitors[0])
    await control_machine(stage, "cp-0")
    found = await eventually(
        lambda: machine(stage, "cp-0"), lambda found: says(found, "Ready") == "True Ready", what="the machine is ready"
    )
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

    made_until = len(stage.asked())
    for kind in (OpenStackMachine, Machine):
        await stage.client.delete(kind, "cp-0", namespace=stage.namespace)
    await eventually(lambda: machine(stage, "cp-0"), lambda found: found is None, what="the machine is gone")
    deleted = [each for each in stage.asked()[made_until:] if each.startswith("DELETE")]
    assert ["members" in deleted[0], "servers" in deleted[1]] == [True, True], deleted
    await stage.delete()
    assert list(sdk.load_balancer.load_balancers(project_id=project.id)) == []
    assert list(sdk.network.ips(project_id=project.id)) == list(sdk.network.ports(project_id=project.id)) == []
