"""Converts the `networks` of a provider spec to ports of an OpenStackMachine.

A network with an ID or a filter becomes one port with a fixed IP on each of its subnets. A network that only lists
subnets becomes one port for each subnet.

OpenShift drops a network's options for its ports (vnicType, profile, portSecurity, noAllowedAddressPairs); here every
port of the network has them. A port has the tags of its network and of its subnets, each once.
"""

from typing import Any, Final

from windlass.api import capo, mapi_openstack
from windlass.machine_sync.conversion.field_errors import Findings, invalid
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.openstack.profile import CAPABILITIES, TRUSTED, binding_profile
from windlass.machine_sync.platforms.openstack.provider_spec_ports import DEFAULT_SECURITY
from windlass.machine_sync.platforms.openstack.tags import split, together

_NO_PROFILE: Final = capo.BindingProfile()
_NO_NETWORK_FILTER: Final = mapi_openstack.NetworkFilter()
_ANY_SUBNET: Final = capo.SubnetFilter()
_IGNORED: Final = "networkId is ignored by MAPO, ignoring"


def network_ports(networks: list[mapi_openstack.Network], found: Findings) -> list[capo.Port]:
    """The ports of all `networks`, in order. Adds to `found`."""
    ports: list[capo.Port] = []
    for index, network in enumerate(networks):
        path = f"{PATH}.networks[{index}]"
        if network.fixed_ip:
            detail = "fixedIp is ignored by MAPO, ignoring"
            found.warnings.append(invalid(f"{path}.fixedIP", network.fixed_ip, detail))
        if _is_nowhere(network):
            found.lose(path, network)
            continue
        for place, subnet in enumerate(network.subnets):
            _examine_subnet(f"{path}.subnets[{place}]", subnet, found)
        _lost(path, network, found)
        profile = _profile(path, network, found)
        target = _network(path, network, found)
        if target is None:
            _examine_security(path, network, network.subnets, found)
            ports += [_subnet_port(network, subnet, profile) for subnet in network.subnets]
        else:
            _examine_security(path, network, [], found)
            ports.append(_network_port(path, network, found, target=target, profile=profile))
    return ports


def _is_nowhere(network: mapi_openstack.Network) -> bool:
    """Whether it names neither a network nor a subnet: then it becomes no port."""
    return not network.uuid and not network.subnets and network.filter == _NO_NETWORK_FILTER


def _profile(path: str, network: mapi_openstack.Network, found: Findings) -> capo.BindingProfile | None:
    """The binding profile; None for Cluster API's default if nothing is set."""
    profile = binding_profile(f"{path}.profile", network.profile, found)
    return None if profile == _NO_PROFILE else profile


def _network(path: str, network: mapi_openstack.Network, found: Findings) -> capo.Network | None:
    """The reference to the network, or None if the provider spec has none."""
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
        return capo.Network(id=network_id)
    if source == _NO_NETWORK_FILTER:
        return None
    if source.project_id and source.tenant_id not in ("", source.project_id):
        found.lose(f"{path}.filter.tenantId", source.tenant_id)
    return capo.Network(
        filter=capo.NetworkFilter(
            name=source.name,
            description=source.description,
            project_id=source.project_id or source.tenant_id,
            tags=split(source.tags),
            tags_any=split(source.tags_any),
            not_tags=split(source.not_tags),
            not_tags_any=split(source.not_tags_any),
        )
    )


def _network_port(
    path: str,
    network: mapi_openstack.Network,
    found: Findings,
    *,
    target: capo.Network,
    profile: capo.BindingProfile | None,
) -> capo.Port:
    for place, subnet in enumerate(network.subnets):
        if subnet.port_security is not None:
            found.lose(f"{path}.subnets[{place}].portSecurity", subnet.port_security)
    return capo.Port(
        network=target,
        fixed_ips=[_fixed_ip(subnet) for subnet in network.subnets],
        tags=together(network.port_tags, *(subnet.port_tags for subnet in network.subnets)),
        allowed_address_pairs=[] if network.no_allowed_address_pairs else None,
        vnic_type=network.vnic_type or None,
        profile=profile,
        disable_port_security=True if network.port_security is False else None,
    )


def _subnet_port(
    network: mapi_openstack.Network, subnet: mapi_openstack.Subnet, profile: capo.BindingProfile | None
) -> capo.Port:
    """The port of one subnet. Its port security wins over that of the network."""
    fixed_ip = _fixed_ip(subnet)
    secured = network.port_security if subnet.port_security is None else subnet.port_security
    return capo.Port(
        fixed_ips=[] if fixed_ip.subnet is None else [fixed_ip],
        tags=together(network.port_tags, subnet.port_tags),
        allowed_address_pairs=[] if network.no_allowed_address_pairs else None,
        vnic_type=network.vnic_type or None,
        profile=profile,
        disable_port_security=True if secured is False else None,
    )


def _fixed_ip(subnet: mapi_openstack.Subnet) -> capo.FixedIP:
    """An address on the subnet by ID if there is one, else by filter; on any subnet if there is neither.

    OpenShift writes ID and filter, one of them empty: the CRD admits one of them, and neither may be empty.
    """
    subnet_id, by = subnet.uuid or subnet.filter.id, _subnet_filter(subnet.filter)
    if subnet_id:
        return capo.FixedIP(subnet=capo.Subnet(id=subnet_id))
    return capo.FixedIP(subnet=None if by == _ANY_SUBNET else capo.Subnet(filter=by))


def _subnet_filter(source: mapi_openstack.SubnetFilter) -> capo.SubnetFilter:
    return capo.SubnetFilter(
        name=source.name,
        description=source.description,
        project_id=source.project_id or source.tenant_id,
        ip_version=source.ip_version,
        gateway_ip=source.gateway_ip,
        cidr=source.cidr,
        ipv6_address_mode=source.ipv6_address_mode,
        ipv6_ra_mode=source.ipv6_ra_mode,
        tags=split(source.tags),
        tags_any=split(source.tags_any),
        not_tags=split(source.not_tags),
        not_tags_any=split(source.not_tags_any),
    )


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


def _examine_security(
    path: str, network: mapi_openstack.Network, overriding: list[mapi_openstack.Subnet], found: Findings
) -> None:
    """Add a loss for port security that is switched on: Cluster API can only switch it off, or leave it as it is.

    Each of the `overriding` subnets has a port of its own, and its setting wins over that of the network.
    """
    if network.port_security and not (overriding and all(one.port_security is not None for one in overriding)):
        found.lose(f"{path}.portSecurity", True, becomes=DEFAULT_SECURITY)
    for place, subnet in enumerate(overriding):
        if subnet.port_security:
            found.lose(f"{path}.subnets[{place}].portSecurity", True, becomes=DEFAULT_SECURITY)


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
