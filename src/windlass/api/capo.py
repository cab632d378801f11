"""The Cluster API provider of OpenStack: `infrastructure.cluster.x-k8s.io/v1beta1` machines, templates and clusters.

Source: `sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1`. OpenStackCluster declares only fields that machines
need. Where the provider distinguishes an empty list from an absent one, the absent one is `None`.
"""

from types import NoneType
from typing import ClassVar

from msgspec import Struct, field

from windlass.api.capi import Address, V1Beta1Condition
from windlass.api.integers import Int32, Int64
from windlass.api.meta import ObjectMeta, Resource, always


class ImageFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str | None = None
    tags: list[str] | None = None


class ResourceReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A reference to an object of the OpenStack resource controller in the same namespace."""

    name: str = always(str)


class Image(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A Glance image by one of ID, filter or reference."""

    id: str | None = None
    filter: ImageFilter | None = None
    image_ref: ResourceReference | None = None


class NetworkFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    description: str = ""
    project_id: str = field(default="", name="projectID")
    tags: list[str] = field(default_factory=list)
    tags_any: list[str] = field(default_factory=list)
    not_tags: list[str] = field(default_factory=list)
    not_tags_any: list[str] = field(default_factory=list)


class Network(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str | None = None
    filter: NetworkFilter | None = None


class SubnetFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    description: str = ""
    project_id: str = field(default="", name="projectID")
    ip_version: Int64 = 0
    gateway_ip: str = field(default="", name="gatewayIP")
    cidr: str = ""
    ipv6_address_mode: str = ""
    ipv6_ra_mode: str = field(default="", name="ipv6RAMode")
    tags: list[str] = field(default_factory=list)
    tags_any: list[str] = field(default_factory=list)
    not_tags: list[str] = field(default_factory=list)
    not_tags_any: list[str] = field(default_factory=list)


class Subnet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str | None = None
    filter: SubnetFilter | None = None


class SecurityGroupFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    description: str = ""
    project_id: str = field(default="", name="projectID")
    tags: list[str] = field(default_factory=list)
    tags_any: list[str] = field(default_factory=list)
    not_tags: list[str] = field(default_factory=list)
    not_tags_any: list[str] = field(default_factory=list)


class SecurityGroup(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str | None = None
    filter: SecurityGroupFilter | None = None


class FixedIP(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    subnet: Subnet | None = None
    ip_address: str | None = None


class AddressPair(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    ip_address: str = always(str)
    mac_address: str | None = None


class BindingProfile(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    ovs_hw_offload: bool | None = field(default=None, name="ovsHWOffload")
    trusted_vf: bool | None = field(default=None, name="trustedVF")


class ValueSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An extra parameter that is passed to Neutron unchanged."""

    name: str = always(str)
    key: str = always(str)
    value: str = always(str)


class Port(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    network: Network | None = None
    description: str | None = None
    name_suffix: str | None = None
    fixed_ips: list[FixedIP] = field(default_factory=list, name="fixedIPs")
    security_groups: list[SecurityGroup] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    trunk: bool | None = None
    admin_state_up: bool | None = None
    mac_address: str | None = None
    allowed_address_pairs: list[AddressPair] | None = None
    host_id: str | None = field(default=None, name="hostID")
    vnic_type: str | None = None
    profile: BindingProfile | None = None
    disable_port_security: bool | None = None
    propagate_uplink_status: bool | None = None
    value_specs: list[ValueSpec] | None = None


class VolumeAvailabilityZone(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The zone of a volume: `from_` is `Name` (the zone `name`) or `Machine` (the machine's failure domain)."""

    from_: str = field(default="", name="from")
    name: str | None = None


class RootVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    size_gib: Int64 = always(int, name="sizeGiB")
    type: str = ""
    availability_zone: VolumeAvailabilityZone | None = None


class BlockDeviceVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = ""
    availability_zone: VolumeAvailabilityZone | None = None


class BlockDeviceStorage(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = always(str)
    volume: BlockDeviceVolume | None = None


class AdditionalBlockDevice(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    size_gib: Int64 = always(int, name="sizeGiB")
    storage: BlockDeviceStorage = always(BlockDeviceStorage)


class ServerGroupFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str | None = None


class ServerGroup(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str | None = None
    filter: ServerGroupFilter | None = None


class ServerMetadata(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    key: str = always(str)
    value: str = always(str)


class IdentityReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The entry and the clouds.yaml Secret that hold the credentials."""

    type: str = ""
    name: str = always(str)
    cloud_name: str = always(str)
    region: str = ""


class TypedReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`v1.TypedLocalObjectReference`."""

    api_group: str | None = always(NoneType)
    kind: str = always(str)
    name: str = always(str)


class SchedulerHintValue(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = always(str)
    bool_: bool | None = field(default=None, name="bool")
    number: Int32 | None = None
    string: str | None = None


class SchedulerHint(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    value: SchedulerHintValue = always(SchedulerHintValue)


class OpenStackMachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    provider_id: str | None = field(default=None, name="providerID")
    flavor: str | None = None
    flavor_id: str | None = field(default=None, name="flavorID")
    image: Image = always(Image)
    ssh_key_name: str = ""
    ports: list[Port] = field(default_factory=list)
    security_groups: list[SecurityGroup] = field(default_factory=list)
    trunk: bool = False
    tags: list[str] = field(default_factory=list)
    server_metadata: list[ServerMetadata] = field(default_factory=list)
    config_drive: bool | None = None
    root_volume: RootVolume | None = None
    additional_block_devices: list[AdditionalBlockDevice] = field(default_factory=list)
    server_group: ServerGroup | None = None
    identity_ref: IdentityReference | None = None
    floating_ip_pool_ref: TypedReference | None = field(default=None, name="floatingIPPoolRef")
    scheduler_hint_additional_properties: list[SchedulerHint] = field(default_factory=list)


class OpenStackMachineStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    ready: bool = always(bool)
    instance_id: str | None = field(default=None, name="instanceID")
    addresses: list[Address] = field(default_factory=list)
    instance_state: str | None = None
    failure_reason: str | None = None
    failure_message: str | None = None
    conditions: list[V1Beta1Condition] = field(default_factory=list)


class OpenStackMachine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackMachine", "openstackmachines"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackMachineSpec = always(OpenStackMachineSpec)
    status: OpenStackMachineStatus = always(OpenStackMachineStatus)


class OpenStackMachineTemplateResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    spec: OpenStackMachineSpec = always(OpenStackMachineSpec)


class OpenStackMachineTemplateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    template: OpenStackMachineTemplateResource = always(OpenStackMachineTemplateResource)


class OpenStackMachineTemplateStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`capacity` maps resource names to the quantities that a machine of this template offers."""

    capacity: dict[str, str] = field(default_factory=dict)


class OpenStackMachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackMachineTemplate", "openstackmachinetemplates"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackMachineTemplateSpec = always(OpenStackMachineTemplateSpec)
    status: OpenStackMachineTemplateStatus = always(OpenStackMachineTemplateStatus)


class OpenStackClusterSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    identity_ref: IdentityReference | None = None


class OpenStackCluster(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackCluster", "openstackclusters"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackClusterSpec = always(OpenStackClusterSpec)
