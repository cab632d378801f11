"""What an OpenstackProviderSpec asks for, in the types of Cluster API's provider: read in one place, for both APIs.

The Machine API's controllers make a server from it, and conversion makes an OpenStackMachine. So a machine has the same
server in both APIs.

| field | meaning |
|---|---|
| `image`, `rootVolume.sourceUUID` | the name of an image, despite its name; the volume's wins if there is a volume |
| `networks[]` with a network | one port, with an address on each of `subnets` |
| `networks[]` with `subnets` only | one port for each of them |
| `ports[]` | one port each, after those of `networks` |
| `noAllowedAddressPairs` | without it, ports of `networks` may have the virtual addresses of the cluster |
| a user-managed load balancer | nobody has the virtual addresses, so no port may have any other address than its own |
| `serverGroupID`, `serverGroupName` | the ID wins |
| `rootVolume`, `additionalBlockDevices` without a zone | in the zone of the server, if the spec names that |
| an ID beside a filter, also as `filter.id` | the ID wins; the filter does not count |
| `tags` | those of the spec, then two by which the installer finds the servers of a cluster |

Pure, and total: what cannot be read is left out or empty. The Machine API's controllers refuse such specs before, and
conversion reports the fields.

Source: `pkg/machine/convert.go` of openshift/machine-api-provider-openstack.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from windlass.api import capo, mapi, mapi_openstack
from windlass.api.config import Infrastructure, OpenStackPlatformStatus
from windlass.api.mapi_openstack import OpenstackProviderSpec

PROVIDER: Final = "cluster-api-provider-openstack"
"""A tag of all servers and ports, by which the installer finds them when it destroys a cluster."""
USER_MANAGED: Final = "UserManaged"
MACHINE_API_CLUSTER_LABEL: Final = "machine.openshift.io/cluster-api-cluster"
"""The label of a Machine that names its cluster."""
OFFLOAD: Final = "switchdev"

_NO_NETWORK: Final = capo.NetworkFilter()
_NO_SUBNET: Final = capo.SubnetFilter()
_NO_PROFILE: Final = capo.BindingProfile()


class Addresses(Struct, frozen=True):
    """The virtual addresses of a cluster. `alone`: a load balancer of the user has them, and so has no port."""

    virtual: tuple[str, ...] = ()
    alone: bool = False


def addresses_of(infrastructure: Infrastructure | None) -> Addresses:
    """Those of the API and of ingress; none without an Infrastructure."""
    status = infrastructure.status.platform_status if infrastructure is not None else None
    platform = (status.openstack if status is not None else None) or OpenStackPlatformStatus()
    if platform.load_balancer is not None and platform.load_balancer.type == USER_MANAGED:
        return Addresses(alone=True)
    return Addresses(tuple(dict.fromkeys([*platform.api_server_internal_ips, *platform.ingress_ips])))


def cluster_tag(machine: mapi.Machine, infrastructure: Infrastructure | None, *, home: str) -> str:
    """The tag of the machine's cluster. `home` is the namespace of the machine."""
    name = infrastructure.status.infrastructure_name if infrastructure is not None else ""
    return f"{home}-{machine.metadata.labels.get(MACHINE_API_CLUSTER_LABEL, '') or name}"


def image(given: OpenstackProviderSpec) -> str:
    root = given.root_volume
    return (root.source_uuid if root is not None else "") or given.image


def tags(given: OpenstackProviderSpec, cluster: str) -> list[str]:
    """The tags of the server; the last two are its provider and its `cluster_tag`."""
    ours = [PROVIDER, cluster]
    return [*(tag for tag in dict.fromkeys(given.tags) if tag not in ours), *ours]


def without_added_tags(given: list[str]) -> list[str]:
    """The tags without the two that `tags` adds.

    >>> without_added_tags(["a", PROVIDER, "openshift-machine-api-shop-x7"])
    ['a']
    """
    return given[:-2] if given[-2:-1] == [PROVIDER] else given


def ports(given: OpenstackProviderSpec, cluster: Addresses) -> list[capo.Port]:
    """The ports in the order of the server's network interfaces."""
    of_networks = [port for network in given.networks for port in _network_ports(network, cluster)]
    return [*of_networks, *(_port(each, cluster) for each in given.ports)]


def root_volume(given: OpenstackProviderSpec) -> capo.RootVolume | None:
    root = given.root_volume
    if root is None:
        return None
    return capo.RootVolume(
        size_gib=root.disk_size, type=root.volume_type, availability_zone=_zone(given, root.availability_zone)
    )


def block_device(
    given: OpenstackProviderSpec, device: mapi_openstack.AdditionalBlockDevice
) -> capo.AdditionalBlockDevice:
    volume = None
    if device.storage.type == "Volume":
        source = device.storage.volume or mapi_openstack.BlockDeviceVolume()
        zone = _zone(given, source.availability_zone)
        volume = capo.BlockDeviceVolume(type=source.type, availability_zone=zone)
    storage = capo.BlockDeviceStorage(type=device.storage.type, volume=volume)
    return capo.AdditionalBlockDevice(name=device.name, size_gib=device.size_gib, storage=storage)


def server_group(given: OpenstackProviderSpec) -> capo.ServerGroup | None:
    if given.server_group_id:
        return capo.ServerGroup(id=given.server_group_id)
    if given.server_group_name:
        return capo.ServerGroup(filter=capo.ServerGroupFilter(name=given.server_group_name))
    return None


