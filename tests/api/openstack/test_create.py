"""`create_instance` on a real OpenStack: all that a server can have, answers that are lost, and what others have."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.patience import PATIENCE
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import read
from windlass.openstack.cloud.failures import OverQuota
from windlass.openstack.cloud.gates import Pauses
from windlass.openstack.cloud.query import Query
from windlass.openstack.create import (
    Cloud,
    Halted,
    create_instance,
    delete_instance,
    instance_status,
    mark_of_owner,
    wait_active,
    wait_deleted,
)
from windlass.openstack.instance.spec import FixedAddress, InstanceSpec, PortSpec, VolumeSpec
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

EXAMPLE = Path(__file__).parents[3] / "examples" / "create_instance.py"
OWNER = "tests/w"


def spec_in(project: Project) -> InstanceSpec:
    return InstanceSpec(
        name="w",
        image=Query("image", filters=(("name", "cirros"),)),
        flavor=Query("flavor", filters=(("name", "m1.tiny"),)),
        network=Query("network", filters=(("name", project.name),)),
    )


@asynccontextmanager
async def cloud_of(project: Project) -> AsyncIterator[Cloud]:
    """As the only program that asks for its owners, so that it need not wait for another one's requests. Pauses are
    short, and a request is taken for lost after four seconds."""
    times, pauses = Times(request=4.0), Pauses(unavailable=(0.2, 1.0))
    async with Clouds(times=times, pauses=pauses) as clouds:
        credentials = read(project.clouds_yaml, "openstack", where="the test's project")
        yield Cloud(clouds, await clouds.project(credentials))


def test_the_example_makes_a_server_once_and_takes_everything_away(project: Project, tmp_path: Path) -> None:
    (tmp_path / "clouds.yaml").write_text(project.clouds_yaml)
    chosen = ["--image", "cirros", "--flavor", "m1.tiny", "--network", project.name]

    def example(*arguments: str) -> str:
        command = [sys.executable, str(EXAMPLE), "openstack", "demo-0", *arguments]
        environment = {**os.environ, "OS_CLIENT_CONFIG_FILE": str(tmp_path / "clouds.yaml")}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert (run.returncode, run.stderr) == (0, ""), run.stderr
        return str(run.stdout)

    made = example(*chosen)
    assert made.startswith("demo-0 is ACTIVE 10.6.")
    assert example(*chosen) == made
    posts = project.requests("nova", method="POST", path="/servers$")
    assert [each.status for each in posts] == [202]
    assert example("--delete") == "nothing is left of demo-0\n"


async def test_a_server_has_all_that_its_spec_names(project: Project) -> None:
    sdk = project.sdk
    group = sdk.network.create_security_group(name="web")
    near = sdk.compute.create_server_group(name="near", policy="anti-affinity")
    storage = sdk.network.create_network(name="a-storage")
    subnet = sdk.network.create_subnet(name="s", network_id=storage.id, ip_version=4, cidr="10.9.0.0/24")
    spec = replace(
        spec_in(project),
        ports=(
            PortSpec(
                description="the first",
                tags=("port",),
                trunk=True,
                address_pairs=({"ip_address": "10.6.0.200"},),
                options={"mac_address": "fa:16:3e:00:00:77"},
            ),
            PortSpec(
                suffix="storage",
                addresses=(FixedAddress(Query("subnet", filters=(("name", "s"),)), "10.9.0.77"),),
                port_security=False,
            ),
        ),
        groups=(Query("security group", filters=(("name", "web"),)),),
        server_group=Query("server group", filters=(("name", "near"),)),
        tags=("blue",),
        metadata={"role": "worker"},
        zone="az2",
        root=VolumeSpec(name="root", size=1),
        disks=(VolumeSpec(name="etcd", size=1),),
        config_drive=True,
        hints={"windlass_test": 3},
    )
    async with cloud_of(project) as cloud:
        status = await wait_active(cloud, spec, owner=OWNER, user_data=b"#cloud-config\n", seconds=PATIENCE)
        assert status.ready, status.message
        first, second = status.addresses[0], status.addresses[1]
        assert (first.address, second.address[:5], status.addresses[2].address) == ("10.9.0.77", "10.6.", "w")
        server = sdk.compute.get_server(status.id)
        assert (server.metadata["role"], server.availability_zone) == ("worker", "az2")
        assert server.has_config_drive in (True, "True")  # Nova's own form of it is a text
        assert server.id in sdk.compute.get_server_group(near.id).member_ids
        ports = {port.name: port for port in sdk.network.ports(device_id=server.id)}
        assert {name: sorted(port.tags) for name, port in ports.items()} == {
            "w-0": ["blue", "port"],
            "w-storage": ["blue"],
        }
        assert ports["w-0"].description == f"the first windlass-owner={mark_of_owner(OWNER)}"
        assert ports["w-0"].mac_address == "fa:16:3e:00:00:77"
        assert ports["w-0"].security_group_ids == [group.id]
        assert ports["w-0"].allowed_address_pairs[0]["ip_address"] == "10.6.0.200"
        assert not ports["w-storage"].is_port_security_enabled
        [trunk] = sdk.network.trunks(port_id=ports["w-0"].id)
        assert sorted(trunk.tags) == ["blue", "port"]
        volumes = {volume.name: volume for volume in sdk.block_storage.volumes()}
        assert {name: volume.attachments[0]["server_id"] for name, volume in volumes.items()} == {
            "w-root": server.id,
            "w-etcd": server.id,
        }
        # A subport that somebody put on our trunk stays; the trunk goes all the same.
        subport = sdk.network.create_port(network_id=project.network_id, name="sub")
        sdk.network.add_trunk_subports(
            trunk, [{"port_id": subport.id, "segmentation_type": "vlan", "segmentation_id": 7}]
        )
        await wait_deleted(cloud, owner=OWNER, seconds=PATIENCE)
        assert [port.name for port in sdk.network.ports(project_id=project.id)] == ["sub"]
        assert await delete_instance(cloud, owner=OWNER)
    sdk.network.delete_port(subport)
    sdk.network.delete_subnet(subnet)
    sdk.network.delete_network(storage)
    sdk.network.delete_security_group(group)
    sdk.compute.delete_server_group(near)


async def test_every_answer_is_lost_once_and_there_is_one_of_each(project: Project) -> None:
    for service, kind in (("neutron", "ports"), ("neutron", "trunks"), ("cinder", "volumes"), ("nova", "servers")):
        project.fault(service, method="POST", path=f"/{kind}$", count=1, after=True, drop=True)
    spec = replace(spec_in(project), root=VolumeSpec(name="root", size=1), trunk=True, tags=("a",))
    async with cloud_of(project) as cloud:
        status = await wait_active(cloud, spec, owner=OWNER, seconds=2 * PATIENCE)
        assert status.ready, status.message
        sdk = project.sdk
        assert len(list(sdk.compute.servers())) == 1
        assert len(list(sdk.network.ports(project_id=project.id))) == 1
        assert len(list(sdk.network.trunks())) == 1
        assert len(list(sdk.block_storage.volumes())) == 1
        await wait_deleted(cloud, owner=OWNER, seconds=PATIENCE)


async def test_what_others_have_under_the_same_names_is_left_alone(project: Project) -> None:
    """The server is made only when its quota allows it."""
    sdk = project.sdk
    theirs = sdk.network.create_port(network_id=project.network_id, name="w-0")
    [image], [flavor] = sdk.image.images(name="cirros"), sdk.compute.flavors(name="m1.tiny")
    server = sdk.compute.create_server(name="w", image_id=image.id, flavor_id=flavor.id, networks=[{"port": theirs.id}])
    project.set_quota(instances=1)
    spec = spec_in(project)
    async with cloud_of(project) as cloud:
        with pytest.raises(OverQuota):
            await create_instance(cloud, spec, owner=OWNER)
        [port] = [port for port in sdk.network.ports(project_id=project.id) if port.id != theirs.id]
        sdk.network.delete_port(port)
        project.set_quota(instances=2)
    async with cloud_of(project) as cloud:
        status = await wait_active(cloud, spec, owner=OWNER, seconds=PATIENCE)
        assert status.id != server.id
        assert len(list(sdk.network.ports(project_id=project.id))) == 2
        await wait_deleted(cloud, owner=OWNER, seconds=PATIENCE)
        assert await instance_status(cloud, owner=OWNER) is None
    assert [each.id for each in sdk.compute.servers()] == [server.id]
    assert [each.id for each in sdk.network.ports(project_id=project.id)] == [theirs.id]
    sdk.compute.delete_server(server)
    sdk.compute.wait_for_delete(server, interval=0.2, wait=PATIENCE)
    sdk.network.delete_port(theirs)


async def test_a_volume_that_fails_is_told_and_everything_goes(project: Project) -> None:
    spec = replace(spec_in(project), name="windlass:fail", root=VolumeSpec(name="root", size=1))
    async with cloud_of(project) as cloud:
        with pytest.raises(Halted, match="could not be made, twice"):
            await wait_active(cloud, spec, owner=OWNER, seconds=PATIENCE)
        assert list(project.sdk.compute.servers()) == []
        await wait_deleted(cloud, owner=OWNER, seconds=PATIENCE)
