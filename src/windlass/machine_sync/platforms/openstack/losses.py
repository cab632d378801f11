"""Warns about fields of an OpenStackMachine that the Machine API cannot express and that conversion drops."""

from collections.abc import Iterator
from typing import Any, Final

from windlass.api import capo
from windlass.machine_sync.conversion.field_errors import Findings
from windlass.machine_sync.platforms.openstack.ports import is_network

_BY: Final = "the Machine API"
_SECRET: Final = "Secret"
_OF_CLUSTER: Final = "OpenStackCluster.spec.identityRef"

Fields = Iterator[tuple[str, Any]]
"""Paths and values, including fields that are not set."""


def find_losses(spec: capo.OpenStackMachineSpec, found: Findings) -> None:
    """Add a loss for each field of `spec` that is set and dropped."""
    if spec.identity_ref is not None:
        _examine_kind(spec.identity_ref, found)
    for field, value in _lost(spec):
        # `False` is a value too.
        if value or value is False:
            found.lose(f"spec.{field}", value, by=_BY)
    for index, port in enumerate(spec.ports):
        if port.allowed_address_pairs == [] and not is_network(port):
            # An empty list: the Machine API can express it for a network, but not for a port.
            found.lose(f"spec.ports[{index}].allowedAddressPairs", port.allowed_address_pairs, by=_BY)


def inherited(identity: capo.IdentityReference | None, found: Findings) -> capo.IdentityReference | None:
    """The credentials of the cluster, for a machine that names none; None if the Machine API cannot have them."""
    if identity is None or not identity.name:
        return None
    if identity.type not in ("", _SECRET):
        becomes = f"no credentials: name a {_SECRET} in identityRef of the machine"
        found.lose(f"{_OF_CLUSTER}.type", identity.type, by=_BY, becomes=becomes)
        return None
    if identity.region:
        found.lose(f"{_OF_CLUSTER}.region", identity.region, by=_BY)
    return identity


def _examine_kind(identity: capo.IdentityReference, found: Findings) -> None:
    """The Machine API takes credentials from Secrets only. A Secret of the same name holds other credentials."""
    if identity.type not in ("", _SECRET):
        becomes = f"{_SECRET}: by this name it refers to other credentials, or to none"
        found.lose("spec.identityRef.type", identity.type, by=_BY, becomes=becomes)


def _lost(spec: capo.OpenStackMachineSpec) -> Fields:
    yield "floatingIPPoolRef", spec.floating_ip_pool_ref
    yield "schedulerHintAdditionalProperties", spec.scheduler_hint_additional_properties
    identity = spec.identity_ref
    if identity is not None:
        yield "identityRef.region", identity.region
        if not identity.name:
            yield "identityRef.cloudName", identity.cloud_name
    for index, device in enumerate(spec.additional_block_devices):
        volume = device.storage.volume
        zone = volume.availability_zone if volume is not None else None
        if device.storage.type != "Volume":
            yield f"additionalBlockDevices[{index}].storage.volume", volume
        elif zone is not None and zone.from_ != "Name":
            yield f"additionalBlockDevices[{index}].storage.volume.availabilityZone", zone
    root_zone = spec.root_volume.availability_zone if spec.root_volume is not None else None
    if root_zone is not None and root_zone.from_ == "Machine":
        yield "rootVolume.availabilityZone", root_zone
    if spec.server_group is not None and spec.server_group.id is not None:
        yield "serverGroup.filter", spec.server_group.filter
    for index, port in enumerate(spec.ports):
        for field, value in _lost_of_network(port) if is_network(port) else _lost_of_port(port):
            yield f"ports[{index}].{field}", value


def _lost_of_network(port: capo.Port) -> Fields:
    if port.network is not None and port.network.id is not None:
        yield "network.filter", port.network.filter
    yield "description", port.description
    yield "nameSuffix", port.name_suffix
    yield "trunk", port.trunk
    yield "adminStateUp", port.admin_state_up
    yield "propagateUplinkStatus", port.propagate_uplink_status
    yield "macAddress", port.mac_address
    yield "securityGroups", port.security_groups
    yield "allowedAddressPairs", port.allowed_address_pairs
    for index, fixed_ip in enumerate(port.fixed_ips):
        yield f"fixedIPs[{index}].ipAddress", fixed_ip.ip_address
    yield "hostID", port.host_id
    yield "valueSpecs", port.value_specs


def _lost_of_port(port: capo.Port) -> Fields:
    for index, fixed_ip in enumerate(port.fixed_ips):
        if fixed_ip.subnet is not None and fixed_ip.subnet.filter is not None:
            yield f"fixedIPs[{index}].subnet.filter", fixed_ip.subnet.filter