def server_metadata(given: OpenstackProviderSpec) -> list[capo.ServerMetadata]:
    return [capo.ServerMetadata(key=key, value=given.server_metadata[key]) for key in sorted(given.server_metadata)]


def security_group(group: mapi_openstack.SecurityGroup) -> capo.SecurityGroup:
    """By ID if there is one, else by filter, even an empty one."""
    by = group.filter
    if group.uuid or by.id:
        return capo.SecurityGroup(id=group.uuid or by.id)
    return capo.SecurityGroup(filter=capo.SecurityGroupFilter(name=group.name or by.name, **_filter(by)))


def network_of(network: mapi_openstack.Network) -> capo.Network | None:
    """By ID if there is one, else by filter; None if it names none."""
    by = network.filter
    if network.uuid or by.id:
        return capo.Network(id=network.uuid or by.id)
    found = capo.NetworkFilter(name=by.name, **_filter(by))
    return None if found == _NO_NETWORK else capo.Network(filter=found)


def subnet_of(subnet: mapi_openstack.Subnet) -> capo.Subnet | None:
    """By ID if there is one, else by filter; None if it names none."""
    by = subnet.filter
    if subnet.uuid or by.id:
        return capo.Subnet(id=subnet.uuid or by.id)
    found = capo.SubnetFilter(
        name=by.name,
        ip_version=by.ip_version,
        gateway_ip=by.gateway_ip,
        cidr=by.cidr,
        ipv6_address_mode=by.ipv6_address_mode,
        ipv6_ra_mode=by.ipv6_ra_mode,
        **_filter(by),
    )
    return None if found == _NO_SUBNET else capo.Subnet(filter=found)


def together(*lists: list[str]) -> list[str]:
    """All tags of all `lists`, each once, in order of first appearance: tags are a set.

    >>> together(["a", "b"], ["b", "c"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(tag for one in lists for tag in one))


def _network_ports(network: mapi_openstack.Network, cluster: Addresses) -> Iterator[capo.Port]:
    pairs: list[capo.AddressPair] | None = [capo.AddressPair(ip_address=each) for each in cluster.virtual] or None
    profile = _profile(network.profile)
    common: dict[str, Any] = {
        "allowed_address_pairs": [] if network.no_allowed_address_pairs else pairs,
        "vnic_type": network.vnic_type or None,
        "profile": None if profile == _NO_PROFILE else profile,
    }
    target = network_of(network)
    if target is not None:
        yield capo.Port(
            network=target,
            fixed_ips=[capo.FixedIP(subnet=subnet_of(each)) for each in network.subnets],
            tags=together(network.port_tags, *(each.port_tags for each in network.subnets)),
            disable_port_security=_off(network.port_security),
            **common,
        )
        return
    for subnet in network.subnets:
        found = subnet_of(subnet)
        yield capo.Port(
            fixed_ips=[] if found is None else [capo.FixedIP(subnet=found)],
            tags=together(network.port_tags, subnet.port_tags),
            disable_port_security=_off(network.port_security if subnet.port_security is None else subnet.port_security),
            **common,
        )


def _port(port: mapi_openstack.Port, cluster: Addresses) -> capo.Port:
    pairs = [] if cluster.alone else port.allowed_address_pairs
    return capo.Port(
        network=capo.Network(id=port.network_id),
        description=port.description,
        name_suffix=port.name_suffix,
        fixed_ips=[_fixed_ip(each) for each in port.fixed_ips],
        security_groups=[capo.SecurityGroup(id=each) for each in port.security_groups or ()],
        tags=port.tags,
        trunk=port.trunk,
        admin_state_up=port.admin_state_up,
        mac_address=port.mac_address or None,
        allowed_address_pairs=[
            capo.AddressPair(ip_address=each.ip_address, mac_address=each.mac_address or None) for each in pairs
        ]
        or None,
        vnic_type=port.vnic_type or None,
        profile=_profile(port.profile),
        disable_port_security=_off(port.port_security),
    )


def _fixed_ip(fixed: mapi_openstack.FixedIP) -> capo.FixedIP:
    subnet = capo.Subnet(id=fixed.subnet_id) if fixed.subnet_id else None
    return capo.FixedIP(subnet=subnet, ip_address=fixed.ip_address or None)


def _filter(
    by: mapi_openstack.NetworkFilter | mapi_openstack.SubnetFilter | mapi_openstack.SecurityGroupFilter,
) -> dict[str, Any]:
    """The fields that all filters of Neutron have. Tags are one text joined by commas."""
    return {
        "description": by.description,
        "project_id": by.project_id or by.tenant_id,
        **{
            name: [tag for tag in getattr(by, name).split(",") if tag]
            for name in ("tags", "tags_any", "not_tags", "not_tags_any")
        },
    }


def _profile(profile: dict[str, str]) -> capo.BindingProfile:
    capabilities, trusted = profile.get("capabilities"), profile.get("trusted")
    return capo.BindingProfile(
        ovs_hw_offload=None if capabilities is None else OFFLOAD in capabilities,
        trusted_vf=None if trusted is None else trusted == "true",
    )


def _off(port_security: bool | None) -> bool | None:
    return None if port_security is None else not port_security


def _zone(given: OpenstackProviderSpec, name: str) -> capo.VolumeAvailabilityZone | None:
    if name:
        return capo.VolumeAvailabilityZone(from_="Name", name=name)
    return capo.VolumeAvailabilityZone(from_="Machine") if given.availability_zone else None
