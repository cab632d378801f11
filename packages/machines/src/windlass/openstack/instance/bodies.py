"""The bodies of the requests that create something, from what was resolved."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from windlass.openstack.cloud.marks import described, with_mark
from windlass.openstack.cloud.resources import Volume
from windlass.openstack.instance.spec import InstanceSpec, LocalDisk, Resolved, ResolvedPort, ResolvedVolume

TRUSTED: Final = "port-trusted-vif"
"""The Neutron extension that makes `trusted` an attribute of a port."""

Body = dict[str, Any]


def port_body(port: ResolvedPort, *, mark: str, extensions: frozenset[str]) -> Body:
    """A port. What the user did not choose is left to Neutron, except for the name and the description."""
    profile: Body = {}
    if port.switchdev:
        profile["capabilities"] = ["switchdev"]
    if port.trusted and TRUSTED not in extensions:
        profile["trusted"] = True
    chosen = {
        "fixed_ips": [_address(each.subnet_id, each.address) for each in port.addresses],
        "security_groups": list(port.groups),
        "allowed_address_pairs": [dict(pair) for pair in port.address_pairs],
        "binding:profile": profile,
    }
    return {
        **port.options,
        "name": port.name,
        "network_id": port.network_id,
        "description": described(port.description, mark),
        **{name: value for name, value in chosen.items() if value},
        **({} if port.port_security is None else {"port_security_enabled": port.port_security}),
        **({"trusted": True} if port.trusted and TRUSTED in extensions else {}),
    }


def trunk_body(port: ResolvedPort, port_id: str, *, mark: str) -> Body:
    """The trunk of a port; it has the port's name."""
    return {"name": port.name, "port_id": port_id, "description": described(port.description, mark)}


def volume_body(volume: ResolvedVolume, resolved: Resolved, *, server: str, mark: str) -> Body:
    """A volume of the server of that name. The root volume is made from the image."""
    purpose = "Additional block device" if volume.tag else "Root volume"
    chosen = {
        "imageRef": "" if volume.tag else resolved.image_id,
        "volume_type": volume.type,
        "availability_zone": volume.zone,
    }
    return {
        "name": volume.name,
        "size": volume.size,
        "description": f"{purpose} for {server}",
        "metadata": with_mark({}, mark),
        **{name: value for name, value in chosen.items() if value},
    }


def server_body(
    spec: InstanceSpec, resolved: Resolved, *, ports: Sequence[str], volumes: Mapping[str, Volume], mark: str
) -> Body:
    """A server on `ports` (IDs, in order), with `volumes` by name. User data and hints travel beside it."""
    chosen = {
        "imageRef": "" if spec.root else resolved.image_id,
        "key_name": spec.key_name,
        "availability_zone": spec.zone,
        "tags": list(spec.tags),
    }
    return {
        "name": spec.name,
        "flavorRef": resolved.flavor_id,
        "networks": [{"port": port} for port in ports],
        "block_device_mapping_v2": list(_block_devices(spec, resolved, volumes)),
        "config_drive": spec.config_drive,
        "metadata": with_mark(spec.metadata, mark),
        **{name: value for name, value in chosen.items() if value},
    }


def hints(spec: InstanceSpec, resolved: Resolved) -> Body:
    """The scheduler hints, with the types that the user gave them."""
    return {**spec.hints, **({"group": resolved.server_group_id} if resolved.server_group_id else {})}


def microversion(spec: InstanceSpec, volumes: Mapping[str, Volume]) -> str:
    """The oldest microversion of Nova that takes the body: 2.53 has tags, 2.60 volumes that are attached repeatedly."""
    if any(volume.multiattach for volume in volumes.values()):
        return "2.60"
    return "2.53" if spec.tags or spec.disks else "2.38"


def _block_devices(spec: InstanceSpec, resolved: Resolved, volumes: Mapping[str, Volume]) -> Iterator[Body]:
    by_tag = {volume.tag: volumes[volume.name].id for volume in resolved.volumes}
    if spec.root is None:
        yield _device("image", "local", 0, uuid=resolved.image_id)
    else:
        yield _device("volume", "volume", 0, uuid=by_tag[""])
    for disk in spec.disks:
        if isinstance(disk, LocalDisk):
            yield _device("blank", "local", -1, volume_size=disk.size, tag=disk.name)
        else:
            yield _device("volume", "volume", -1, uuid=by_tag[disk.name], tag=disk.name)


def _device(source: str, destination: str, boot_index: int, **more: Any) -> Body:
    return {
        "source_type": source,
        "destination_type": destination,
        "boot_index": boot_index,
        "delete_on_termination": True,
        **more,
    }


def _address(subnet: str, address: str) -> Body:
    return {name: value for name, value in (("subnet_id", subnet), ("ip_address", address)) if value}
