"""What the services of a cloud return, with the fields that Windlass reads. Names are those of the services' JSON.

Sources: the API references of Compute, Networking, Image and Block Storage.
"""

from typing import Any, Final, TypeAlias

from msgspec import Struct, field

DELETED: Final = frozenset({"DELETED", "SOFT_DELETED"})
"""The states of a server that was deleted; one that is SOFT_DELETED can be restored."""


class Fault(Struct, frozen=True, gc=False):
    """Why a server is in ERROR."""

    code: int = 0
    message: str = ""
    details: str = ""


class _Named(Struct, frozen=True, gc=False):
    id: str = ""
    name: str = ""


class _InNeutron(_Named, frozen=True, gc=False):
    description: str = ""
    created_at: str = ""
    tags: list[str] = field(default_factory=list)


class ServerAddress(Struct, frozen=True, gc=False):
    addr: str = ""
    version: int = 4
    type: str = field(default="", name="OS-EXT-IPS:type")


class AttachedVolume(Struct, frozen=True, gc=False):
    id: str = ""


class Server(_Named, frozen=True, gc=False):
    """A Nova server. `status` is upper case, empty in the answer to its POST. `addresses`: by network name."""

    status: str = ""
    created: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    addresses: dict[str, list[ServerAddress]] = field(default_factory=dict)
    fault: Fault | None = None
    task_state: str | None = field(default=None, name="OS-EXT-STS:task_state")
    zone: str | None = field(default=None, name="OS-EXT-AZ:availability_zone")
    volumes: list[AttachedVolume] = field(default_factory=list, name="os-extended-volumes:volumes_attached")


class PortAddress(Struct, frozen=True, gc=False):
    subnet_id: str = ""
    ip_address: str = ""


class Port(_InNeutron, frozen=True, gc=False):
    """A Neutron port. `allowed_address_pairs` None: this Neutron has none."""

    network_id: str = ""
    status: str = ""
    device_id: str = ""
    device_owner: str = ""
    fixed_ips: list[PortAddress] = field(default_factory=list)
    allowed_address_pairs: list[dict[str, str]] | None = None
    trunk_details: dict[str, Any] | None = None


class SubPort(Struct, frozen=True, gc=False):
    port_id: str = ""


class Trunk(_InNeutron, frozen=True, gc=False):
    port_id: str = ""
    sub_ports: list[SubPort] = field(default_factory=list)


class Attachment(Struct, frozen=True, gc=False):
    """The server that a volume is attached to."""

    server_id: str = ""


class Reservation(Struct, frozen=True, gc=False):
    """A Cinder attachment that no server uses: Nova reserves a volume before it refuses a server for other reasons."""

    id: str = ""
    volume_id: str = ""


class Volume(_Named, frozen=True, gc=False):
    """A Cinder volume."""

    status: str = ""
    created_at: str = ""
    multiattach: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    attachments: list[Attachment] = field(default_factory=list)


class Image(_Named, frozen=True, gc=False):
    """`os_type`: the operating system, as who made the image says."""

    status: str = ""
    tags: list[str] = field(default_factory=list)
    os_type: str = ""


class Flavor(_Named, frozen=True, gc=False):
    """`ram` in MiB, `disk` and `ephemeral` in GiB."""

    vcpus: int = 0
    ram: int = 0
    disk: int = 0
    ephemeral: int = field(default=0, name="OS-FLV-EXT-DATA:ephemeral")


class Network(_InNeutron, frozen=True, gc=False):
    status: str = ""


class Subnet(_InNeutron, frozen=True, gc=False):
    network_id: str = ""
    cidr: str = ""
    dns_nameservers: list[str] = field(default_factory=list)


class Gateway(Struct, frozen=True, gc=False):
    network_id: str = ""
    external_fixed_ips: list[PortAddress] = field(default_factory=list)


class Router(_InNeutron, frozen=True, gc=False):
    status: str = ""
    external_gateway_info: Gateway | None = None


