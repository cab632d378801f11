"""OpenStackCluster and its template: networks, API endpoint and bastion, `infrastructure.cluster.x-k8s.io/v1beta1`.

Source: `sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1`. `spec` and its validation are the provider's, `status`
follows contract v1beta2 of Cluster API. Constraints are `on_write` only, as in `windlass.api.capo`.
"""

from typing import Annotated, Any, ClassVar

from msgspec import Struct, field

from windlass.api.capo import (
    ONE_OF,
    IdentityReference,
    Initialization,
    Network,
    NeutronFilter,
    OpenStackMachineSpec,
    Subnet,
    Tags,
    Uuid,
)
from windlass.api.capo_rules import of_cluster, one_remote, rules
from windlass.api.capo_server import ResolvedServer, ServerResources
from windlass.api.integers import Int32, Int64
from windlass.api.meta import Condition, ObjectMeta, Resource, always
from windlass.api.schema import KEEP_UNKNOWN, LIST_ATOMIC, LIST_SET, REQUIRED, list_map, on_write, rule, server_default


class AllocationPool(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A range of addresses, both ends included."""

    start: Annotated[str, REQUIRED] = always(str)
    end: Annotated[str, REQUIRED] = always(str)


class ManagedSubnet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A subnet that is made with the cluster."""

    cidr: Annotated[str, REQUIRED] = always(str)
    dns_nameservers: list[str] = field(default_factory=list)
    allocation_pools: list[AllocationPool] = field(default_factory=list)


class RouterFilter(NeutronFilter, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Exactly one router must have all of this."""


class Router(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A router by ID or filter."""

    SCHEMA: ClassVar = (ONE_OF,)

    id: Uuid | None = None
    filter: RouterFilter | None = None


class ExternalRouterIP(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An address of the router on the external network."""

    fixed_ip: str = field(default="", name="fixedIP")
    subnet: Annotated[Subnet, REQUIRED] = always(Subnet)


class HealthMonitor(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How the load balancer checks the API servers: `delay` and `timeout` in seconds."""

    delay: Annotated[Int64, on_write(minimum=0)] | None = None
    timeout: Annotated[Int64, on_write(minimum=0)] | None = None
    max_retries: Annotated[Int64, on_write(minimum=0, maximum=10)] | None = None
    max_retries_down: Annotated[Int64, on_write(minimum=1, maximum=10)] | None = None


class LoadBalancer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The load balancer of the API servers. Without this object there is none."""

    enabled: Annotated[bool | None, server_default(True), REQUIRED] = None
    additional_ports: Annotated[list[Int64], LIST_SET] = field(default_factory=list)
    allowed_cidrs: Annotated[list[str], LIST_SET] = field(default_factory=list, name="allowedCIDRs")
    provider: str | None = None
    network: Network | None = None
    subnets: Annotated[list[Subnet], LIST_ATOMIC] = field(default_factory=list)
    availability_zone: str | None = None
    flavor: str | None = None
    monitor: HealthMonitor | None = None


class SecurityGroupRule(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A rule of a security group: at most one of the fields `remote...` is set."""

    SCHEMA: ClassVar = (rules(one_remote()),)

    name: Annotated[str, REQUIRED] = always(str)
    description: str | None = None
    direction: Annotated[str, on_write(enum=["ingress", "egress"]), REQUIRED] = always(str)
    ether_type: Annotated[str, on_write(enum=["IPv4", "IPv6"])] | None = None
    port_range_min: Int64 | None = None
    port_range_max: Int64 | None = None
    protocol: str | None = None
    remote_group_id: str | None = field(default=None, name="remoteGroupID")
    remote_ip_prefix: str | None = field(default=None, name="remoteIPPrefix")
    remote_managed_groups: list[Annotated[str, on_write(enum=["bastion", "controlplane", "worker"])]] | None = None


class ManagedSecurityGroups(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The security groups that are made with the cluster, and rules beside those that every cluster has."""

    all_nodes_security_group_rules: Annotated[list[SecurityGroupRule], list_map("name")] = field(default_factory=list)
    control_plane_nodes_security_group_rules: Annotated[list[SecurityGroupRule], list_map("name")] = field(
        default_factory=list
    )
    worker_nodes_security_group_rules: Annotated[list[SecurityGroupRule], list_map("name")] = field(
        default_factory=list
    )
    allow_all_in_cluster_traffic: Annotated[bool, server_default(False), REQUIRED] = always(bool)


class APIEndpoint(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Where the API servers of the cluster are reached."""

    host: Annotated[str, on_write(maxLength=512), REQUIRED] = always(str)
    port: Annotated[Int32, REQUIRED] = always(int)


class Bastion(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A server through which people reach the machines by SSH."""

    SCHEMA: ClassVar = (rule("!self.enabled || has(self.spec)", "spec is required if bastion is enabled"),)

    enabled: Annotated[bool | None, server_default(True)] = None
    spec: OpenStackMachineSpec | None = None
    availability_zone: str | None = None
    floating_ip: Annotated[str, on_write(format="ipv4")] | None = field(default=None, name="floatingIP")


class OpenStackClusterSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The network of a cluster, which exists or is made, its API endpoint and its bastion."""

    SCHEMA: ClassVar = (
        rule(
            "has(self.disableExternalNetwork) && self.disableExternalNetwork ? "
            "!has(self.bastion) || !has(self.bastion.floatingIP) : true",
            "bastion floating IP cannot be set when disableExternalNetwork is true",
        ),
        rule(
            "has(self.disableExternalNetwork) && self.disableExternalNetwork ? "
            "has(self.disableAPIServerFloatingIP) && self.disableAPIServerFloatingIP : true",
            "disableAPIServerFloatingIP cannot be false when disableExternalNetwork is true",
        ),
    )

    managed_subnets: Annotated[list[ManagedSubnet], LIST_ATOMIC, on_write(maxItems=1)] = field(default_factory=list)
    router: Router | None = None
    network: Network | None = None
    subnets: Annotated[list[Subnet], LIST_ATOMIC, on_write(maxItems=2)] = field(default_factory=list)
    primary_subnet: Subnet | None = None
    network_mtu: Int64 | None = field(default=None, name="networkMTU")
    external_router_ips: Annotated[list[ExternalRouterIP], LIST_ATOMIC] = field(
        default_factory=list, name="externalRouterIPs"
    )
    external_network: Network | None = None
    disable_external_network: bool | None = None
    api_server_load_balancer: LoadBalancer | None = None
    disable_api_server_floating_ip: bool | None = field(default=None, name="disableAPIServerFloatingIP")
    api_server_floating_ip: str | None = field(default=None, name="apiServerFloatingIP")
    api_server_fixed_ip: str | None = field(default=None, name="apiServerFixedIP")
    api_server_port: Annotated[Int64, on_write(minimum=0, maximum=65535)] | None = None
    managed_security_groups: ManagedSecurityGroups | None = None
    disable_port_security: bool | None = None
    tags: Tags = field(default_factory=list)
    control_plane_endpoint: APIEndpoint | None = None
    control_plane_availability_zones: Annotated[list[str], LIST_SET] = field(default_factory=list)
    control_plane_omit_availability_zone: bool | None = None
    bastion: Bastion | None = None
    identity_ref: Annotated[IdentityReference, REQUIRED] | None = None


class SubnetStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    id: str = ""
    cidr: str = ""
    tags: list[str] = field(default_factory=list)


class NetworkStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    id: str = ""
    tags: list[str] = field(default_factory=list)
    subnets: list[SubnetStatus] = field(default_factory=list)


class RouterStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`ips` are the router's addresses on the external network."""

    name: str = ""
    id: str = ""
    tags: list[str] = field(default_factory=list)
    ips: list[str] = field(default_factory=list)


class LoadBalancerStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`ip` is the floating IP if there is one, `internal_ip` the address on the load balancer's network."""

    name: str = ""
    id: str = ""
    ip: str = ""
    internal_ip: str = field(default="", name="internalIP")
    tags: list[str] = field(default_factory=list)
    allowed_cidrs: list[str] = field(default_factory=list, name="allowedCIDRs")
    load_balancer_network: NetworkStatus | None = None


class SecurityGroupStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    id: str = ""


class BastionStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str = ""
    name: str = ""
    ssh_key_name: str = field(default="", name="sshKeyName")
    state: str = ""
    ip: str = ""
    floating_ip: str = field(default="", name="floatingIP")
    resolved: ResolvedServer | None = None
    resources: ServerResources | None = None


class FailureDomain(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An availability zone of Nova, and whether machines of the control plane may be there."""

    name: str = always(str)
    control_plane: bool | None = None
    attributes: dict[str, str] = field(default_factory=dict)


class OpenStackClusterStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`failure_domains` is a list of FailureDomain, sorted by name; earlier releases of the provider stored a map."""

    initialization: Initialization | None = None
    network: NetworkStatus | None = None
    external_network: NetworkStatus | None = None
    router: RouterStatus | None = None
    api_server_load_balancer: LoadBalancerStatus | None = None
    failure_domains: Annotated[Any, KEEP_UNKNOWN] = None
    control_plane_security_group: SecurityGroupStatus | None = None
    worker_security_group: SecurityGroupStatus | None = None
    bastion_security_group: SecurityGroupStatus | None = None
    bastion: BastionStatus | None = None
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


class OpenStackCluster(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The infrastructure of a cluster in OpenStack."""

    SCHEMA: ClassVar = (rules(*of_cluster()),)

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackCluster", "openstackclusters"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackClusterSpec = always(OpenStackClusterSpec)
    status: OpenStackClusterStatus = always(OpenStackClusterStatus)


class OpenStackClusterTemplateResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What the clusters of a template are made from."""

    spec: Annotated[OpenStackClusterSpec, REQUIRED] = always(OpenStackClusterSpec)


class OpenStackClusterTemplateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What the clusters of a template are made from."""

    template: Annotated[OpenStackClusterTemplateResource, REQUIRED] = always(OpenStackClusterTemplateResource)


class OpenStackClusterTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What OpenStackClusters are made from."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackClusterTemplate", "openstackclustertemplates"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackClusterTemplateSpec = always(OpenStackClusterTemplateSpec)
