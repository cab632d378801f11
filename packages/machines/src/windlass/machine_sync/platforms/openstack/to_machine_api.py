"""Converts an OpenStackMachine and its OpenStackCluster to an OpenstackProviderSpec.

The Machine API's provider finds flavors and images by name only, so a reference by ID is an error. Fields that it does
not have are mostly `losses`. The spec's providerID is no loss: the Machine has it too. A machine without credentials of
its own has those of its cluster, and there is no cluster in the Machine API: so the provider spec names them.
"""

from typing import Final

from windlass.api import capi, capo, capo_cluster, mapi_openstack
from windlass.api.config import Infrastructure
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json, required
from windlass.machine_sync.conversion.machine_to_machine_api import ProviderPart
from windlass.machine_sync.conversion.metadata import INSTANCE_TYPE_LABEL, ZONE_LABEL
from windlass.machine_sync.platforms.openstack.losses import find_losses, inherited
from windlass.machine_sync.platforms.openstack.ports import networks_and_ports
from windlass.openstack.provider_spec_reading import Addresses, addresses_of, without_added_tags

_BY_NAME: Final = "MAPO only supports defining images by names"
_NO_METADATA: Final = ObjectMeta()
_NO_GROUP_FILTER: Final = mapi_openstack.SecurityGroupFilter()


def provider_part(
    machine: capi.Machine,
    infra_machine: capo.OpenStackMachine,
    infra_cluster: capo_cluster.OpenStackCluster,
    infrastructure: Infrastructure | None,
) -> ProviderPart:
    """The OpenStack-specific part of the Machine API Machine. Of the cluster only the credentials are read."""
    spec, found = infra_machine.spec, Findings()
    addresses = None if infrastructure is None else addresses_of(infrastructure)
    find_losses(spec, found, zone=machine.spec.failure_domain, cluster=addresses)
    identity = spec.identity_ref if spec.identity_ref is not None and spec.identity_ref.name else None
    if identity is None:
        identity = inherited(infra_cluster.spec.identity_ref, found)
    return ProviderPart(
        spec=_provider_spec(
            machine.spec, spec, found.errors, identity=identity, warnings=found.warnings, cluster=addresses
        ),
        labels=(
            (INSTANCE_TYPE_LABEL, spec.flavor or ""),
            (ZONE_LABEL, machine.spec.failure_domain),
        ),
        instance_state=infra_machine.status.instance_state or "",
        found=found,
    )


def _provider_spec(
    machine: capi.MachineSpec,
    spec: capo.OpenStackMachineSpec,
    errors: list[FieldError],
    *,
    identity: capo.IdentityReference | None,
    warnings: list[FieldError],
    cluster: Addresses | None,
) -> mapi_openstack.OpenstackProviderSpec:
    # The order of these calls is the order in which errors and warnings are reported.
    devices = [_block_device(index, device, errors) for index, device in enumerate(spec.additional_block_devices)]
    image = _image(spec.image, errors, warnings=warnings)
    networks, ports = networks_and_ports(spec.ports, errors, warnings=warnings, cluster=cluster)
    groups = [_security_group(index, group, errors) for index, group in enumerate(spec.security_groups)]
    group_id, group_name = _server_group(spec.server_group, errors)
    if spec.flavor_id is not None:
        detail = "MAPO only supports defining flavors via names"
        errors.append(invalid_json("spec.flavorID", spec.flavor_id, detail))

    user_data = machine.bootstrap.data_secret_name
    return mapi_openstack.OpenstackProviderSpec(
        kind="OpenstackProviderSpec",
        api_version="machine.openshift.io/v1alpha1",
        metadata=_NO_METADATA,
        clouds_secret=None if identity is None else mapi_openstack.SecretReference(name=identity.name),
        cloud_name="" if identity is None else identity.cloud_name,
        flavor=spec.flavor or "",
        image=image,
        key_name=spec.ssh_key_name,
        networks=networks,
        ports=ports,
        availability_zone=machine.failure_domain,
        security_groups=groups,
        user_data_secret=None if user_data is None else mapi_openstack.SecretReference(name=user_data),
        trunk=spec.trunk,
        tags=without_added_tags(spec.tags),
        server_metadata={item.key: item.value for item in spec.server_metadata},
        config_drive=spec.config_drive,
        root_volume=None if spec.root_volume is None else _root_volume(spec.root_volume, image),
        additional_block_devices=devices,
        server_group_id=group_id,
        server_group_name=group_name,
    )


