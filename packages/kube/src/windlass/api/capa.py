"""The Cluster API provider of AWS: `infrastructure.cluster.x-k8s.io/v1beta2` machines, templates, clusters.

Source: `sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2`. AWSCluster declares only the fields that machines need.
"""

from types import NoneType
from typing import ClassVar

from msgspec import Struct, field

from windlass.api.capi import Address, TemplateMeta
from windlass.api.integers import Int32, Int64
from windlass.api.meta import ObjectMeta, Resource, SeverityCondition, always


class Filter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    values: list[str] | None = always(NoneType)


class ResourceReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An AWS resource by ID or by filters."""

    id: str | None = None
    filters: list[Filter] = field(default_factory=list)


class AMIReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str | None = None
    eks_lookup_type: str | None = None


class InstanceMetadataOptions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    http_endpoint: str = ""
    http_protocol_ipv6: str = ""
    http_put_response_hop_limit: Int64 = 0
    http_tokens: str = ""
    instance_metadata_tags: str = ""


class CPUOptions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    confidential_compute: str = ""
    nested_virtualization: str = ""


class ElasticIPPool(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    public_ipv4_pool: str | None = None
    public_ipv4_pool_fallback_order: str | None = None


class Volume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An EBS volume: size in GiB, throughput in MiB/s."""

    device_name: str = ""
    size: Int64 = always(int)
    type: str = ""
    iops: Int64 = 0
    throughput: Int64 | None = None
    encrypted: bool | None = None
    encryption_key: str = ""


