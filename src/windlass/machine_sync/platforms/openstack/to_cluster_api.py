"""Converts an OpenstackProviderSpec to an OpenStackMachine."""

from typing import Any, Final

from windlass.api import capo, mapi, mapi_openstack
from windlass.api.config import Infrastructure
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.constants import MACHINE_API_NAMESPACE
from windlass.machine_sync.conversion.field_errors import Findings, invalid, required
from windlass.machine_sync.conversion.machine_to_cluster_api import InfraMachinePart
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.openstack.network_ports import network_ports
from windlass.machine_sync.platforms.openstack.provider_spec_ports import ports
from windlass.machine_sync.platforms.openstack.tags import split

_NO_METADATA: Final = ObjectMeta()
_NO_GROUP_FILTER: Final = mapi_openstack.SecurityGroupFilter()


def infra_machine_part(
    machine: mapi.Machine, config: mapi_openstack.OpenstackProviderSpec, infrastructure: Infrastructure | None
) -> InfraMachinePart:
    """The OpenStackMachine, and the OpenStack-specific fields of the Cluster API Machine."""
    found = Findings()
    secret = config.user_data_secret
    return InfraMachinePart(
        spec=_spec(config, found, home=machine.metadata.namespace or MACHINE_API_NAMESPACE),
        found=found,
        failure_domain=config.availability_zone,
        user_data_secret=secret.name if secret is not None else "",
    )


def _spec(config: mapi_openstack.OpenstackProviderSpec, found: Findings, *, home: str) -> capo.OpenStackMachineSpec:
    # The order of these calls is the order in which errors and warnings are reported.
    all_ports = [*ports(config.ports, found), *network_ports(config.networks, found)]
    devices = _block_devices(config.additional_block_devices, found)
    root_volume = None if config.root_volume is None else _root_volume(config.root_volume, found)
    groups = [
        _security_group(f"{PATH}.securityGroups[{index}]", group, found)
        for index, group in enumerate(config.security_groups)
    ]

    _lost(config, found, home=home)
    secret = config.clouds_secret
    return capo.OpenStackMachineSpec(
        flavor=config.flavor,
        image=capo.Image(filter=capo.ImageFilter(name=config.image)),
        ssh_key_name=config.key_name,
        ports=all_ports,
        security_groups=groups,
        trunk=config.trunk,
        tags=config.tags,
        server_metadata=[
            capo.ServerMetadata(key=key, value=config.server_metadata[key]) for key in sorted(config.server_metadata)
        ],
        config_drive=config.config_drive,
        root_volume=root_volume,
        additional_block_devices=devices,
        server_group=_server_group(config),
        identity_ref=capo.IdentityReference(type="Secret", name=secret.name, cloud_name=config.cloud_name)
        if secret is not None and secret.name
        else None,
    )


def _block_devices(
    devices: list[mapi_openstack.AdditionalBlockDevice], found: Findings
) -> list[capo.AdditionalBlockDevice]:
    converted: list[capo.AdditionalBlockDevice] = []
    for index, device in enumerate(devices):
        path = f"{PATH}.additionalBlockDevices[{index}]"
        source = device.storage.volume
        volume: capo.BlockDeviceVolume | None = None
        if device.storage.type == "Volume":
            if source is None:
                found.errors.append(required(f"{path}.volume", "volume is required, but is missing"))
                continue
            volume = capo.BlockDeviceVolume(type=source.type, availability_zone=_zone(source.availability_zone))
        elif source is not None:
            found.lose(f"{path}.storage.volume", source)
        converted.append(
            capo.AdditionalBlockDevice(
                name=device.name,
                size_gib=device.size_gib,
                storage=capo.BlockDeviceStorage(type=device.storage.type, volume=volume),
            )
        )
    return converted


def _root_volume(volume: mapi_openstack.RootVolume, found: Findings) -> capo.RootVolume:
    path = f"{PATH}.rootVolume"
    for field, value in (("deviceType", volume.device_type), ("sourceType", volume.source_type)):
        if value:
            detail = f"{field} is silently ignored by MAPO and will not be converted"
            found.warnings.append(invalid(f"{path}.{field}", value, detail))
    if volume.source_uuid:
        detail = "sourceUUID is superseded by spec.image in MAPO and will be ignored here"
        found.warnings.append(invalid(f"{path}.sourceUUID", volume.source_uuid, detail))
    return capo.RootVolume(
        size_gib=volume.disk_size, type=volume.volume_type, availability_zone=_zone(volume.availability_zone)
    )


def _zone(name: str) -> capo.VolumeAvailabilityZone | None:
    """OpenShift also writes a zone without a name, for block devices: the CRD refuses it."""
    return capo.VolumeAvailabilityZone(from_="Name", name=name) if name else None


def _security_group(path: str, group: mapi_openstack.SecurityGroup, found: Findings) -> capo.SecurityGroup:
    """The group by ID if there is one, else by filter, even an empty one."""
    source = group.filter
    if group.uuid:
        if group.name:
            found.lose(f"{path}.name", group.name)
        if source != _NO_GROUP_FILTER:
            found.lose(f"{path}.filter", source)
        return capo.SecurityGroup(id=group.uuid)
    for field, value in (
        ("id", source.id),
        ("name", source.name if group.name and source.name != group.name else ""),
        ("tenantId", source.tenant_id),
        ("limit", source.limit),
        ("marker", source.marker),
        ("sortKey", source.sort_key),
        ("sortDir", source.sort_dir),
    ):
        if value:
            found.lose(f"{path}.filter.{field}", value)
    return capo.SecurityGroup(
        filter=capo.SecurityGroupFilter(
            name=group.name or source.name,
            description=source.description,
            project_id=source.project_id,
            tags=split(source.tags),
            tags_any=split(source.tags_any),
            not_tags=split(source.not_tags),
            not_tags_any=split(source.not_tags_any),
        )
    )


def _server_group(config: mapi_openstack.OpenstackProviderSpec) -> capo.ServerGroup | None:
    """The ID wins over the name."""
    if config.server_group_id:
        return capo.ServerGroup(id=config.server_group_id)
    if config.server_group_name:
        return capo.ServerGroup(filter=capo.ServerGroupFilter(name=config.server_group_name))
    return None


def _lost(config: mapi_openstack.OpenstackProviderSpec, found: Findings, *, home: str) -> None:
    """Add a loss for each field that is set and has no place in an OpenStackMachine.

    Secrets are referred to by name. A Secret in `home`, the namespace of the machine, has a counterpart in the
    namespace of Cluster API; a Secret of another namespace has none.
    """
    cloud = config.clouds_secret
    user_data = config.user_data_secret
    fields: tuple[tuple[str, Any], ...] = (
        ("cloudName", config.cloud_name if cloud is None or not cloud.name else ""),
        ("cloudsSecret.namespace", _foreign(cloud, home=home)),
        ("userDataSecret.namespace", _foreign(user_data, home=home)),
        ("serverGroupName", config.server_group_name if config.server_group_id else ""),
        ("sshUserName", config.ssh_user_name),
        ("floatingIP", config.floating_ip),
        ("primarySubnet", config.primary_subnet),
    )
    for field, value in fields:
        if value:
            found.lose(f"{PATH}.{field}", value)
    if config.metadata != _NO_METADATA:
        found.lose(f"{PATH}.metadata", config.metadata)


def _foreign(secret: mapi_openstack.SecretReference | None, *, home: str) -> str:
    return secret.namespace if secret is not None and secret.namespace != home else ""
