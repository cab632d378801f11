"""Reports what `networks` and `ports` of a provider spec ask for and a port of an OpenStackMachine cannot express.

`windlass.openstack.provider_spec_reading` makes the ports: one to one of `ports`, and those of `networks`. OpenShift's
conversion drops a network's options for its ports (vnicType, profile, portSecurity, noAllowedAddressPairs); here every
port of the network has them.
"""

from typing import Any, Final

from windlass.api import mapi_openstack
from windlass.machine_sync.conversion.field_errors import Findings, invalid, invalid_json
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.openstack.profile import CAPABILITIES, TRUSTED, examine_profile
from windlass.openstack.provider_spec_reading import Addresses, network_of

_IGNORED: Final = "networkId is ignored by MAPO, ignoring"
_ADDED: Final = "these and those of securityGroups, which Cluster API adds: name all of them here"
_ALONE: Final = "none, as in the Machine API: a load balancer of the user has the virtual addresses"


def examine_networks(networks: list[mapi_openstack.Network], found: Findings) -> None:
    """Add to `found` what is lost of `networks`, in order."""
    for index, network in enumerate(networks):
        path = f"{PATH}.networks[{index}]"
        if network.fixed_ip:
            detail = "fixedIp is ignored by MAPO, ignoring"
            found.warnings.append(invalid(f"{path}.fixedIP", network.fixed_ip, detail))
        named = network_of(network) is not None
        if not named and not network.subnets:
            # It names neither a network nor a subnet: it becomes no port.
            found.lose(path, network)
            continue
        for place, subnet in enumerate(network.subnets):
            _examine_subnet(f"{path}.subnets[{place}]", subnet, found)
            if named and subnet.port_security is not None:
                found.lose(f"{path}.subnets[{place}].portSecurity", subnet.port_security)
        _lost(path, network, found)
        examine_profile(f"{path}.profile", network.profile, found)
        _examine_filter(path, network, found)


def _examine_filter(path: str, network: mapi_openstack.Network, found: Findings) -> None:
    """Add what a reference to the network cannot have: a filter beside an ID."""
    source = network.filter
    network_id = network.uuid or source.id
    if network_id:
        for field, value in (
            ("id", source.id if source.id != network_id else ""),
            ("name", source.name),
            ("description", source.description),
            ("projectId", source.project_id),
            ("tenantId", source.tenant_id),
            ("tags", source.tags),
            ("tagsAny", source.tags_any),
            ("notTags", source.not_tags),
            ("notTagsAny", source.not_tags_any),
        ):
            if value:
                found.lose(f"{path}.filter.{field}", value)
    elif source.project_id and source.tenant_id not in ("", source.project_id):
        found.lose(f"{path}.filter.tenantId", source.tenant_id)


def _examine_subnet(path: str, subnet: mapi_openstack.Subnet, found: Findings) -> None:
    """Add a warning for fields that the Machine API ignores too, and a loss for filters that Cluster API lacks."""
    source = subnet.filter
    if source.network_id:
        found.warnings.append(invalid(f"{path}.filter.networkId", source.network_id, _IGNORED))
    for field, value in (
        ("id", source.id if subnet.uuid and source.id != subnet.uuid else ""),
        *(_beside_an_id(source) if subnet.uuid or source.id else ()),
        ("tenantId", source.tenant_id if source.project_id and source.tenant_id != source.project_id else ""),
        ("subnetpoolId", source.subnetpool_id),
        ("enableDhcp", source.enable_dhcp),
        ("limit", source.limit),
        ("marker", source.marker),
        ("sortKey", source.sort_key),
        ("sortDir", source.sort_dir),
    ):
        if value or value is False:
            found.lose(f"{path}.filter.{field}", value)


def _beside_an_id(source: mapi_openstack.SubnetFilter) -> tuple[tuple[str, Any], ...]:
    """What a subnet by ID cannot have in Cluster API."""
    return (
        ("name", source.name),
        ("description", source.description),
        ("projectId", source.project_id),
        ("tenantId", "" if source.project_id else source.tenant_id),
        ("ipVersion", source.ip_version),
        ("gateway_ip", source.gateway_ip),
        ("cidr", source.cidr),
        ("ipv6AddressMode", source.ipv6_address_mode),
        ("ipv6RaMode", source.ipv6_ra_mode),
        ("tags", source.tags),
        ("tagsAny", source.tags_any),
        ("notTags", source.not_tags),
        ("notTagsAny", source.not_tags_any),
    )


def _lost(path: str, network: mapi_openstack.Network, found: Findings) -> None:
    """Add a loss for each field of a network that Cluster API cannot express."""
    source = network.filter
    for field, value in (
        ("status", source.status),
        ("adminStateUp", source.admin_state_up),
        ("shared", source.shared),
        ("marker", source.marker),
        ("limit", source.limit),
        ("sortKey", source.sort_key),
        ("sortDir", source.sort_dir),
    ):
        if value or value is False:
            found.lose(f"{path}.filter.{field}", value)
    for key in sorted(network.profile):
        if key not in (CAPABILITIES, TRUSTED):
            found.lose(f"{path}.profile.{key}", network.profile[key])


def examine_ports(config: mapi_openstack.OpenstackProviderSpec, found: Findings, *, cluster: Addresses) -> None:
    """Add to `found` what is lost of the `ports`, in order."""
    of_machine = {group.uuid or group.filter.id or group.name or group.filter.name for group in config.security_groups}
    for index, port in enumerate(config.ports):
        path = f"{PATH}.ports[{index}]"
        _examine_port(path, port, found)
        if port.security_groups and port.port_security is not False and not of_machine <= set(port.security_groups):
            found.lose(f"{path}.securityGroups", port.security_groups, becomes=_ADDED)
        if port.allowed_address_pairs and cluster.alone:
            found.lose(f"{path}.allowedAddressPairs", port.allowed_address_pairs, becomes=_ALONE)


def _examine_port(path: str, port: mapi_openstack.Port, found: Findings) -> None:
    unsupported = [key for key in port.profile if key not in (CAPABILITIES, TRUSTED)]
    if unsupported:
        detail = "profile contains an unsupported key"
        found.errors.append(invalid_json(f"{path}.profile", port.profile, detail))
    if port.host_id:
        found.warnings.append(invalid(f"{path}.hostID", port.host_id, "hostID is ignored by MAPO, ignoring"))
    for field, value in (("projectID", port.project_id), ("tenantID", port.tenant_id)):
        if value:
            found.lose(f"{path}.{field}", value)
    if port.security_groups == []:
        # An empty list means no security groups; an absent list means those of the machine.
        found.lose(f"{path}.securityGroups", port.security_groups)
    examine_profile(f"{path}.profile", port.profile, found)
