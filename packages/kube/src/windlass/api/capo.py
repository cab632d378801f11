"""The Cluster API provider of OpenStack: `infrastructure.cluster.x-k8s.io/v1beta1` machines and their templates.

Source: `sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1`. `spec` and its validation are the provider's, `status`
follows contract v1beta2 of Cluster API. Constraints are `on_write` only: machine sync reads what any release of the
provider has stored. Where the provider distinguishes an empty list from an absent one, the absent one is `None`.
"""

from types import NoneType
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec import Struct, field

from windlass.api import capo_rules
from windlass.api.capi import Address
from windlass.api.integers import Int64
from windlass.api.meta import Condition, ObjectMeta, Resource, always
from windlass.api.schema import (
    FORMER,
    LIST_ATOMIC,
    LIST_SET,
    MAP_ATOMIC,
    REQUIRED,
    list_map,
    on_write,
    rule,
    server_default,
)

Uuid: TypeAlias = Annotated[str, on_write(format="uuid")]
NotEmpty: TypeAlias = Annotated[str, on_write(minLength=1)]
Tags: TypeAlias = Annotated[list[str], LIST_SET]
NeutronTags: TypeAlias = Annotated[list[Annotated[str, on_write(minLength=1, pattern="^[^,]+$")]], LIST_SET]
"""Neutron joins the tags of a query by commas."""

ONE_OF = on_write(minProperties=1, maxProperties=1)
SOME = on_write(minProperties=1)


class ImageFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Exactly one image must have this name and these tags."""

    SCHEMA: ClassVar = (SOME,)

    name: str | None = None
    tags: Tags | None = None


class ResourceReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A reference to an object of the OpenStack resource controller in the same namespace."""

    name: Annotated[str, REQUIRED] = always(str)