class CloudInit(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    insecure_skip_secrets_manager: bool = False
    secret_count: Int32 = 0
    secret_prefix: str = ""
    secure_secrets_backend: str = ""


class IgnitionProxy(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: list[str] = field(default_factory=list)


class IgnitionTLS(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    certificate_authorities: list[str] = field(default_factory=list)


class Ignition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    version: str = ""
    storage_type: str = ""
    proxy: IgnitionProxy | None = None
    tls: IgnitionTLS | None = None


class SpotMarketOptions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    max_price: str | None = None


class PrivateDNSName(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    enable_resource_name_dns_aaaa_record: bool | None = field(default=None, name="enableResourceNameDnsAAAARecord")
    enable_resource_name_dns_a_record: bool | None = field(default=None, name="enableResourceNameDnsARecord")
    hostname_type: str | None = None


class DynamicHostAllocation(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    tags: dict[str, str] = field(default_factory=dict)


class AWSMachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    provider_id: str | None = field(default=None, name="providerID")
    instance_id: str | None = field(default=None, name="instanceID")
    instance_metadata_options: InstanceMetadataOptions | None = None
    ami: AMIReference = always(AMIReference)
    image_lookup_format: str = ""
    image_lookup_org: str = ""
    image_lookup_base_os: str = field(default="", name="imageLookupBaseOS")
    instance_type: str = always(str)
    cpu_options: CPUOptions = CPUOptions()
    additional_tags: dict[str, str] = field(default_factory=dict)
    iam_instance_profile: str = ""
    public_ip: bool | None = field(default=None, name="publicIP")
    elastic_ip_pool: ElasticIPPool | None = None
    additional_security_groups: list[ResourceReference] = field(default_factory=list)
    subnet: ResourceReference | None = None
    security_group_overrides: dict[str, str] = field(default_factory=dict)
    ssh_key_name: str | None = None
    root_volume: Volume | None = None
    non_root_volumes: list[Volume] = field(default_factory=list)
    network_interfaces: list[str] = field(default_factory=list)
    network_interface_type: str = ""
    assign_primary_ipv6: str | None = field(default=None, name="assignPrimaryIPv6")
    uncompressed_user_data: bool | None = None
    cloud_init: CloudInit = always(CloudInit)
    ignition: Ignition | None = None
    spot_market_options: SpotMarketOptions | None = None
    placement_group_name: str = ""
    placement_group_partition: Int64 = 0
    tenancy: str = ""
    private_dns_name: PrivateDNSName | None = None
    capacity_reservation_id: str | None = None
    market_type: str = ""
    host_id: str | None = field(default=None, name="hostID")
    host_affinity: str | None = None
    dynamic_host_allocation: DynamicHostAllocation | None = None
    capacity_reservation_preference: str = ""


class DedicatedHostStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str | None = None


class AWSMachineStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    ready: bool = always(bool)
    interruptible: bool = False
    addresses: list[Address] = field(default_factory=list)
    instance_state: str | None = None
    failure_reason: str | None = None
    failure_message: str | None = None
    conditions: list[SeverityCondition] = field(default_factory=list)
    dedicated_host: DedicatedHostStatus | None = None


class AWSMachine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("infrastructure.cluster.x-k8s.io", "v1beta2", "AWSMachine", "awsmachines")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: AWSMachineSpec = always(AWSMachineSpec)
    status: AWSMachineStatus = always(AWSMachineStatus)


class AWSMachineTemplateResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    metadata: TemplateMeta = always(TemplateMeta)
    spec: AWSMachineSpec = always(AWSMachineSpec)


class AWSMachineTemplateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    template: AWSMachineTemplateResource = always(AWSMachineTemplateResource)


class AWSMachineTemplateStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`capacity` maps resource names to the quantities that a machine of this template offers."""

    capacity: dict[str, str] = field(default_factory=dict)


class AWSMachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "AWSMachineTemplate", "awsmachinetemplates"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: AWSMachineTemplateSpec = always(AWSMachineTemplateSpec)
    status: AWSMachineTemplateStatus = always(AWSMachineTemplateStatus)


class HealthCheck(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How a target group probes the API servers; times in seconds."""

    interval_seconds: Int64 | None = None
    timeout_seconds: Int64 | None = None
    threshold_count: Int64 | None = None
    unhealthy_threshold_count: Int64 | None = None


class ListenerHealthCheck(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    protocol: str | None = None
    port: str | None = None
    path: str | None = None
    interval_seconds: Int64 | None = None
    timeout_seconds: Int64 | None = None
    threshold_count: Int64 | None = None
    unhealthy_threshold_count: Int64 | None = None


class Listener(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    port: Int64 = always(int)
    protocol: str = ""
    health_check: ListenerHealthCheck | None = None
    target_group_ip_type: str | None = field(default=None, name="targetGroupIPType")


class IngressRule(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    description: str = always(str)
    protocol: str = always(str)
    from_port: Int64 = always(int)
    to_port: Int64 = always(int)
    cidr_blocks: list[str] = field(default_factory=list)
    ipv6_cidr_blocks: list[str] = field(default_factory=list)
    source_security_group_ids: list[str] = field(default_factory=list)
    source_security_group_roles: list[str] = field(default_factory=list)
    nat_gateways_ips_source: bool = field(default=False, name="natGatewaysIPsSource")


class LoadBalancer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A load balancer in front of the API servers; type classic, elb, alb, nlb or disabled."""

    name: str | None = None
    scheme: str | None = None
    cross_zone_load_balancing: bool = always(bool)
    subnets: list[str] = field(default_factory=list)
    health_check_protocol: str | None = None
    health_check: HealthCheck | None = None
    additional_security_groups: list[str] = field(default_factory=list)
    additional_listeners: list[Listener] = field(default_factory=list)
    ingress_rules: list[IngressRule] = field(default_factory=list)
    load_balancer_type: str = ""
    disable_hosts_rewrite: bool = False
    preserve_client_ip: bool = field(default=False, name="preserveClientIP")
    target_group_ip_type: str | None = field(default=None, name="targetGroupIPType")
    dns_resolution_check: str | None = None


class IdentityReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The AWS identity that the provider acts under."""

    name: str = always(str)
    kind: str = always(str)


class AWSClusterSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    region: str = ""
    control_plane_load_balancer: LoadBalancer | None = None
    secondary_control_plane_load_balancer: LoadBalancer | None = None
    identity_ref: IdentityReference | None = None


class AWSCluster(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("infrastructure.cluster.x-k8s.io", "v1beta2", "AWSCluster", "awsclusters")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: AWSClusterSpec = always(AWSClusterSpec)
