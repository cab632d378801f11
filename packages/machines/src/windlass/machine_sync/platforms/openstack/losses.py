"""Warns about fields of an OpenStackMachine that the Machine API cannot express and that conversion drops."""

from collections.abc import Iterator
from typing import Any, Final

from windlass.api import capo
from windlass.machine_sync.conversion.field_errors import Findings
from windlass.machine_sync.platforms.openstack.ports import has_addresses_of, network_places
from windlass.openstack.provider_spec_reading import Addresses

_BY: Final = "the Machine API"
_SECRET: Final = "Secret"
_OF_CLUSTER: Final = "OpenStackCluster.spec.identityRef"
_ZONE: Final = "that of the server: name one, or leave failureDomain of the Machine empty"
_VIRTUAL: Final = "the virtual addresses that the cluster's Infrastructure names, or none: add the Infrastructure"
_ALONE: Final = "none: a load balancer of the user has the virtual addresses"
_LATER: Final = (
    "a later network interface, after those of `networks`: name the networks of the ports behind it by ID, or set "
    "nothing on it that only a port by ID can have"
)
_ONLY: Final = "the only groups of the port: name those of spec.securityGroups here too"

Fields = Iterator[tuple[str, Any]]
"""Paths and values, including fields that are not set."""


def find_losses(
    spec: capo.OpenStackMachineSpec, found: Findings, *, zone: str = "", cluster: Addresses | None = None
) -> None:
    """Add a loss for each field of `spec` that is set and dropped, and for what the Machine API adds.

    `zone` is that of the server. `cluster` None: its virtual addresses are not known.
    """
    if spec.identity_ref is not None:
        _examine_kind(spec.identity_ref, found)
    networks = network_places(spec.ports, cluster)
    for field, value in _lost(spec, networks):
        # `False` is a value too.
        if value or value is False:
            found.lose(f"spec.{field}", value, by=_BY)
    _examine_ports(spec, found, networks=networks, cluster=cluster)
    if zone and spec.root_volume is not None and spec.root_volume.availability_zone is None:
        found.lose("spec.rootVolume.availabilityZone", None, by=_BY, becomes=_ZONE)
    for index, device in enumerate(spec.additional_block_devices):
        volume = device.storage.volume
        if zone and device.storage.type == "Volume" and volume is not None and volume.availability_zone is None:
            path = f"spec.additionalBlockDevices[{index}].storage.volume.availabilityZone"
            found.lose(path, None, by=_BY, becomes=_ZONE)


def _examine_ports(
    spec: capo.OpenStackMachineSpec, found: Findings, *, networks: frozenset[int], cluster: Addresses | None
) -> None:
    last = max(networks, default=-1)
    for index, port in enumerate(spec.ports):
        path, pairs = f"spec.ports[{index}]", port.allowed_address_pairs
        if index in networks:
            if pairs and cluster is None:
                found.lose(f"{path}.allowedAddressPairs", pairs, by=_BY, becomes=_VIRTUAL)
            elif not has_addresses_of(port, cluster):
                found.lose(f"{path}.allowedAddressPairs", pairs, by=_BY)
            continue
        if pairs and cluster is not None and cluster.alone:
            found.lose(f"{path}.allowedAddressPairs", pairs, by=_BY, becomes=_ALONE)
        elif pairs == []:
            # An empty list: the Machine API can express it for a network, but not for a port.
            found.lose(f"{path}.allowedAddressPairs", pairs, by=_BY)
        if index < last:
            found.lose(path, port, by=_BY, becomes=_LATER)
        groups = [group for group in spec.security_groups if group not in port.security_groups]
        if port.security_groups and groups and not port.disable_port_security:
            found.lose(f"{path}.securityGroups", port.security_groups, by=_BY, becomes=_ONLY)


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


def _lost(spec: capo.OpenStackMachineSpec, networks: frozenset[int]) -> Fields:
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
        elif zone is not None and zone.from_ not in ("Name", "Machine"):
            yield f"additionalBlockDevices[{index}].storage.volume.availabilityZone", zone
    if spec.server_group is not None and spec.server_group.id is not None:
        yield "serverGroup.filter", spec.server_group.filter
    for index, port in enumerate(spec.ports):
        for field, value in _lost_of_network(port) if index in networks else _lost_of_port(port):
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
    for index, fixed_ip in enumerate(port.fixed_ips):
        yield f"fixedIPs[{index}].ipAddress", fixed_ip.ip_address
    yield "hostID", port.host_id
    yield "valueSpecs", port.value_specs


def _lost_of_port(port: capo.Port) -> Fields:
    for index, fixed_ip in enumerate(port.fixed_ips):
        if fixed_ip.subnet is not None and fixed_ip.subnet.filter is not None:
            yield f"fixedIPs[{index}].subnet.filter", fixed_ip.subnet.filter
