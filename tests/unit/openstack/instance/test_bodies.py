"""What is sent for a port, a trunk, a volume and a server."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import CreateServer, Intent
from windlass.openstack.cloud.resources import Volume
from windlass.openstack.instance.bodies import hints, microversion, port_body, server_body, trunk_body, volume_body
from windlass.openstack.instance.spec import (
    InstanceSpec,
    LocalDisk,
    Resolved,
    ResolvedAddress,
    ResolvedPort,
    ResolvedVolume,
    VolumeSpec,
)

NO_EXTENSIONS: frozenset[str] = frozenset()
TRUSTED = frozenset({"port-trusted-vif"})
SPEC = InstanceSpec(name="w", image=Query("image", id="i"), flavor=Query("flavor", id="f"))
RESOLVED = Resolved(image_id="i", flavor_id="f", ports=(ResolvedPort(name="w-0", network_id="lan"),))
MINIMAL = {"name": "w-0", "network_id": "lan", "description": "windlass-owner=m"}

ROOT = ResolvedVolume(name="w-root", size=20, type="ssd", zone="az1")
ETCD = ResolvedVolume(name="w-etcd", size=5, tag="etcd")
WITH_ROOT = replace(SPEC, root=VolumeSpec(name="root", size=20))
WITH_DISKS = replace(WITH_ROOT, disks=(VolumeSpec(name="etcd", size=5), LocalDisk(name="tmp", size=3)))
WITH_VOLUMES = replace(RESOLVED, volumes=(ROOT, ETCD))
VOLUMES = {"w-root": Volume(id="v1", name="w-root"), "w-etcd": Volume(id="v2", name="w-etcd")}

FROM_IMAGE = {
    "source_type": "image",
    "destination_type": "local",
    "boot_index": 0,
    "delete_on_termination": True,
    "uuid": "i",
}
FROM_VOLUME = {**FROM_IMAGE, "source_type": "volume", "destination_type": "volume", "uuid": "v1"}


@pytest.mark.parametrize(
    ("port", "extensions", "more"),
    [
        pytest.param({}, NO_EXTENSIONS, {}, id="minimal"),
        pytest.param(
            {
                "addresses": (
                    ResolvedAddress("nodes", "10.0.0.9"),
                    ResolvedAddress("nodes"),
                    ResolvedAddress("", "::9"),
                ),
                "groups": ("g",),
                "port_security": True,
                "address_pairs": ({"ip_address": "10.0.0.100", "mac_address": "fa:16:3e:0:0:1"},),
                "switchdev": True,
                "trusted": True,
                "options": {"admin_state_up": False, "binding:host_id": "h", "binding:vnic_type": "direct"},
            },
            NO_EXTENSIONS,
            {
                "fixed_ips": [
                    {"subnet_id": "nodes", "ip_address": "10.0.0.9"},
                    {"subnet_id": "nodes"},
                    {"ip_address": "::9"},
                ],
                "security_groups": ["g"],
                "port_security_enabled": True,
                "allowed_address_pairs": [{"ip_address": "10.0.0.100", "mac_address": "fa:16:3e:0:0:1"}],
                "binding:profile": {"capabilities": ["switchdev"], "trusted": True},
                "admin_state_up": False,
                "binding:host_id": "h",
                "binding:vnic_type": "direct",
            },
            id="all options",
        ),
        pytest.param({"trusted": True}, TRUSTED, {"trusted": True}, id="with the extension"),
        pytest.param({"trusted": True}, NO_EXTENSIONS, {"binding:profile": {"trusted": True}}, id="without"),
        pytest.param({"port_security": False}, NO_EXTENSIONS, {"port_security_enabled": False}, id="security off"),
        pytest.param(
            {"description": "mine"},
            NO_EXTENSIONS,
            {"description": "mine windlass-owner=m"},
            id="the user's description",
        ),
        pytest.param({"options": {"name": "stolen"}}, NO_EXTENSIONS, {}, id="options overwrite nothing"),
    ],
)
def test_a_port_is_sent_with(port: dict[str, Any], extensions: frozenset[str], more: dict[str, Any]) -> None:
    wanted = ResolvedPort(name="w-0", network_id="lan", **port)
    assert port_body(wanted, mark="m", extensions=extensions) == {**MINIMAL, **more}


def test_a_trunk_has_the_name_of_its_port_and_the_mark() -> None:
    [port] = RESOLVED.ports
    assert trunk_body(port, "p", mark="m") == {"name": "w-0", "port_id": "p", "description": "windlass-owner=m"}


@pytest.mark.parametrize(
    ("volume", "body"),
    [
        pytest.param(
            ROOT,
            {
                "name": "w-root",
                "size": 20,
                "description": "Root volume for w",
                "metadata": {MARK: "m"},
                "imageRef": "i",
                "volume_type": "ssd",
                "availability_zone": "az1",
            },
            id="root",
        ),
        pytest.param(
            ETCD,
            {
                "name": "w-etcd",
                "size": 5,
                "description": "Additional block device for w",
                "metadata": {MARK: "m"},
            },
            id="extra",
        ),
    ],
)
def test_a_volume_is_sent_with(volume: ResolvedVolume, body: dict[str, Any]) -> None:
    assert volume_body(volume, WITH_VOLUMES, server="w", mark="m") == body


def test_a_server_boots_from_its_image_with_one_network_per_port() -> None:
    assert server_body(SPEC, RESOLVED, ports=("p0", "p1"), volumes={}, mark="m") == {
        "name": "w",
        "imageRef": "i",
        "flavorRef": "f",
        "networks": [{"port": "p0"}, {"port": "p1"}],
        "block_device_mapping_v2": [FROM_IMAGE],
        "config_drive": False,
        "metadata": {MARK: "m"},
    }


def test_all_options_of_a_server_are_sent() -> None:
    spec = replace(SPEC, key_name="k", zone="az1", tags=("a",), config_drive=True, metadata={"role": "worker"})
    body = server_body(spec, RESOLVED, ports=("p0",), volumes={}, mark="m")
    options = {name: body[name] for name in ("key_name", "availability_zone", "tags", "config_drive", "metadata")}
    assert options == {
        "key_name": "k",
        "availability_zone": "az1",
        "tags": ["a"],
        "config_drive": True,
        "metadata": {"role": "worker", MARK: "m"},
    }


def test_a_server_with_a_root_volume_has_no_image() -> None:
    body = server_body(WITH_ROOT, WITH_VOLUMES, ports=("p0",), volumes=VOLUMES, mark="m")
    assert "imageRef" not in body
    assert body["block_device_mapping_v2"] == [FROM_VOLUME]


def test_disks_follow_the_root_in_order_with_their_names_as_tags() -> None:
    body = server_body(WITH_DISKS, WITH_VOLUMES, ports=("p0",), volumes=VOLUMES, mark="m")
    assert body["block_device_mapping_v2"] == [
        FROM_VOLUME,
        {**FROM_VOLUME, "boot_index": -1, "uuid": "v2", "tag": "etcd"},
        {
            "source_type": "blank",
            "destination_type": "local",
            "boot_index": -1,
            "delete_on_termination": True,
            "volume_size": 3,
            "tag": "tmp",
        },
    ]


@pytest.mark.parametrize(
    ("spec", "volumes", "version"),
    [
        pytest.param(SPEC, {}, "2.38", id="base"),
        pytest.param(WITH_ROOT, {"w-root": Volume()}, "2.38", id="root volume"),
        pytest.param(replace(SPEC, tags=("a",)), {}, "2.53", id="tags"),
        pytest.param(WITH_DISKS, VOLUMES, "2.53", id="disks"),
        pytest.param(WITH_ROOT, {"w-root": Volume(multiattach=True)}, "2.60", id="multiattach"),
    ],
)
def test_the_microversion_is_the_oldest_that_takes_the_body(
    spec: InstanceSpec, volumes: dict[str, Volume], version: str
) -> None:
    assert microversion(spec, volumes) == version


@pytest.mark.parametrize(
    ("given", "group", "sent"),
    [
        pytest.param({}, "", {}, id="none"),
        pytest.param({}, "n", {"group": "n"}, id="server group"),
        pytest.param({"b": True, "n": 3, "s": "x"}, "n", {"b": True, "n": 3, "s": "x", "group": "n"}, id="types stay"),
    ],
)
def test_scheduler_hints_keep_their_types(given: dict[str, Any], group: str, sent: dict[str, Any]) -> None:
    found = hints(replace(SPEC, hints=given), replace(RESOLVED, server_group_id=group))
    assert found == sent
    assert [type(value) for value in found.values()] == [type(value) for value in sent.values()]


def test_hints_and_user_data_are_sent_beside_the_server() -> None:
    request = CreateServer(
        project="p", intent=Intent("m"), body={"name": "w"}, user_data="Zm9v", hints={"group": "n"}, microversion="2.38"
    )
    assert request.http.body == {
        "server": {"name": "w", "user_data": "Zm9v"},
        "os:scheduler_hints": {"group": "n"},
    }
