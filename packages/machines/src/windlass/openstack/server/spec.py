"""An OpenStackServer's spec as an `InstanceSpec`, which the instance core understands.

Fields that are not supported, or that say nothing, are `Problem`s: sentences with the field and the remedy. Those that
contradict each other are found by `windlass.openstack.instance.resolve`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from windlass.api import capo
from windlass.api.capo_server import OpenStackServer, ResolvedPort
from windlass.openstack import filters
from windlass.openstack.cloud.query import Query
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.instance.spec import FixedAddress, InstanceSpec, LocalDisk, PortSpec, Problem, VolumeSpec
from windlass.openstack.server.image import REFERRED, name_of

ATTRIBUTES: Final = {
    "admin_state_up": "admin_state_up",
    "mac_address": "mac_address",
    "host_id": "binding:host_id",
    "vnic_type": "binding:vnic_type",
    "propagate_uplink_status": "propagate_uplink_status",
}
"""Fields of a port that are attributes of Neutron; all other attributes are `valueSpecs`."""
NO_TAG: Final = "but Nova takes tags of 1 to 60 characters without comma and slash: correct it"
"""The end of a sentence about a tag that is none."""
_TAG: Final = re.compile(r"[^,/]{1,60}")
"""The schema `tag` in `parameter_types.py` of Nova."""
_NOWHERE: Final = Query("image", id="(none)")
"""Stands for a query that the spec lacks; the problem is told before it is asked."""


def instance_spec(server: OpenStackServer) -> InstanceSpec | tuple[Problem, ...]:
    """The spec, or all that is wrong with it."""
    if problems := tuple(_problems(server)):
        return problems
    spec = server.spec
    return InstanceSpec(
        name=server.metadata.name,
        image=REFERRED if name_of(server) else filters.image_query(spec.image) or _NOWHERE,
        flavor=filters.flavor_query(id=spec.flavor_id, name=spec.flavor) or _NOWHERE,
        ports=tuple(map(_port, spec.ports)),
        groups=_groups(spec.security_groups),
        key_name=spec.ssh_key_name,
        metadata={each.key: each.value for each in spec.server_metadata},
        config_drive=bool(spec.config_drive),
        zone=spec.availability_zone or "",
        root=_volume("root", spec.root_volume.size_gib, spec.root_volume.type, spec.root_volume.availability_zone)
        if spec.root_volume is not None and spec.root_volume.size_gib > 0
        else None,
        disks=tuple(map(_disk, spec.additional_block_devices)),
        server_group=filters.server_group_query(spec.server_group),
        tags=tuple(spec.tags),
        trunk=bool(spec.trunk),
        hints={each.name: _hint(each.value) for each in spec.scheduler_hint_additional_properties},
        cluster=server.metadata.labels.get(CLUSTER_LABEL, ""),
    )


def is_tag(text: str) -> bool:
    """Whether Nova takes it as a tag of a server. Neutron is not so strict."""
    return _TAG.fullmatch(text) is not None


def _problems(server: OpenStackServer) -> Iterator[Problem]:
    spec = server.spec
    if spec.floating_ip_pool_ref is not None and not spec.floating_ip_pool_ref.api_group:
        yield _invalid("floatingIPPoolRef.apiGroup", "is missing: name the API group of the pool")
    if not name_of(server) and filters.image_query(spec.image) is None:
        yield _invalid("image", "names no image: set id, filter.name, filter.tags or imageRef.name")
    if filters.flavor_query(id=spec.flavor_id, name=spec.flavor) is None:
        yield _invalid("flavor", "is empty, and so is flavorID: set one of them")
    of_ports = ((f"ports[{place}].securityGroups", port.security_groups) for place, port in enumerate(spec.ports))
    for field, groups in (*of_ports, ("securityGroups", spec.security_groups)):
        for at, group in enumerate(groups):
            if filters.security_group_query(group) is None:
                yield _invalid(f"{field}[{at}]", "names no security group: set id or a filter")
    for at, tag in enumerate(spec.tags):
        if not is_tag(tag):
            yield _invalid(f"tags[{at}]", f"is {tag!r}, {NO_TAG} here, or in the OpenStackCluster")
    if spec.server_group is not None and filters.server_group_query(spec.server_group) is None:
        yield _invalid("serverGroup", "names no server group: set id or filter.name")
    for place, device in enumerate(spec.additional_block_devices):
        if device.storage.type not in ("Volume", "Local"):
            field = f"additionalBlockDevices[{place}].storage.type"
            yield _invalid(field, f"is {device.storage.type!r}: set it to Volume or Local")


def _invalid(field: str, text: str) -> Problem:
    return Problem("Invalid", field, f"spec.{field} {text}")


def _port(port: capo.Port) -> PortSpec:
    return PortSpec(
        suffix=port.name_suffix or "",
        network=filters.network_query(port.network),
        addresses=tuple(map(_address, port.fixed_ips)),
        groups=_groups(port.security_groups) or None,
        trunk=port.trunk,
        **plain(port),
    )


def plain(port: capo.Port | ResolvedPort) -> dict[str, Any]:
    """The fields of a `PortSpec` or a resolved port that name nothing in the cloud."""
    profile = port.profile
    extra = {each.key: each.value for each in port.value_specs or ()}
    given = {name: value for field, name in ATTRIBUTES.items() if (value := getattr(port, field)) is not None}
    return {
        "description": port.description or "",
        "tags": tuple(port.tags),
        "port_security": None if port.disable_port_security is None else not port.disable_port_security,
        "address_pairs": tuple(map(_pair, port.allowed_address_pairs or ())),
        "switchdev": bool(profile and profile.ovs_hw_offload),
        "trusted": bool(profile and profile.trusted_vf),
        "options": {**extra, **given},
    }


def _address(fixed: capo.FixedIP) -> FixedAddress:
    return FixedAddress(filters.subnet_query(fixed.subnet), fixed.ip_address or "")


def _pair(pair: capo.AddressPair) -> dict[str, str]:
    return {"ip_address": pair.ip_address, **({"mac_address": pair.mac_address} if pair.mac_address else {})}


def _groups(groups: Sequence[capo.SecurityGroup]) -> tuple[Query, ...]:
    return tuple(query for group in groups if (query := filters.security_group_query(group)) is not None)


def _volume(name: str, size: int, kind: str, zone: capo.VolumeAvailabilityZone | None) -> VolumeSpec:
    of_server = zone is not None and zone.from_ == "Machine"
    named = zone.name or "" if zone is not None and not of_server else ""
    return VolumeSpec(name=name, size=size, type=kind, zone=named, zone_of_server=of_server)


def _disk(device: capo.AdditionalBlockDevice) -> VolumeSpec | LocalDisk:
    if device.storage.type == "Local":
        return LocalDisk(name=device.name, size=device.size_gib)
    volume = device.storage.volume
    return _volume(
        device.name, device.size_gib, volume.type if volume else "", volume.availability_zone if volume else None
    )


def _hint(value: capo.SchedulerHintValue) -> bool | int | str:
    match value.type:
        case "Bool":
            return bool(value.bool_)
        case "Number":
            return value.number or 0
    return value.string or ""
