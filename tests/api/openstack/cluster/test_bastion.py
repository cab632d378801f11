"""A bastion on a real cloud: made, replaced with the same address, switched off, and gone with its cluster."""

from typing import Any

import pytest

from tests.api.openstack.cluster.stage import Stage, at_work, is_ready, staged
from tests.api.openstack.mortal import NOTHING_UNDER_WAY, MortalClient, lives
from windlass.kube import config
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

SPEC: dict[str, Any] = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}}
NETWORK: dict[str, Any] = {
    "managedSubnets": [{"cidr": "10.9.0.0/24"}],
    "managedSecurityGroups": {},
    "disableAPIServerFloatingIP": True,
    "controlPlaneEndpoint": {"host": "10.9.0.9", "port": 6443},
}


async def test_a_bastion_is_replaced_with_the_same_address_and_goes_without_a_trace(stage: Stage) -> None:
    await stage.cluster(**NETWORK, bastion={"spec": SPEC})
    made = (await stage.until_ready())["status"]["bastion"]
    sdk = stage.project.sdk
    [address] = sdk.network.ips(project_id=stage.project.id)
    assert address.floating_ip_address == made["floatingIP"]
    assert address.fixed_ip_address == made["ip"]

    await stage.patch({"spec": {"bastion": {"spec": {"flavor": "m1.small"}}}})
    changed = (await stage.until_ready())["status"]["bastion"]
    [again] = sdk.network.ips(project_id=stage.project.id)
    [server] = sdk.compute.servers()
    [port] = sdk.network.ports(device_id=server.id)
    assert (again.id, again.floating_ip_address) == (address.id, made["floatingIP"])
    assert again.port_id == port.id
    assert changed["id"] == server.id != made["id"]
    assert server.flavor["original_name"] == "m1.small"

    await stage.patch({"spec": {"bastion": {"enabled": False}}})
    status = (await stage.until(_is_retired, what="no bastion"))["status"]
    assert "bastion" not in status
    assert list(sdk.compute.servers()) == list(sdk.network.ips(project_id=stage.project.id)) == []
    await stage.delete()
    assert [each.name for each in sdk.network.security_groups(project_id=stage.project.id)] == ["default"]


async def test_a_controller_that_dies_after_each_of_its_writes_replaces_a_bastion_by_one(
    plane: PlaneAccess, windlass_namespace: str, project: Project
) -> None:
    async with staged(plane, windlass_namespace, project) as stage:
        await stage.cluster(**NETWORK, bastion={"spec": SPEC})
        made = (await stage.until_ready())["status"]["bastion"]
    async with MortalClient(config.load(kubeconfig=plane.kubeconfig())) as ours:
        after = Stage(ours, windlass_namespace, project)
        await after.patch({"spec": {"bastion": {"spec": {"flavor": "m1.small"}}}})

        async def is_replaced() -> bool:
            return is_ready(await after.get())

        asked = await lives(
            ours,
            lambda point: at_work(ours, windlass_namespace, times=NOTHING_UNDER_WAY, point=point),
            until=is_replaced,
        )
        status = (await after.get())["status"]["bastion"]
    [server] = project.sdk.compute.servers()
    [address] = project.sdk.network.ips(project_id=project.id)
    [port] = project.sdk.network.ports(device_id=server.id)
    assert status["id"] == server.id != made["id"]
    assert (address.floating_ip_address, address.port_id) == (made["floatingIP"], port.id)
    assert [what for what in asked if what.startswith(("create ", "delete server"))] == [
        "delete server", "create port", "create server",
    ]  # fmt: skip

    async with staged(plane, windlass_namespace, project) as stage:
        await stage.delete()
    assert [each.name for each in project.sdk.network.security_groups(project_id=project.id)] == ["default"]


def _is_retired(tree: Any) -> bool:
    status = tree["status"]
    return "bastion" not in status and "bastionSecurityGroup" not in status
