"""Converts ports: one list in Cluster API, `networks` and `ports` in the Machine API.

The Machine API's `ports` name their network and subnets by ID only; its `networks` may use filters. So a port goes to
`networks` if its network is a filter, or if it has no network but its first fixed IP names a subnet; else to `ports`.
Both lists keep the order of the source.

The Machine API connects `networks` before `ports`. So a port that comes before one of `networks` goes there too, if
nothing is set that only `ports` can express; if something is, the order changes, with a loss.

A port of `networks` has the virtual addresses of the cluster as address pairs, or none: `noAllowedAddressPairs`.

A network by ID with subnets by filter fits neither rule. Such a port goes to `networks` if nothing is set that only
`ports` can express. OpenShift's conversion makes such ports with an empty ID beside each filter; they were networks
too.
"""

from typing import Final

from windlass.api import capo, mapi_openstack
from windlass.machine_sync.conversion.field_errors import FieldError, invalid_json, required
from windlass.openstack.provider_spec_reading import Addresses

_BY_ID: Final = "MAPO only supports defining subnets via IDs"
_NO_NETWORK_FILTER: Final = mapi_openstack.NetworkFilter()
_NO_SUBNET: Final = mapi_openstack.Subnet()
_NO_SUBNET_FILTER: Final = mapi_openstack.SubnetFilter()
_ANY_SUBNET: Final = capo.SubnetFilter()


def networks_and_ports(
    ports: list[capo.Port], errors: list[FieldError], *, warnings: list[FieldError], cluster: Addresses | None
) -> tuple[list[mapi_openstack.Network], list[mapi_openstack.Port]]:
    """`ports` as networks and ports of the Machine API. Adds to `errors` and `warnings`.

    `cluster` None: its virtual addresses are not known.
    """
    networks: list[mapi_openstack.Network] = []
    converted: list[mapi_openstack.Port] = []
    places = network_places(ports, cluster)
    for index, port in enumerate(ports):
        if index in places:
            networks.append(_network(port, cluster))
        else:
            one = _port(f"spec.ports[{index}]", port, errors, warnings=warnings)
            if one is not None:
                converted.append(one)
    return networks, converted


def network_places(ports: list[capo.Port], cluster: Addresses | None) -> frozenset[int]:
    """The indexes of the ports that go to `networks`."""
    must = [index for index, port in enumerate(ports) if _is_network(port, cluster)]
    before = range(must[-1] if must and cluster is not None else 0)
    return frozenset(must).union(index for index in before if _can_be_network(ports[index], cluster))


def has_addresses_of(port: capo.Port, cluster: Addresses | None) -> bool:
    """Whether `networks` can express its address pairs. They may be those of a `cluster` that is not known."""
    pairs = port.allowed_address_pairs or []
    if any(pair.mac_address for pair in pairs):
        return False
    return not pairs or cluster is None or {pair.ip_address for pair in pairs} == set(cluster.virtual)


def _is_network(port: capo.Port, cluster: Addresses | None) -> bool:
    if port.network is not None:
        return port.network.filter is not None or _has_subnets_of_network(port, cluster)
    return bool(port.fixed_ips) and port.fixed_ips[0].subnet is not None


def _can_be_network(port: capo.Port, cluster: Addresses | None) -> bool:
    named = port.network is not None and bool(port.network.id)
    return named and not _only_ports_can_express(port, cluster)


def _has_subnets_of_network(port: capo.Port, cluster: Addresses | None) -> bool:
    subnets = [one.subnet for one in port.fixed_ips if one.subnet is not None]
    filtered = [one for one in subnets if not one.id and one.filter not in (None, _ANY_SUBNET)]
    if any(one.id is not None for one in filtered):
        return True
    return bool(filtered) and not _only_ports_can_express(port, cluster)


def _only_ports_can_express(port: capo.Port, cluster: Addresses | None) -> bool:
    texts = (port.description, port.name_suffix, port.mac_address, *(one.ip_address for one in port.fixed_ips))
    switches = (port.trunk, port.admin_state_up, port.host_id, port.propagate_uplink_status, port.value_specs)
    others = bool(port.security_groups) or not has_addresses_of(port, cluster)
    return any(texts) or others or any(one is not None for one in switches)


def _has_no_addresses(port: capo.Port, cluster: Addresses | None) -> bool:
    """`noAllowedAddressPairs`: the port lacks an address that the Machine API would give it."""
    pairs = port.allowed_address_pairs
    if cluster is None or not cluster.virtual:
        return pairs == []
    return not set(cluster.virtual) <= {pair.ip_address for pair in pairs or ()}


