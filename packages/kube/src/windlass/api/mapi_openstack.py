"""The Machine API's type for OpenStack: OpenstackProviderSpec.

Source: `github.com/openshift/api/machine/v1alpha1` (`machine.openshift.io/v1alpha1`). It is never a separate object,
only `spec.providerSpec.value` of a Machine. In filters, several tags are one string joined by commas.
"""

from types import NoneType

from msgspec import Struct, field

from windlass.api.integers import Int64
from windlass.api.meta import ObjectMeta, always


class SecretReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""


class NeutronFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The fields that the filters of networks and security groups begin with."""

    id: str = ""
    name: str = ""
    description: str = ""
    tenant_id: str = ""
    project_id: str = ""
    tags: str = ""
    tags_any: str = ""
    not_tags: str = ""
    not_tags_any: str = ""


class SecurityGroupFilter(NeutronFilter, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    limit: Int64 = 0
    marker: str = ""
    sort_key: str = ""
    sort_dir: str = ""


class SecurityGroup(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    uuid: str = ""
    name: str = ""
    filter: SecurityGroupFilter = always(SecurityGroupFilter)


class NetworkFilter(NeutronFilter, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    status: str = ""
    admin_state_up: bool | None = None
    shared: bool | None = None
    marker: str = ""
    limit: Int64 = 0
    sort_key: str = ""
    sort_dir: str = ""


class SubnetFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str = ""
    name: str = ""
    description: str = ""
    network_id: str = ""
    tenant_id: str = ""
    project_id: str = ""
    ip_version: Int64 = 0
    gateway_ip: str = field(default="", name="gateway_ip")
    cidr: str = ""
    ipv6_address_mode: str = ""
    ipv6_ra_mode: str = ""
    subnetpool_id: str = ""
    tags: str = ""
    tags_any: str = ""
    not_tags: str = ""
    not_tags_any: str = ""
    enable_dhcp: bool | None = None
    limit: Int64 = 0
    marker: str = ""
    sort_key: str = ""
    sort_dir: str = ""


class Subnet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    uuid: str = ""
    filter: SubnetFilter = always(SubnetFilter)
    port_tags: list[str] = field(default_factory=list)
    port_security: bool | None = None


class Network(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A network, or subnets, on which the machine gets a port (one for the network, or one for each subnet)."""

    uuid: str = ""
    fixed_ip: str = ""
    filter: NetworkFilter = always(NetworkFilter)
    subnets: list[Subnet] = field(default_factory=list)
    no_allowed_address_pairs: bool = False
    port_tags: list[str] = field(default_factory=list)
    vnic_type: str = ""
    profile: dict[str, str] = field(default_factory=dict)
    port_security: bool | None = None


class FixedIP(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    subnet_id: str = always(str, name="subnetID")
    ip_address: str = ""


class AddressPair(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    ip_address: str = ""
    mac_address: str = ""


class Port(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    network_id: str = always(str, name="networkID")
    name_suffix: str = ""
    description: str = ""
    admin_state_up: bool | None = None
    mac_address: str = ""
    fixed_ips: list[FixedIP] = field(default_factory=list, name="fixedIPs")
    tenant_id: str = field(default="", name="tenantID")
    project_id: str = field(default="", name="projectID")
    security_groups: list[str] | None = None
    allowed_address_pairs: list[AddressPair] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    vnic_type: str = ""
    profile: dict[str, str] = field(default_factory=dict)
    port_security: bool | None = None
    trunk: bool | None = None
    host_id: str = field(default="", name="hostID")


class RootVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The volume that the machine boots from: size in GiB."""

    source_uuid: str = field(default="", name="sourceUUID")
    volume_type: str = ""
    disk_size: Int64 = 0
    availability_zone: str = ""
    source_type: str = ""
    device_type: str = ""


class BlockDeviceVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = ""
    availability_zone: str = ""


class BlockDeviceStorage(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = always(str)
    volume: BlockDeviceVolume | None = None


class AdditionalBlockDevice(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    size_gib: Int64 = always(int, name="sizeGiB")
    storage: BlockDeviceStorage = always(BlockDeviceStorage)


class OpenstackProviderSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta)
    clouds_secret: SecretReference | None = always(NoneType)
    cloud_name: str = always(str)
    flavor: str = always(str)
    image: str = always(str)
    key_name: str = ""
    ssh_user_name: str = ""
    networks: list[Network] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    floating_ip: str = field(default="", name="floatingIP")
    availability_zone: str = ""
    security_groups: list[SecurityGroup] = field(default_factory=list)
    user_data_secret: SecretReference | None = None
    trunk: bool = False
    tags: list[str] = field(default_factory=list)
    server_metadata: dict[str, str] = field(default_factory=dict)
    config_drive: bool | None = None
    root_volume: RootVolume | None = None
    additional_block_devices: list[AdditionalBlockDevice] = field(default_factory=list)
    server_group_id: str = field(default="", name="serverGroupID")
    server_group_name: str = ""
    primary_subnet: str = ""