class SecurityGroupRule(Struct, frozen=True, gc=False):
    """A rule of a group. None: any. `protocol` is a name or a number, as somebody wrote it."""

    id: str = ""
    direction: str = "ingress"
    ethertype: str = "IPv4"
    protocol: str | None = None
    port_range_min: int | None = None
    port_range_max: int | None = None
    remote_ip_prefix: str | None = None
    remote_group_id: str | None = None
    remote_address_group_id: str | None = None
    description: str | None = None


class SecurityGroup(_InNeutron, frozen=True, gc=False):
    security_group_rules: list[SecurityGroupRule] = field(default_factory=list)


class FloatingIp(Struct, frozen=True, gc=False):
    """An address on an external network. `port_id` None: it leads nowhere."""

    id: str = ""
    floating_ip_address: str = ""
    floating_network_id: str = ""
    port_id: str | None = None
    status: str = ""
    description: str = ""
    created_at: str = ""
    tags: list[str] = field(default_factory=list)


class LoadBalancer(Struct, frozen=True, gc=False):
    """An Octavia load balancer. It can be changed while `provisioning_status` is ACTIVE, and deleted in ERROR too.
    `operating_status`: whether it works. `updated_at`: when it, or one of its parts, last changed."""

    id: str = ""
    name: str | None = None
    description: str | None = None
    created_at: str = ""
    updated_at: str | None = None
    provisioning_status: str = ""
    operating_status: str = ""
    provider: str = ""
    vip_address: str | None = None
    vip_network_id: str | None = None
    vip_port_id: str | None = None
    tags: list[str] = field(default_factory=list)


class Listener(Struct, frozen=True, gc=False):
    """A port of a load balancer. `allowed_cidrs` None or empty: from everywhere."""

    id: str = ""
    name: str | None = None
    protocol_port: int = 0
    provisioning_status: str = ""
    default_pool_id: str | None = None
    allowed_cidrs: list[str] | None = None


class HealthMonitor(Struct, frozen=True, gc=False):
    """How a pool checks its members: `delay` and `timeout` in seconds."""

    id: str = ""
    name: str | None = None
    delay: int = 0
    timeout: int = 0
    max_retries: int = 0
    max_retries_down: int = 0


class Member(Struct, frozen=True, gc=False):
    id: str = ""
    name: str | None = None
    address: str = ""
    protocol_port: int = 0
    provisioning_status: str = ""
    operating_status: str = ""


class Pool(Struct, frozen=True, gc=False):
    """A pool, as the tree of its load balancer tells it."""

    id: str = ""
    name: str | None = None
    provisioning_status: str = ""
    members: list[Member] = field(default_factory=list)
    health_monitor: HealthMonitor | None = None


class BalancerProvider(Struct, frozen=True, gc=False):
    """A driver of Octavia."""

    name: str = ""


class BalancerFlavor(_Named, frozen=True, gc=False):
    """A flavor of load balancers; users cannot choose one that is not `enabled`."""

    enabled: bool = True


class ServerGroup(_Named, frozen=True, gc=False):
    """Servers that Nova places by a common rule."""


class ZoneState(Struct, frozen=True, gc=False):
    available: bool = True


class Zone(Struct, frozen=True, gc=False):
    """An availability zone of Nova. It is not available while none of its hosts runs servers."""

    name: str = field(default="", name="zoneName")
    state: ZoneState = field(default_factory=ZoneState, name="zoneState")


class Extension(Struct, frozen=True, gc=False):
    """An extension of Neutron's API."""

    alias: str = ""


class Keypair(Struct, frozen=True, gc=False):
    name: str = ""


Resource: TypeAlias = (
    Image
    | Flavor
    | FloatingIp
    | Network
    | Subnet
    | Router
    | SecurityGroup
    | ServerGroup
    | Zone
    | Extension
    | Keypair
    | BalancerProvider
    | BalancerFlavor
)
"""What a query finds."""

InNeutron: TypeAlias = Port | Trunk | Network | Subnet | Router | SecurityGroup | FloatingIp
"""What Neutron has, with tags and a description."""
Markable: TypeAlias = Server | Volume | InNeutron | LoadBalancer
"""What can have the mark of an owner."""