def _network(port: capo.Port, cluster: Addresses | None) -> mapi_openstack.Network:
    """Dropped: description, nameSuffix, trunk, adminStateUp, macAddress, securityGroups, other allowedAddressPairs, the
    IP addresses of fixedIPs, hostID, propagateUplinkStatus and valueSpecs."""
    network_id = port.network.id if port.network is not None else None
    source = port.network.filter if port.network is not None and network_id is None else None
    return mapi_openstack.Network(
        uuid=network_id or "",
        filter=_NO_NETWORK_FILTER
        if source is None
        else mapi_openstack.NetworkFilter(
            name=source.name,
            description=source.description,
            project_id=source.project_id,
            tags=",".join(source.tags),
            tags_any=",".join(source.tags_any),
            not_tags=",".join(source.not_tags),
            not_tags_any=",".join(source.not_tags_any),
        ),
        subnets=[_NO_SUBNET if one.subnet is None else _subnet(one.subnet, port.tags) for one in port.fixed_ips],
        no_allowed_address_pairs=_has_no_addresses(port, cluster),
        port_tags=port.tags,
        vnic_type=port.vnic_type or "",
        profile=_profile(port.profile),
        port_security=_port_security(port),
    )


def _subnet(subnet: capo.Subnet, port_tags: list[str]) -> mapi_openstack.Subnet:
    source = subnet.filter
    return mapi_openstack.Subnet(
        uuid=subnet.id or "",
        filter=_NO_SUBNET_FILTER
        if source is None
        else mapi_openstack.SubnetFilter(
            name=source.name,
            description=source.description,
            project_id=source.project_id,
            ip_version=source.ip_version,
            gateway_ip=source.gateway_ip,
            cidr=source.cidr,
            ipv6_address_mode=source.ipv6_address_mode,
            ipv6_ra_mode=source.ipv6_ra_mode,
            tags=",".join(source.tags),
            tags_any=",".join(source.tags_any),
            not_tags=",".join(source.not_tags),
            not_tags_any=",".join(source.not_tags_any),
        ),
        port_tags=port_tags,
    )


def _port(
    path: str, port: capo.Port, errors: list[FieldError], *, warnings: list[FieldError]
) -> mapi_openstack.Port | None:
    if port.network is None or port.network.id is None:
        errors.append(required(f"{path}.network", "A port must have a reference to a network"))
        return None
    fixed_ips = _fixed_ips(f"{path}.fixedIPs", port.fixed_ips, errors)
    for name, value in (
        ("hostID", port.host_id),
        ("propagateUplinkStatus", port.propagate_uplink_status),
        ("valueSpecs", port.value_specs),
    ):
        if value is not None:
            detail = f"The {name} field has no equivalent in MAPO and is not supported"
            warnings.append(invalid_json(f"{path}.{name}", value, detail))
    return mapi_openstack.Port(
        network_id=port.network.id,
        name_suffix=port.name_suffix or "",
        description=port.description or "",
        admin_state_up=port.admin_state_up,
        mac_address=port.mac_address or "",
        fixed_ips=fixed_ips,
        security_groups=_port_security_groups(f"{path}.securityGroups", port.security_groups, errors),
        allowed_address_pairs=[
            mapi_openstack.AddressPair(ip_address=pair.ip_address, mac_address=pair.mac_address or "")
            for pair in port.allowed_address_pairs or ()
        ],
        tags=port.tags,
        vnic_type=port.vnic_type or "",
        profile=_profile(port.profile),
        port_security=_port_security(port),
        trunk=port.trunk,
    )


def _fixed_ips(path: str, fixed_ips: list[capo.FixedIP], errors: list[FieldError]) -> list[mapi_openstack.FixedIP]:
    converted: list[mapi_openstack.FixedIP] = []
    for index, one in enumerate(fixed_ips):
        subnet = one.subnet
        if subnet is None or subnet.id is None:
            errors.append(required(f"{path}[{index}].subnet.id", _BY_ID))
        elif subnet.filter is not None and subnet.filter.name:
            errors.append(invalid_json(f"{path}[{index}].subnet.filter", subnet.filter, _BY_ID))
        else:
            converted.append(mapi_openstack.FixedIP(subnet_id=subnet.id, ip_address=one.ip_address or ""))
    return converted


def _port_security_groups(path: str, groups: list[capo.SecurityGroup], errors: list[FieldError]) -> list[str] | None:
    """The IDs of the port's security groups, None for none."""
    ids: list[str] = []
    for index, group in enumerate(groups):
        if group.id is None or group.filter is not None:
            detail = "MAPO only supports defining port security groups by ID"
            errors.append(invalid_json(f"{path}[{index}]", group, detail))
        else:
            ids.append(group.id)
    return ids or None


def _profile(profile: capo.BindingProfile | None) -> dict[str, str]:
    converted: dict[str, str] = {}
    if profile is not None and profile.ovs_hw_offload:
        converted["capabilities"] = "switchdev"
    if profile is not None and profile.trusted_vf:
        converted["trusted"] = "true"
    return converted


def _port_security(port: capo.Port) -> bool | None:
    return None if port.disable_port_security is None else not port.disable_port_security
