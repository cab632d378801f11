"""Floating IPs from a pool, with real addresses of a real cloud."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.openstack.server.stage import SECRET, Stage, says, staged
from tests.waiting import eventually
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.errors import NotFound
from windlass.openstack.cloud.marks import mark_for, place, root_of
from windlass.openstack.constants import CLAIM_SUFFIX, MARK_ANNOTATION
from windlass.openstack.floating.controller import floating_controller
from windlass.openstack.pool.controller import pool_controller
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

RESOURCE = OpenStackFloatingIPPool.RESOURCE
REF = {"apiGroup": RESOURCE.group, "kind": RESOURCE.kind, "name": "one"}
FIRST = f"a{CLAIM_SUFFIX}"
EXAMPLE = Path(__file__).parents[4] / "examples" / "floating-ip-pool.yaml"


@pytest.fixture
async def external(project: Project) -> AsyncIterator[str]:
    """The external network; a router of the project leads to it."""
    network = project.sdk.network
    (found,) = network.networks(is_router_external=True)
    router = network.create_router(external_gateway_info={"network_id": found.id})
    network.add_interface_to_router(router, subnet=project.subnet_id)
    yield found.id
    network.remove_interface_from_router(router, subnet=project.subnet_id)
    network.delete_router(router)


async def test_one_address_for_two_is_given_to_the_second_when_the_first_has_gone(
    openstack_plane: PlaneAccess, windlass_namespace: str, project: Project, external: str
) -> None:
    both = (pool_controller, floating_controller)
    async with staged(openstack_plane, windlass_namespace, project, others=both) as stage:
        await stage.secret()
        spec = {
            "identityRef": {"type": "Secret", "name": SECRET, "cloudName": "openstack"},
            "reclaimPolicy": "Delete",
            "maxIPs": 1,
        }
        await stage.make(OpenStackFloatingIPPool, "one", spec=spec)
        await stage.server(floatingIPPoolRef=REF)
        first = await _given(stage, FIRST)
        await stage.make(IPAddressClaim, "second", spec={"poolRef": REF})
        server = await stage.until(lambda found: says(found, "FloatingAddressFromPoolReady") == "True Ready")
        (floating,) = project.sdk.network.ips(project_id=project.id)
        assert (floating.floating_ip_address, floating.floating_network_id) == (first.spec.address, external)
        assert server.status.resources is not None
        assert floating.port_id == server.status.resources.ports[0].id
        await eventually(
            lambda: _read(stage, OpenStackFloatingIPPool, "one"),
            lambda found: "MaxIPsReached" in [each.reason for each in found.status.conditions],
            what="MaxIPsReached",
        )
        assert await _read(stage, IPAddress, "second") is None
        await stage.delete()
        await stage.until_gone()
        await _collect(stage, FIRST)
        second = await _given(stage, "second")
        (floating,) = project.sdk.network.ips(project_id=project.id)
        assert floating.floating_ip_address == second.spec.address
        for kind, name in ((OpenStackFloatingIPPool, "one"), (IPAddressClaim, "second")):
            await stage.client.delete(kind, name, namespace=stage.namespace)
        await _collect(stage, "second")
        await _gone(stage, OpenStackFloatingIPPool, "one")
    assert list(project.sdk.network.ips(project_id=project.id)) == []


async def test_a_forged_mark_of_a_pool_gives_no_address_of_another_namespace_away(
    openstack_plane: PlaneAccess, windlass_namespace: str, project: Project, external: str
) -> None:
    elsewhere, spec = openstack_plane.blocking.create_namespace(), {"reclaimPolicy": "Retain"}
    async with (
        staged(openstack_plane, windlass_namespace, project, others=(pool_controller,)) as stage,
        staged(openstack_plane, elsewhere, project, others=(pool_controller,)) as evil,
    ):
        for each in (stage, evil):
            await each.secret()
        spec["identityRef"] = {"type": "Secret", "name": SECRET, "cloudName": "openstack"}  # type: ignore[assignment]
        await stage.make(OpenStackFloatingIPPool, "one", spec=spec)
        await stage.make(IPAddressClaim, "first", spec={"poolRef": REF})
        kept = await _given(stage, "first")
        await stage.client.delete(IPAddressClaim, "first", namespace=stage.namespace)
        await _collect(stage, "first")
        await eventually(
            lambda: _read(stage, OpenStackFloatingIPPool, "one"),
            lambda found: found.status.available_ips == [kept.spec.address],
            what="the address is free again",
        )
        victim = (await _read(stage, OpenStackFloatingIPPool, "one")).metadata.annotations[MARK_ANNOTATION]
        forged = mark_for(root_of(victim), "any", place("pool", elsewhere, "one"))
        await evil.make(OpenStackFloatingIPPool, "one", metadata={"annotations": {MARK_ANNOTATION: forged}}, spec=spec)
        await evil.make(IPAddressClaim, "second", spec={"poolRef": REF})
        await eventually(
            lambda: _read(evil, OpenStackFloatingIPPool, "one"),
            lambda found: "OwnedByAnother" in [each.reason for each in found.status.conditions],
            what="OwnedByAnother",
        )
        assert await _read(evil, IPAddress, "second") is None
        await evil.client.delete(OpenStackFloatingIPPool, "one", namespace=elsewhere)
        await _gone(evil, OpenStackFloatingIPPool, "one")
        (floating,) = project.sdk.network.ips(project_id=project.id)
        assert floating.floating_ip_address == kept.spec.address
        assert floating.description.endswith(victim)
        project.sdk.network.delete_ip(floating)


async def test_the_example_gives_its_server_an_address(
    openstack_plane: PlaneAccess, windlass_namespace: str, project: Project, external: str
) -> None:
    project.sdk.network.update_network(project.network_id, name="machines")
    both = (pool_controller, floating_controller)
    async with staged(openstack_plane, windlass_namespace, project, others=both) as stage:
        await stage.secret("cloud", clouds_yaml=project.clouds_yaml.replace("openstack:", "demo:"))
        pool, server = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
        for each in (pool, server):
            each["metadata"]["namespace"] = windlass_namespace
        await openstack_plane.apply(pool, server)
        await stage.until(lambda found: says(found, "FloatingAddressFromPoolReady") == "True Ready", name="jump")
        (floating,) = project.sdk.network.ips(project_id=project.id)
        assert (floating.floating_network_id, floating.status) == (external, "ACTIVE")
        await stage.delete("jump")
        await stage.until_gone("jump")
        await _collect(stage, f"jump{CLAIM_SUFFIX}")
        await stage.client.delete(OpenStackFloatingIPPool, pool["metadata"]["name"], namespace=stage.namespace)
        await _gone(stage, OpenStackFloatingIPPool, pool["metadata"]["name"])
    assert list(project.sdk.network.ips(project_id=project.id)) == []


async def _read(stage: Stage, kind: type[Any], name: str) -> Any:
    try:
        return (await stage.client.get(kind, name, namespace=stage.namespace)).decode()
    except NotFound:
        return None


async def _given(stage: Stage, claim: str) -> IPAddress:
    found: IPAddress = await eventually(lambda: _read(stage, IPAddress, claim), bool, what=f"IPAddress {claim}")
    return found


async def _gone(stage: Stage, kind: type[Any], name: str) -> None:
    await eventually(lambda: _read(stage, kind, name), lambda found: found is None, what=f"{name} is gone")


async def _collect(stage: Stage, claim: str) -> None:
    """What the garbage collector does after the claim has gone: a bare API server has none."""
    await _gone(stage, IPAddressClaim, claim)
    await stage.client.delete(IPAddress, claim, namespace=stage.namespace)