def _block_device(
    index: int, device: capo.AdditionalBlockDevice, errors: list[FieldError]
) -> mapi_openstack.AdditionalBlockDevice:
    """Without a name of a zone, the volume is in the zone of the server: zone `Machine`."""
    volume = None
    if device.storage.type == "Volume":
        source = device.storage.volume
        if source is None:
            detail = "The volume field must be populated if type is volume"
            errors.append(invalid_json(f"spec.additionalBlockDevices[{index}]", device, detail))
        else:
            zone = source.availability_zone
            volume = mapi_openstack.BlockDeviceVolume(
                type=source.type,
                availability_zone=(zone.name or "") if zone is not None and zone.from_ == "Name" else "",
            )
    return mapi_openstack.AdditionalBlockDevice(
        name=device.name,
        size_gib=device.size_gib,
        storage=mapi_openstack.BlockDeviceStorage(type=device.storage.type, volume=volume),
    )


def _image(image: capo.Image, errors: list[FieldError], *, warnings: list[FieldError]) -> str:
    """The name of the image."""
    if image.id is not None:
        errors.append(invalid("spec.image.id", image.id, _BY_NAME))
    elif image.image_ref is not None:
        errors.append(invalid_json("spec.image.imageRef", image.image_ref, _BY_NAME))
    elif image.filter is None or image.filter.name is None:
        errors.append(required("spec.image.filter", _BY_NAME))
    else:
        if image.filter.tags is not None:
            detail = "MAPO does not support filtering image by tags"
            warnings.append(invalid_json("spec.image.filter.tags", image.filter.tags, detail))
        return image.filter.name
    return ""


def _security_group(index: int, group: capo.SecurityGroup, errors: list[FieldError]) -> mapi_openstack.SecurityGroup:
    source = group.filter
    if source is None:
        if group.id is None:
            detail = "A security group must be referenced by a UUID or filter"
            errors.append(invalid_json(f"spec.securityGroups[{index}]", group, detail))
        return mapi_openstack.SecurityGroup(uuid=group.id or "", filter=_NO_GROUP_FILTER)
    return mapi_openstack.SecurityGroup(
        uuid=group.id or "",
        name=source.name,
        filter=mapi_openstack.SecurityGroupFilter(
            description=source.description,
            project_id=source.project_id,
            tags=",".join(source.tags),
            tags_any=",".join(source.tags_any),
            not_tags=",".join(source.not_tags),
            not_tags_any=",".join(source.not_tags_any),
        ),
    )


def _server_group(group: capo.ServerGroup | None, errors: list[FieldError]) -> tuple[str, str]:
    """ID and name of the server group; only one of them is set."""
    if group is None:
        return "", ""
    if group.id is not None:
        return group.id, ""
    if group.filter is not None and group.filter.name is not None:
        return "", group.filter.name
    errors.append(invalid_json("spec.serverGroup", group, "A server group must be referenced by a UUID or filter"))
    return "", ""


def _root_volume(volume: capo.RootVolume, image: str) -> mapi_openstack.RootVolume:
    """The Machine API takes the image of a volume from the volume."""
    zone = volume.availability_zone
    return mapi_openstack.RootVolume(
        source_uuid=image,
        volume_type=volume.type,
        disk_size=volume.size_gib,
        availability_zone=(zone.name or "") if zone is not None else "",
    )
