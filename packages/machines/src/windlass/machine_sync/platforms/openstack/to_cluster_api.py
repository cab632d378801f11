"""Converts an OpenstackProviderSpec to an OpenStackMachine.

`windlass.openstack.provider_spec_reading` says what it means, for the Machine API's controllers too. Here are the
fields around it, and what an OpenStackMachine cannot express.
"""

from typing import Any, Final

from msgspec.structs import replace

from windlass.api import capo, capo_cluster, mapi, mapi_openstack
from windlass.api.config import Infrastructure
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.constants import MACHINE_API_NAMESPACE
from windlass.machine_sync.conversion.field_errors import Findings, invalid, required
from windlass.machine_sync.conversion.machine_to_cluster_api import InfraMachinePart
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.openstack.network_losses import examine_networks, examine_ports
from windlass.openstack import provider_spec_reading as reading

_NO_METADATA: Final = ObjectMeta()
_NO_GROUP_FILTER: Final = mapi_openstack.SecurityGroupFilter()
_GROUP: Final = "a reference: Cluster API creates no server group, so create it if there is none of this name"


def infra_machine_part(
    machine: mapi.Machine,
    config: mapi_openstack.OpenstackProviderSpec,
    infrastructure: Infrastructure | None,
    infra_cluster: capo_cluster.OpenStackCluster | None,
) -> InfraMachinePart:
    """The OpenStackMachine, and the OpenStack-specific fields of the Cluster API Machine."""
    found = Findings()
    home = machine.metadata.namespace or MACHINE_API_NAMESPACE
    addresses = reading.addresses_of(infrastructure)
    _examine(config, found, home=home, addresses=addresses, made=bool(machine.spec.provider_id))
    secret = config.user_data_secret
    return InfraMachinePart(
        spec=_spec(config, addresses, tag=reading.cluster_tag(machine, infrastructure, home=home)),
        found=found,
        failure_domain=config.availability_zone,
        user_data_secret=secret.name if secret is not None else "",
    )


def _spec(
    config: mapi_openstack.OpenstackProviderSpec, addresses: reading.Addresses, *, tag: str
) -> capo.OpenStackMachineSpec:
    secret = config.clouds_secret
    return capo.OpenStackMachineSpec(
        flavor=config.flavor,
        image=capo.Image(filter=capo.ImageFilter(name=reading.image(config))),
        ssh_key_name=config.key_name,
        ports=reading.ports(config, addresses),
        security_groups=[reading.security_group(each) for each in config.security_groups],
        trunk=config.trunk,
        tags=reading.tags(config, tag),
        server_metadata=reading.server_metadata(config),
        config_drive=config.config_drive,
        root_volume=reading.root_volume(config),
        additional_block_devices=[reading.block_device(config, each) for each in config.additional_block_devices],
        server_group=reading.server_group(config),
        identity_ref=capo.IdentityReference(type="Secret", name=secret.name, cloud_name=config.cloud_name)
        if secret is not None and secret.name
        else None,
    )


def _examine(
    config: mapi_openstack.OpenstackProviderSpec,
    found: Findings,
    *,
    home: str,
    addresses: reading.Addresses,
    made: bool,
) -> None:
    """Add what cannot be converted. `made`: the machine has its server."""
    # The order of these calls is the order in which errors and warnings are reported.
    examine_ports(config, found, cluster=addresses)
    examine_networks(config.networks, found)
    for index, device in enumerate(config.additional_block_devices):
        _examine_device(f"{PATH}.additionalBlockDevices[{index}]", device, found)
    if config.root_volume is not None:
        _examine_root(config.root_volume, config.image, found)
    for index, group in enumerate(config.security_groups):
        _examine_group(f"{PATH}.securityGroups[{index}]", group, found)
    _lost(config, found, home=home, made=made)


def _examine_device(path: str, device: mapi_openstack.AdditionalBlockDevice, found: Findings) -> None:
    source = device.storage.volume
    if device.storage.type == "Volume" and source is None:
        found.errors.append(required(f"{path}.volume", "volume is required, but is missing"))
    elif device.storage.type != "Volume" and source is not None:
        found.lose(f"{path}.storage.volume", source)


def _examine_root(volume: mapi_openstack.RootVolume, image: str, found: Findings) -> None:
    path = f"{PATH}.rootVolume"
    for field, value in (("deviceType", volume.device_type), ("sourceType", volume.source_type)):
        if value:
            detail = f"{field} is silently ignored by MAPO and will not be converted"
            found.warnings.append(invalid(f"{path}.{field}", value, detail))
    if image and volume.source_uuid not in ("", image):
        becomes = f"{volume.source_uuid}, because the Machine API takes rootVolume.sourceUUID: remove one of them"
        found.lose(f"{PATH}.image", image, becomes=becomes)


def _examine_group(path: str, group: mapi_openstack.SecurityGroup, found: Findings) -> None:
    """Add what a reference to the group cannot have: a name and a filter beside an ID, and parts of the filter."""
    source = group.filter
    group_id = group.uuid or source.id
    if group_id:
        rest = replace(source, id=source.id if source.id != group_id else "")
        if group.name:
            found.lose(f"{path}.name", group.name)
        if rest != _NO_GROUP_FILTER:
            found.lose(f"{path}.filter", rest)
        return
    for field, value in (
        ("name", source.name if group.name and source.name != group.name else ""),
        ("tenantId", source.tenant_id if source.project_id and source.tenant_id != source.project_id else ""),
        ("limit", source.limit),
        ("marker", source.marker),
        ("sortKey", source.sort_key),
        ("sortDir", source.sort_dir),
    ):
        if value:
            found.lose(f"{path}.filter.{field}", value)


def _lost(config: mapi_openstack.OpenstackProviderSpec, found: Findings, *, home: str, made: bool) -> None:
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
    if config.server_group_name and not config.server_group_id and not made:
        found.lose(f"{PATH}.serverGroupName", config.server_group_name, becomes=_GROUP)


def _foreign(secret: mapi_openstack.SecretReference | None, *, home: str) -> str:
    return secret.namespace if secret is not None and secret.namespace != home else ""
