"""OpenStackServer: a server with its ports and volumes, `infrastructure.cluster.x-k8s.io/v1alpha1`.

Source: `sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1`. Ours in the status: `addresses` is filled,
`resolved.volumes`, `resources.volumes` and `resources.trunks` are added. Constraints are `on_write` only, as in
`windlass.api.capo`.
"""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from windlass.api.capi import Address
from windlass.api.capo import (
    AdditionalBlockDevice,
    AddressPair,
    BindingProfile,
    IdentityReference,
    Image,
    NotEmpty,
    Port,
    RootVolume,
    SchedulerHint,
    SecurityGroup,
    ServerGroup,
    ServerMetadata,
    Tags,
    TypedReference,
    ValueSpec,
)
from windlass.api.capo_rules import MOST_PORTS, no_device_named_root, of_server, ports_name_networks, rules
from windlass.api.integers import Int64
from windlass.api.meta import Condition, ObjectMeta, Resource, always
from windlass.api.schema import MAP_ATOMIC, REQUIRED, list_map, on_write, rule, server_default


class SecretReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A Secret in the same namespace."""

    SCHEMA: ClassVar = (MAP_ATOMIC,)

    name: Annotated[str, server_default("")] = always(str)


class OpenStackServerSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The server, its ports and its volumes."""

    SCHEMA: ClassVar = (
        rule("has(self.flavor) || has(self.flavorID)", "at least one of flavor or flavorID must be set"),
        rules(no_device_named_root(), ports_name_networks()),
    )

    identity_ref: Annotated[IdentityReference, REQUIRED] = always(IdentityReference)
    image: Annotated[Image, REQUIRED] = always(Image)
    ports: Annotated[list[Port], on_write(minItems=1, maxItems=MOST_PORTS), REQUIRED] = always(list)
    ssh_key_name: Annotated[str, REQUIRED] = always(str)
    flavor: NotEmpty | None = None
    flavor_id: NotEmpty | None = field(default=None, name="flavorID")
    additional_block_devices: Annotated[list[AdditionalBlockDevice], list_map("name")] = field(default_factory=list)
    root_volume: RootVolume | None = None
    availability_zone: str | None = None
    config_drive: bool | None = None
    floating_ip_pool_ref: TypedReference | None = field(default=None, name="floatingIPPoolRef")
    security_groups: list[SecurityGroup] = field(default_factory=list)
    server_group: ServerGroup | None = None
    server_metadata: Annotated[list[ServerMetadata], list_map("key")] = field(default_factory=list)
    tags: Tags = field(default_factory=list)
    trunk: bool | None = None
    user_data_ref: SecretReference | None = None
    scheduler_hint_additional_properties: Annotated[list[SchedulerHint], list_map("name")] = field(default_factory=list)


class ResolvedFixedIP(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`subnet` is an ID."""

    subnet: str | None = None
    ip_address: str | None = None


class ResolvedPort(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A port with every choice made; `tags` are those of the port and of the server."""

    name: str = ""
    description: str = ""
    network_id: str = field(default="", name="networkID")
    tags: list[str] = field(default_factory=list)
    trunk: bool | None = None
    fixed_ips: list[ResolvedFixedIP] = field(default_factory=list, name="fixedIPs")
    security_groups: list[str] = field(default_factory=list)
    admin_state_up: bool | None = None
    mac_address: str | None = None
    allowed_address_pairs: list[AddressPair] | None = None
    host_id: str | None = field(default=None, name="hostID")
    vnic_type: str | None = None
    profile: BindingProfile | None = None
    disable_port_security: bool | None = None
    propagate_uplink_status: bool | None = None
    value_specs: list[ValueSpec] | None = None


class ResolvedVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A volume by its full name; `device` is the name of the block device, empty for the root volume."""

    name: str = ""
    size_gib: Int64 = field(default=0, name="sizeGiB")
    type: str = ""
    availability_zone: str = ""
    device: str = ""


class ResolvedServer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """All choices, stored before anything is created; they never change."""

    server_group_id: str | None = field(default=None, name="serverGroupID")
    image_id: str | None = field(default=None, name="imageID")
    flavor_id: str | None = field(default=None, name="flavorID")
    ports: list[ResolvedPort] = field(default_factory=list)
    volumes: list[ResolvedVolume] = field(default_factory=list)


class PortStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str = ""


class VolumeStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    id: str = ""


class TrunkStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    port_id: str = field(default="", name="portID")
    id: str = ""


class ServerResources(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What was created, in the order of the spec."""

    ports: list[PortStatus] = field(default_factory=list)
    volumes: list[VolumeStatus] = field(default_factory=list)
    trunks: list[TrunkStatus] = field(default_factory=list)


class OpenStackServerStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`instance_state` is Nova's status; `ready` is true while it is ACTIVE."""

    ready: Annotated[bool, server_default(False)] = always(bool)
    instance_id: str | None = field(default=None, name="instanceID")
    instance_state: str | None = None
    addresses: list[Address] = field(default_factory=list)
    resolved: ResolvedServer | None = None
    resources: ServerResources | None = None
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


class OpenStackServer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A server in OpenStack with its ports, trunks and volumes."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1alpha1", "OpenStackServer", "openstackservers"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: Annotated[OpenStackServerSpec, of_server(OpenStackServerSpec)] = always(OpenStackServerSpec)
    status: OpenStackServerStatus = always(OpenStackServerStatus)
