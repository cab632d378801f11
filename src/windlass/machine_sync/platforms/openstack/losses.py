"""What an OpenStackMachine can say and the Machine API cannot: dropped, and told in warnings of ours."""

from collections.abc import Iterator
from typing import Any

from windlass.api import capo
from windlass.machine_sync.conversion.field_errors import Findings
from windlass.machine_sync.platforms.openstack.ports import is_network


def find_losses(spec: capo.OpenStackMachineSpec, found: Findings) -> None:
    """Add a loss for each field of `spec` that is set and dropped."""
    identity = spec.identity_ref
    fields: list[tuple[str, Any]] = [
        ("floatingIPPoolRef", spec.floating_ip_pool_ref),
        ("schedulerHintAdditionalProperties", spec.scheduler_hint_additional_properties),
    ]
    if identity is not None:
        fields.append(("identityRef.region", identity.region))
        if not identity.name:
            fields.append(("identityRef.cloudName", identity.cloud_name))
    for index, device in enumerate(spec.additional_block_devices):
        volume = device.storage.volume
        zone = volume.availability_zone if volume is not None else None
        if device.storage.type != "Volume":
            fields.append((f"additionalBlockDevices[{index}].storage.volume", volume))
        elif zone is not None and zone.from_ != "Name":
            fields.append((f"additionalBlockDevices[{index}].storage.volume.availabilityZone", zone))
    root_zone = spec.root_volume.availability_zone if spec.root_volume is not None else None
    if root_zone is not None and root_zone.from_ == "Machine":
        fields.append(("rootVolume.availabilityZone", root_zone))
    for index, port in enumerate(spec.ports):
        lost = _lost_of_network(port) if is_network(port) else _lost_of_port(port)
        fields += [(f"ports[{index}].{field}", value) for field, value in lost]
    for field, value in fields:
        # A switch that is off says something too.
        if value or value is False:
            found.lose(f"spec.{field}", value, by="the Machine API")


def _lost_of_network(port: capo.Port) -> Iterator[tuple[str, Any]]:
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


def _lost_of_port(port: capo.Port) -> Iterator[tuple[str, Any]]:
    for index, fixed_ip in enumerate(port.fixed_ips):
        if fixed_ip.subnet is not None and fixed_ip.subnet.filter is not None:
            yield f"fixedIPs[{index}].subnet.filter", fixed_ip.subnet.filter
