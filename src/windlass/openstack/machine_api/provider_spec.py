"""Reads the provider spec of a Machine of the Machine API as the spec of a server.

    spec = instance_spec(machine, infrastructure)      # InstanceSpec, or all that is wrong with it

It goes by way of an OpenStackServer, so that a machine has the same server in both APIs. Rules that differ there:

| field | meaning |
|---|---|
| `image`, `rootVolume.sourceUUID` | the name of an image, despite its name; the volume's wins if there is a volume |
| `networks[]` with a network | one port, with an address on each of `subnets` |
| `networks[]` with `subnets` only | one port for each of them |
| `ports[]` | one port each, after those of `networks` |
| `noAllowedAddressPairs` | without it, ports of `networks` may have the virtual addresses of the cluster |
| a user-managed load balancer | nobody has the virtual addresses, so no port may have any other address than its own |
| `serverGroupID`, `serverGroupName` | the ID wins; a group that does not exist by name is created |
| `rootVolume`, `additionalBlockDevices` without a zone | in the zone of the server |

Source: `pkg/machine/convert.go` of openshift/machine-api-provider-openstack.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from windlass.api import capo, mapi, mapi_openstack
from windlass.api.capo_server import OpenStackServer, OpenStackServerSpec
from windlass.api.config import Infrastructure, OpenStackPlatformStatus
from windlass.api.mapi_openstack import OpenstackProviderSpec, SecretReference
from windlass.api.meta import ObjectMeta
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.instance.spec import InstanceSpec, Problem
from windlass.openstack.machine_api.constants import MACHINE_API_CLUSTER_LABEL
from windlass.openstack.server.spec import NO_TAG, is_tag
from windlass.openstack.server.spec import instance_spec as spec_of_server

KIND: Final = "OpenstackProviderSpec"
PROVIDER: Final = "cluster-api-provider-openstack"
"""A tag of all servers and ports, by which the installer finds them when it destroys a cluster."""
USER_MANAGED: Final = "UserManaged"
_PATH: Final = "spec.providerSpec.value"


def is_ours(machine: mapi.Machine) -> bool:
    """Whether the provider spec is one of OpenStack, as far as it says."""
    value = machine.spec.provider_spec.value
    return not isinstance(value, dict) or value.get("kind", KIND) in ("", KIND)


def provider_spec(machine: mapi.Machine) -> OpenstackProviderSpec | Problem:
    """The provider spec, or why it cannot be read. A null is an absent field, as Go has it."""
    try:
        return msgspec.convert(_without_nulls(machine.spec.provider_spec.value), OpenstackProviderSpec)
    except msgspec.ValidationError as error:
        return Problem("Invalid", _PATH, f"{_PATH} cannot be read: {error}")


def instance_spec(machine: mapi.Machine, infrastructure: Infrastructure | None) -> InstanceSpec | tuple[Problem, ...]:
    """The spec, or all that is wrong with it. `infrastructure` None: the cluster has no virtual addresses."""
    given = provider_spec(machine)
    if isinstance(given, Problem):
        return (given,)
    if problems := tuple(_problems(given, home=machine.metadata.namespace)):
        return problems
    status = infrastructure.status.platform_status if infrastructure is not None else None
    platform = (status.openstack if status is not None else None) or OpenStackPlatformStatus()
    cluster = f"{machine.metadata.namespace}-{machine.metadata.labels.get(MACHINE_API_CLUSTER_LABEL, '')}"
    server = OpenStackServer(
        metadata=ObjectMeta(name=machine.metadata.name, labels={CLUSTER_LABEL: cluster}),
        spec=_server_spec(given, platform, tags=[PROVIDER, cluster]),
    )
    return spec_of_server(server)


def _server_spec(
    given: OpenstackProviderSpec, platform: OpenStackPlatformStatus, *, tags: list[str]
) -> OpenStackServerSpec:
    balancer = platform.load_balancer
    alone = balancer is not None and balancer.type == USER_MANAGED
    addresses = [] if alone else [*platform.api_server_internal_ips, *platform.ingress_ips]
    of_networks = [port for network in given.networks for port in _network_ports(network, addresses)]
    root = given.root_volume
    return OpenStackServerSpec(
        image=capo.Image(filter=capo.ImageFilter(name=_image(given))),
        flavor=given.flavor,
        ssh_key_name=given.key_name,
        ports=[*of_networks, *(_port(each, alone=alone) for each in given.ports)],
        security_groups=[_security_group(each) for each in given.security_groups],
        availability_zone=given.availability_zone or None,
        config_drive=given.config_drive,
        root_volume=None
        if root is None
        else capo.RootVolume(
            size_gib=root.disk_size, type=root.volume_type, availability_zone=_zone(root.availability_zone)
        ),
        additional_block_devices=[_device(each) for each in given.additional_block_devices],
        server_group=_server_group(given),
        server_metadata=[capo.ServerMetadata(key=key, value=value) for key, value in given.server_metadata.items()],
        tags=_together(given.tags, tags),
        trunk=given.trunk,
    )


def foreign_secret(field: str, named: SecretReference | None, *, home: str) -> Problem | None:
    """Why the Secret that a field names is not read, if it is not in `home`, the namespace of the Machine: otherwise
    Machines would lend Secrets to people who may not read them."""
    if named is None or not named.name or named.namespace in ("", home):
        return None
    said = f"is {named.namespace!r}, but a Machine may only use Secrets of its own namespace, {home!r}"
    remedy = f"copy Secret {named.namespace}/{named.name} there, and leave namespace out"
    return _wrong(f"{field}.namespace", f"{said}: {remedy}")


def _problems(given: OpenstackProviderSpec, *, home: str) -> Iterator[Problem]:
    """What is wrong whatever the cloud says."""
    for field, named in (("cloudsSecret", given.clouds_secret), ("userDataSecret", given.user_data_secret)):
        if (foreign := foreign_secret(field, named, home=home)) is not None:
            yield foreign
    if not given.flavor:
        yield _wrong("flavor", "is empty: name a flavor")
    if not _image(given):
        yield _wrong("image", "is empty: name an image there, or in rootVolume.sourceUUID")
    if not given.networks and not given.ports:
        yield _wrong("networks", "is empty, and so is ports: name a network")
    for at, network in enumerate(given.networks):
        if _network(network) is None and not network.subnets:
            yield _wrong(f"networks[{at}]", "names neither a network nor a subnet: set uuid, filter or subnets")
        for place, subnet in enumerate(network.subnets):
            if _subnet(subnet) is None:
                yield _wrong(f"networks[{at}].subnets[{place}]", "names no subnet: set uuid or filter")
    for at, port in enumerate(given.ports):
        if not port.network_id:
            yield _wrong(f"ports[{at}].networkID", "is empty: name a network by its ID")
    for at, group in enumerate(given.security_groups):
        if _security_group(group) == _NO_GROUP:
            yield _wrong(f"securityGroups[{at}]", "names no security group: set uuid, name or filter")
    for at, tag in enumerate(given.tags):
        if not is_tag(tag):
            yield _wrong(f"tags[{at}]", f"is {tag!r}, {NO_TAG}")
    for at, device in enumerate(given.additional_block_devices):
        if device.storage.type not in ("Volume", "Local"):
            field = f"additionalBlockDevices[{at}].storage.type"
            yield _wrong(field, f"is {device.storage.type!r}: set it to Volume or Local")


def _wrong(field: str, text: str) -> Problem:
    return Problem("Invalid", field, f"{_PATH}.{field} {text}")


def _image(given: OpenstackProviderSpec) -> str:
    root = given.root_volume
    return (root.source_uuid if root is not None else "") or given.image


def _network_ports(network: mapi_openstack.Network, addresses: list[str]) -> Iterator[capo.Port]:
    pairs = [] if network.no_allowed_address_pairs else addresses
    common: dict[str, Any] = {
        "allowed_address_pairs": [capo.AddressPair(ip_address=each) for each in dict.fromkeys(pairs)],
        "vnic_type": network.vnic_type or None,
        "profile": _profile(network.profile),
    }
    target = _network(network)
    if target is not None:
        yield capo.Port(
            network=target,
            fixed_ips=[capo.FixedIP(subnet=_subnet(each)) for each in network.subnets],
            tags=_together(network.port_tags, *(each.port_tags for each in network.subnets)),
            disable_port_security=_off(network.port_security),
            **common,
        )
        return
    for subnet in network.subnets:
        yield capo.Port(
            fixed_ips=[capo.FixedIP(subnet=_subnet(subnet))],
            tags=_together(network.port_tags, subnet.port_tags),
            disable_port_security=_off(network.port_security if subnet.port_security is None else subnet.port_security),
            **common,
        )


def _port(port: mapi_openstack.Port, *, alone: bool) -> capo.Port:
    pairs = [] if alone else port.allowed_address_pairs
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
        ],
        vnic_type=port.vnic_type or None,
        profile=_profile(port.profile),
        disable_port_security=_off(port.port_security),
    )


def _fixed_ip(fixed: mapi_openstack.FixedIP) -> capo.FixedIP:
    subnet = capo.Subnet(id=fixed.subnet_id) if fixed.subnet_id else None
    return capo.FixedIP(subnet=subnet, ip_address=fixed.ip_address or None)


def _network(network: mapi_openstack.Network) -> capo.Network | None:
    """The network by ID if there is one, else by filter; None if there is neither."""
    by = network.filter
    if network.uuid or by.id:
        return capo.Network(id=network.uuid or by.id)
    found = capo.NetworkFilter(name=by.name, **_filter(by))
    return None if found == capo.NetworkFilter() else capo.Network(filter=found)


def _subnet(subnet: mapi_openstack.Subnet) -> capo.Subnet | None:
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
    return None if found == capo.SubnetFilter() else capo.Subnet(filter=found)


def _security_group(group: mapi_openstack.SecurityGroup) -> capo.SecurityGroup:
    by = group.filter
    if group.uuid or by.id:
        return capo.SecurityGroup(id=group.uuid or by.id)
    return capo.SecurityGroup(filter=capo.SecurityGroupFilter(name=group.name or by.name, **_filter(by)))


_NO_GROUP: Final = capo.SecurityGroup(filter=capo.SecurityGroupFilter())


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
    return capo.BindingProfile(
        ovs_hw_offload="switchdev" in profile.get("capabilities", ""), trusted_vf=profile.get("trusted") == "true"
    )


def _off(port_security: bool | None) -> bool | None:
    return None if port_security is None else not port_security


def _device(device: mapi_openstack.AdditionalBlockDevice) -> capo.AdditionalBlockDevice:
    volume = device.storage.volume or mapi_openstack.BlockDeviceVolume()
    storage = capo.BlockDeviceStorage(
        type=device.storage.type,
        volume=capo.BlockDeviceVolume(type=volume.type, availability_zone=_zone(volume.availability_zone)),
    )
    return capo.AdditionalBlockDevice(name=device.name, size_gib=device.size_gib, storage=storage)


def _zone(name: str) -> capo.VolumeAvailabilityZone:
    return capo.VolumeAvailabilityZone(from_="Name" if name else "Machine", name=name or None)


def _server_group(given: OpenstackProviderSpec) -> capo.ServerGroup | None:
    if given.server_group_id:
        return capo.ServerGroup(id=given.server_group_id)
    if given.server_group_name:
        return capo.ServerGroup(filter=capo.ServerGroupFilter(name=given.server_group_name))
    return None


def _together(*lists: list[str]) -> list[str]:
    return list(dict.fromkeys(each for some in lists for each in some))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