class Image(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A Glance image by one of ID, filter or reference."""

    SCHEMA: ClassVar = (ONE_OF,)

    id: Uuid | None = None
    filter: ImageFilter | None = None
    image_ref: ResourceReference | None = None


class NeutronFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What Neutron lists: the resources that have all of this."""

    SCHEMA: ClassVar = (SOME,)

    name: str = ""
    description: str = ""
    project_id: str = field(default="", name="projectID")
    tags: NeutronTags = field(default_factory=list)
    tags_any: NeutronTags = field(default_factory=list)
    not_tags: NeutronTags = field(default_factory=list)
    not_tags_any: NeutronTags = field(default_factory=list)


class NetworkFilter(NeutronFilter, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Exactly one network must have all of this."""


class Network(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A network by ID or filter."""

    SCHEMA: ClassVar = (ONE_OF,)

    id: Uuid | None = None
    filter: NetworkFilter | None = None


class SubnetFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Exactly one subnet must have all of this."""

    SCHEMA: ClassVar = (SOME,)

    name: str = ""
    description: str = ""
    project_id: str = field(default="", name="projectID")
    ip_version: Int64 = 0
    gateway_ip: str = field(default="", name="gatewayIP")
    cidr: str = ""
    ipv6_address_mode: str = ""
    ipv6_ra_mode: str = field(default="", name="ipv6RAMode")
    tags: NeutronTags = field(default_factory=list)
    tags_any: NeutronTags = field(default_factory=list)
    not_tags: NeutronTags = field(default_factory=list)
    not_tags_any: NeutronTags = field(default_factory=list)


class Subnet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A subnet by ID or filter."""

    SCHEMA: ClassVar = (ONE_OF,)

    id: Uuid | None = None
    filter: SubnetFilter | None = None


class SecurityGroupFilter(NeutronFilter, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """All security groups that have all of this."""


class SecurityGroup(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A security group by ID, or several by filter."""

    SCHEMA: ClassVar = (ONE_OF,)

    id: Uuid | None = None
    filter: SecurityGroupFilter | None = None


class FixedIP(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An address of a port: on a subnet, or the address itself, or both."""

    subnet: Subnet | None = None
    ip_address: str | None = None


class AddressPair(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An address besides its own that a port may send from."""

    ip_address: Annotated[str, REQUIRED] = always(str)
    mac_address: str | None = None


class BindingProfile(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What the port asks of the network interface of the host."""

    ovs_hw_offload: bool | None = field(default=None, name="ovsHWOffload")
    trusted_vf: bool | None = field(default=None, name="trustedVF")


class ValueSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An extra parameter that is passed to Neutron unchanged."""

    name: Annotated[str, REQUIRED] = always(str)
    key: Annotated[str, REQUIRED] = always(str)
    value: Annotated[str, REQUIRED] = always(str)


class Port(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A port of a server. Only `allowedAddressPairs` may be changed later."""

    SCHEMA: ClassVar = (capo_rules.rules(capo_rules.groups_need_port_security()),)

    network: Network | None = None
    description: str | None = None
    name_suffix: str | None = None
    fixed_ips: Annotated[list[FixedIP], LIST_ATOMIC] = field(default_factory=list, name="fixedIPs")
    security_groups: Annotated[list[SecurityGroup], LIST_ATOMIC] = field(default_factory=list)
    tags: Tags = field(default_factory=list)
    trunk: bool | None = None
    admin_state_up: bool | None = None
    mac_address: str | None = None
    allowed_address_pairs: list[AddressPair] | None = None
    host_id: str | None = field(default=None, name="hostID")
    vnic_type: str | None = None
    profile: BindingProfile | None = None
    disable_port_security: bool | None = None
    propagate_uplink_status: bool | None = None
    value_specs: Annotated[list[ValueSpec], list_map("name")] | None = None


class VolumeAvailabilityZone(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The zone of a volume: `from_` is `Name` (the zone `name`) or `Machine` (the machine's failure domain)."""

    SCHEMA: ClassVar = (
        rule(
            "!has(self.from) || self.from == 'Name' ? has(self.name) : !has(self.name)",
            "name is required when from is 'Name' or default",
        ),
    )

    from_: Annotated[str, on_write(enum=["Name", "Machine"]), server_default("Name")] = field(default="", name="from")
    name: Annotated[str, on_write(minLength=1, pattern="^[^ ]+$")] | None = None


class RootVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A volume to boot from, instead of a disk of the host."""

    size_gib: Annotated[Int64, on_write(minimum=1), REQUIRED] = always(int, name="sizeGiB")
    type: str = ""
    availability_zone: VolumeAvailabilityZone | None = None


class BlockDeviceVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The volume of a block device."""

    type: str = ""
    availability_zone: VolumeAvailabilityZone | None = None


class BlockDeviceStorage(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Where a block device is: a `Volume`, or `Local` to the host."""

    type: Annotated[str, REQUIRED] = always(str)
    volume: BlockDeviceVolume | None = None


class AdditionalBlockDevice(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A block device besides the one to boot from; the server sees `name` as its tag."""

    name: Annotated[str, REQUIRED] = always(str)
    size_gib: Annotated[Int64, on_write(minimum=1), REQUIRED] = always(int, name="sizeGiB")
    storage: Annotated[BlockDeviceStorage, REQUIRED] = always(BlockDeviceStorage)


class ServerGroupFilter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    SCHEMA: ClassVar = (SOME,)

    name: str | None = None


class ServerGroup(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A server group by ID or name."""

    SCHEMA: ClassVar = (ONE_OF,)

    id: Uuid | None = None
    filter: ServerGroupFilter | None = None


class ServerMetadata(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An entry of the server's metadata."""

    key: Annotated[str, on_write(maxLength=255), REQUIRED] = always(str)
    value: Annotated[str, on_write(maxLength=255), REQUIRED] = always(str)


class IdentityReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The entry and the clouds.yaml Secret that hold the credentials."""

    SCHEMA: ClassVar = (capo_rules.rules({"rule": capo_rules.same("region"), "message": "region is immutable"}),)

    type: Annotated[str, on_write(enum=["Secret", "ClusterIdentity"]), server_default("Secret")] = ""
    name: Annotated[str, REQUIRED] = always(str)
    cloud_name: Annotated[str, REQUIRED] = always(str)
    region: str = ""


class TypedReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`v1.TypedLocalObjectReference`."""

    SCHEMA: ClassVar = (MAP_ATOMIC,)

    api_group: str | None = always(NoneType)
    kind: Annotated[str, REQUIRED] = always(str)
    name: Annotated[str, REQUIRED] = always(str)


class SchedulerHintValue(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The value of a scheduler hint: `type` says which field has it."""

    SCHEMA: ClassVar = tuple(
        rule(
            f"has(self.type) && self.type == '{kind}' ? has(self.{name}) : !has(self.{name})",
            f"{name} is required when type is {kind}, and forbidden otherwise",
        )
        for kind, name in (("Bool", "bool"), ("Number", "number"), ("String", "string"))
    )

    type: Annotated[str, on_write(enum=["Bool", "String", "Number"]), REQUIRED] = always(str)
    bool_: bool | None = field(default=None, name="bool")
    number: Int64 | None = None
    string: Annotated[str, on_write(minLength=1, maxLength=255)] | None = None


class SchedulerHint(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A hint to Nova's scheduler."""

    name: Annotated[str, on_write(minLength=1), REQUIRED] = always(str)
    value: Annotated[SchedulerHintValue, REQUIRED] = always(SchedulerHintValue)


class OpenStackMachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The server that a machine is."""

    SCHEMA: ClassVar = (
        rule("has(self.flavor) || has(self.flavorID)", "at least one of flavor or flavorID must be set"),
        capo_rules.rules(capo_rules.no_device_named_root()),
    )

    provider_id: str | None = field(default=None, name="providerID")
    flavor: NotEmpty | None = None
    flavor_id: NotEmpty | None = field(default=None, name="flavorID")
    image: Annotated[Image, REQUIRED] = always(Image)
    ssh_key_name: str = ""
    ports: Annotated[list[Port], on_write(maxItems=capo_rules.MOST_PORTS)] = field(default_factory=list)
    security_groups: list[SecurityGroup] = field(default_factory=list)
    trunk: bool = False
    tags: Tags = field(default_factory=list)
    server_metadata: Annotated[list[ServerMetadata], list_map("key")] = field(default_factory=list)
    config_drive: bool | None = None
    root_volume: RootVolume | None = None
    additional_block_devices: Annotated[list[AdditionalBlockDevice], list_map("name")] = field(default_factory=list)
    server_group: ServerGroup | None = None
    identity_ref: IdentityReference | None = None
    floating_ip_pool_ref: TypedReference | None = field(default=None, name="floatingIPPoolRef")
    scheduler_hint_additional_properties: Annotated[list[SchedulerHint], list_map("name")] = field(default_factory=list)


class Initialization(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`provisioned`: all of the infrastructure is there; never taken back."""

    provisioned: bool | None = None


class OpenStackMachineStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`resolved` and `resources` are kept as earlier releases of the provider recorded them; now the server has them.

    Nothing here has a constraint: the first write of a new controller replaces what an earlier one stored. `ready` is
    of contract v1beta1.
    """

    ready: Annotated[bool, FORMER] = always(bool)
    initialization: Initialization | None = None
    instance_id: str | None = field(default=None, name="instanceID")
    addresses: list[Address] = field(default_factory=list)
    instance_state: str | None = None
    resolved: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


class OpenStackMachine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A machine of a cluster, as a server in OpenStack."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackMachine", "openstackmachines"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: Annotated[OpenStackMachineSpec, capo_rules.of_machine(OpenStackMachineSpec)] = always(OpenStackMachineSpec)
    status: OpenStackMachineStatus = always(OpenStackMachineStatus)


class OpenStackMachineTemplateResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What the machines of a template are made from."""

    SCHEMA: ClassVar = (rule("!has(self.spec.providerID)", "providerID cannot be set in templates"),)

    spec: Annotated[OpenStackMachineSpec, REQUIRED] = always(OpenStackMachineSpec)


class OpenStackMachineTemplateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What the machines of a template are made from."""

    template: Annotated[OpenStackMachineTemplateResource, REQUIRED] = always(OpenStackMachineTemplateResource)


class NodeInfo(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    operating_system: str = ""


class OpenStackMachineTemplateStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`capacity` maps resource names to the quantities that a machine of this template offers."""

    capacity: dict[str, str] = field(default_factory=dict)
    node_info: NodeInfo | None = None
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


class OpenStackMachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What OpenStackMachines are made from."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackMachineTemplate", "openstackmachinetemplates"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackMachineTemplateSpec = always(OpenStackMachineTemplateSpec)
    status: OpenStackMachineTemplateStatus = always(OpenStackMachineTemplateStatus)
