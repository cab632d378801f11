"""The Cluster API provider of Google Cloud: `infrastructure.cluster.x-k8s.io/v1beta1` machines, templates, clusters.

Source: `sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1`. GCPCluster declares only the fields that machines need.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.capi import Address, TemplateMeta
from windlass.api.integers import Int64
from windlass.api.meta import ObjectMeta, Resource, always


class AliasIPRange(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    ip_cidr_range: str = always(str)
    subnetwork_range_name: str = ""


class MetadataItem(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    key: str = always(str)
    value: str | None = None


class ResourceManagerTag(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    parent_id: str = always(str, name="parentID")
    key: str = always(str)
    value: str = always(str)


class ManagedKey(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A key of Cloud KMS, `projects/<p>/locations/<l>/keyRings/<r>/cryptoKeys/<k>`."""

    kms_key_name: str = ""


class SuppliedKey(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A key itself. Its fields are not declared, so that no key gets into memory, and from there into a text."""


class CustomerEncryptionKey(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The key of a disk; `key_type` (Managed, Supplied) says which of both is set."""

    key_type: str = always(str)
    kms_key_service_account: str | None = None
    managed_key: ManagedKey | None = None
    supplied_key: SuppliedKey | None = None


class AttachedDisk(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A disk beside the root disk; size in GB, 30 if absent."""

    device_type: str | None = None
    size: Int64 | None = None
    encryption_key: CustomerEncryptionKey | None = None


class ServiceAccount(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    email: str = ""
    scopes: list[str] = field(default_factory=list)


class ShieldedInstanceConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Each Enabled, Disabled or empty."""

    secure_boot: str = ""
    virtualized_trusted_platform_module: str = ""
    integrity_monitoring: str = ""


class Accelerator(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`type` is a partial URL: `zones/<z>/acceleratorTypes/<name>`."""

    count: Int64 = 0
    type: str = ""


class GCPMachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Sizes in GB. `service_accounts` is one account, despite its name."""

    instance_type: str = always(str)
    subnet: str | None = None
    alias_ip_ranges: list[AliasIPRange] = field(default_factory=list, name="aliasIPRanges")
    provider_id: str | None = field(default=None, name="providerID")
    image_family: str | None = None
    image: str | None = None
    additional_labels: dict[str, str] = field(default_factory=dict)
    additional_metadata: list[MetadataItem] = field(default_factory=list)
    public_ip: bool | None = field(default=None, name="publicIP")
    additional_network_tags: list[str] = field(default_factory=list)
    resource_manager_tags: list[ResourceManagerTag] = field(default_factory=list)
    root_device_size: Int64 = 0
    root_device_type: str | None = None
    additional_disks: list[AttachedDisk] = field(default_factory=list)
    service_accounts: ServiceAccount | None = None
    preemptible: bool = False
    provisioning_model: str | None = None
    ip_forwarding: str | None = None
    shielded_instance_config: ShieldedInstanceConfig | None = None
    on_host_maintenance: str | None = None
    confidential_compute: str | None = None
    root_disk_encryption_key: CustomerEncryptionKey | None = None
    guest_accelerators: list[Accelerator] = field(default_factory=list)


class GCPMachineStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`instance_state` is the cloud's word: RUNNING, STOPPING, ..."""

    ready: bool = always(bool)
    addresses: list[Address] = field(default_factory=list)
    instance_state: str | None = None
    failure_reason: str | None = None
    failure_message: str | None = None


class GCPMachine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("infrastructure.cluster.x-k8s.io", "v1beta1", "GCPMachine", "gcpmachines")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: GCPMachineSpec = always(GCPMachineSpec)
    status: GCPMachineStatus = always(GCPMachineStatus)


class GCPMachineTemplateResource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    metadata: TemplateMeta = always(TemplateMeta)
    spec: GCPMachineSpec = always(GCPMachineSpec)


class GCPMachineTemplateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    template: GCPMachineTemplateResource = always(GCPMachineTemplateResource)


class GCPMachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "GCPMachineTemplate", "gcpmachinetemplates"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: GCPMachineTemplateSpec = always(GCPMachineTemplateSpec)


class Network(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The network of all machines: `default` without a name, in the cluster's project without a `host_project`."""

    name: str | None = None
    host_project: str | None = None


class LoadBalancer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The tag is part of the names of the instance groups of control-plane machines; `apiserver` if absent."""

    api_server_instance_group_tag_override: str | None = None


class ServiceEndpoints(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """URLs of Google's services where they are not the public ones."""

    compute: str = ""
    container: str = ""
    iam: str = ""
    resource_manager: str = ""


class CredentialsReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The Secret with which the provider acts, in place of its own."""

    namespace: str = always(str)
    name: str = always(str)


class GCPClusterSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    project: str = always(str)
    region: str = always(str)
    network: Network = always(Network)
    additional_labels: dict[str, str] = field(default_factory=dict)
    resource_manager_tags: list[ResourceManagerTag] = field(default_factory=list)
    credentials_ref: CredentialsReference | None = None
    load_balancer: LoadBalancer = LoadBalancer()
    service_endpoints: ServiceEndpoints | None = None


class GCPCluster(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("infrastructure.cluster.x-k8s.io", "v1beta1", "GCPCluster", "gcpclusters")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: GCPClusterSpec = always(GCPClusterSpec)
