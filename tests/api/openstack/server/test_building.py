"""Servers on a real cloud: made, told, and gone, with nothing left (the fixture `project` looks)."""

from typing import Any

from tests.api.openstack.server.stage import Stage, says
from windlass.openstack.constants import MARK_ANNOTATION, SERVER_FINALIZER


async def test_a_server_is_made_with_its_port_and_goes_with_it(stage: Stage) -> None:
    await stage.secret()
    await stage.server()
    made = await stage.until_ready()
    compute, network = stage.project.sdk.compute, stage.project.sdk.network
    [port] = network.ports(project_id=stage.project.id)
    assert made.status.resources is not None
    assert [each.id for each in made.status.resources.ports] == [port.id]
    assert made.status.instance_id is not None
    server = compute.get_server(made.status.instance_id)
    assert (server.name, server.status, server.metadata["windlass-owner"]) == (
        "a",
        "ACTIVE",
        made.metadata.annotations[MARK_ANNOTATION],
    )
    assert [(each.type, each.address) for each in made.status.addresses] == [
        ("InternalIP", port.fixed_ips[0]["ip_address"]),
        ("InternalDNS", "a"),
    ]
    assert SERVER_FINALIZER in made.metadata.finalizers
    assert stage.writes() <= 5, [body for *_, body in stage.ours.sent]  # a stand-alone one gets mark and finalizer
    assert len(stage.asked()) <= 6, stage.asked()

    await stage.delete()
    await stage.until_gone()
    assert list(network.ports(project_id=stage.project.id)) == []
    assert says(made, "Deleting") == "False NotDeleting"


async def test_volumes_trunk_and_tags_arrive_and_go(stage: Stage) -> None:
    await stage.secret()
    await stage.secret("boot", value="#cloud-config\n")
    port: dict[str, Any] = {"network": {"id": stage.project.network_id}, "tags": ["red"], "trunk": True}
    await stage.server(
        ports=[port, {"network": {"filter": {"name": stage.project.name}}, "nameSuffix": "storage"}],
        tags=["blue"],
        rootVolume={"sizeGiB": 1},
        additionalBlockDevices=[
            {"name": "etcd", "sizeGiB": 1, "storage": {"type": "Volume"}},
        ],
        serverMetadata=[{"key": "role", "value": "worker"}],
        schedulerHintAdditionalProperties=[{"name": "colour", "value": {"type": "String", "string": "blue"}}],
        userDataRef={"name": "boot"},
        configDrive=True,
    )
    made = await stage.until_ready()
    sdk = stage.project.sdk
    assert made.status.instance_id is not None
    server = sdk.compute.get_server(made.status.instance_id)
    assert server.metadata["role"] == "worker"
    assert server.has_config_drive
    ports = {each.name: each for each in sdk.network.ports(project_id=stage.project.id)}
    assert sorted(ports) == ["a-0", "a-storage"]
    assert sorted(ports["a-0"].tags) == ["blue", "red"]
    [trunk] = sdk.network.trunks(project_id=stage.project.id)
    assert (trunk.port_id, sorted(trunk.tags)) == (ports["a-0"].id, ["blue", "red"])
    resources = made.status.resources
    assert resources is not None
    assert [each.name for each in resources.volumes] == ["a-root", "a-etcd"]
    assert [each.id for each in resources.trunks] == [trunk.id]
    assert {each.id for each in sdk.block_storage.volumes()} == {each.id for each in resources.volumes}

    await stage.delete()
    await stage.until_gone()


async def test_server_and_volumes_are_in_their_zones_and_addresses_come_by_network(stage: Stage) -> None:
    sdk = stage.project.sdk
    other = sdk.network.create_network(name=f"a-{stage.project.name}")
    subnets = [
        sdk.network.create_subnet(network_id=other.id, ip_version=version, cidr=cidr, enable_dhcp=False)
        for version, cidr in ((6, "fd00:7::/64"), (4, "10.7.0.0/24"))
    ]
    await stage.secret()
    await stage.server(
        ports=[
            {"network": {"id": stage.project.network_id}},
            {"network": {"id": other.id}, "fixedIPs": [{"subnet": {"id": each.id}} for each in subnets]},
        ],
        availabilityZone="az2",
        rootVolume={"sizeGiB": 1, "availabilityZone": {"from": "Name", "name": "nova"}},
        additionalBlockDevices=[
            {"name": name, "sizeGiB": 1, "storage": {"type": "Volume", "volume": {"availabilityZone": zone}}}
            for name, zone in (("etcd", {"name": "nova"}), ("logs", {"name": "nova"}))
        ],
    )
    made = await stage.until_ready()
    assert made.status.instance_id is not None
    assert sdk.compute.get_server(made.status.instance_id).availability_zone == "az2"
    volumes = list(sdk.block_storage.volumes())
    assert {each.availability_zone for each in volumes} == {"nova"}
    attached = {each.name: each.attachments[0]["device"] for each in volumes}
    assert sorted(attached, key=attached.__getitem__) == ["a-root", "a-etcd", "a-logs"]
    addresses = [each.address for each in made.status.addresses if each.type == "InternalIP"]
    assert [address[:5] for address in addresses] == ["10.7.", "fd00:", "10.6."]

    await stage.delete()
    await stage.until_gone()
    sdk.network.delete_network(other)


async def test_no_valid_host_is_told_and_the_server_can_be_deleted(stage: Stage) -> None:
    await stage.secret()
    await stage.server(serverMetadata=[{"key": "windlass:spawn_error", "value": "abort"}])
    text = await stage.until_told("InstanceReady", "InstanceStateError")
    assert "fault" in text
    await stage.delete()
    await stage.until_gone()


async def test_a_volume_in_error_is_replaced_once_and_then_told(stage: Stage) -> None:
    await stage.secret()
    disk = {"name": "windlass:fail", "sizeGiB": 1, "storage": {"type": "Volume"}}
    await stage.server(additionalBlockDevices=[disk])
    text = await stage.until_told("InstanceReady", "InstanceCreateFailed")
    assert "could not be made, twice" in text
    assert len(list(stage.project.sdk.block_storage.volumes())) == 2
    await stage.delete()
    await stage.until_gone()
