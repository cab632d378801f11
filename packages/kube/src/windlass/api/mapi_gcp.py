"""The Machine API's types for Google Cloud: GCPMachineProviderSpec and GCPMachineProviderStatus.

Source: `github.com/openshift/api/machine/v1beta1` (both are `machine.openshift.io/v1beta1`; clusters of before 4.10
have specs of `gcpprovider.openshift.io/v1beta1`, which are the same). They are never separate objects: the spec is
`spec.providerSpec.value` of a Machine, the status its `status.providerStatus`.
"""

from types import NoneType

from msgspec import Struct, field

from windlass.api.integers import Int32, Int64
from windlass.api.meta import ConvertedCondition, LocalReference, ObjectMeta, always


class KMSKey(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A key of Cloud KMS; without `project_id` it is in the project of the machine."""

    name: str = always(str)
    key_ring: str = always(str)
    project_id: str = field(default="", name="projectID")
    location: str = always(str)


class EncryptionKey(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The key of a disk; without `kms_key` the Machine API ignores it."""

    kms_key: KMSKey | None = None
    kms_key_service_account: str = ""


class Disk(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A disk of the machine; size in GB, 0 for that of the image."""

    auto_delete: bool = always(bool)
    boot: bool = always(bool)
    size_gb: Int64 = always(int)
    type: str = always(str)
    image: str = always(str)
    labels: dict[str, str] | None = always(NoneType)
    encryption_key: EncryptionKey | None = None


class Metadata(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A metadata item of the instance; its value may be absent."""

    key: str = always(str)
    value: str | None = always(NoneType)


class NetworkInterface(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A network interface; without `project_id` the network is in the project of the machine."""

    public_ip: bool = field(default=False, name="publicIP")
    network: str = ""
    project_id: str = field(default="", name="projectID")
    subnetwork: str = ""


class ServiceAccount(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    email: str = always(str)
    scopes: list[str] | None = always(NoneType)


class GPU(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    count: Int32 = always(int)
    type: str = always(str)


class ShieldedInstanceConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Each Enabled, Disabled or empty."""

    secure_boot: str = ""
    virtualized_trusted_platform_module: str = ""
    integrity_monitoring: str = ""


class ResourceManagerTag(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    parent_id: str = always(str, name="parentID")
    key: str = always(str)
    value: str = always(str)


class GCPMachineProviderSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`gcp_metadata` are the metadata items of the instance; `metadata` means nothing."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta)
    user_data_secret: LocalReference | None = None
    credentials_secret: LocalReference | None = None
    can_ip_forward: bool = always(bool, name="canIPForward")
    deletion_protection: bool = always(bool)
    disks: list[Disk] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    gcp_metadata: list[Metadata] = field(default_factory=list)
    network_interfaces: list[NetworkInterface] = field(default_factory=list)
    service_accounts: list[ServiceAccount] | None = always(NoneType)
    tags: list[str] = field(default_factory=list)
    target_pools: list[str] = field(default_factory=list)
    machine_type: str = always(str)
    region: str = always(str)
    zone: str = always(str)
    project_id: str = field(default="", name="projectID")
    gpus: list[GPU] = field(default_factory=list)
    preemptible: bool = False
    provisioning_model: str | None = None
    on_host_maintenance: str = ""
    restart_policy: str = ""
    shielded_instance_config: ShieldedInstanceConfig = always(ShieldedInstanceConfig)
    confidential_compute: str = ""
    resource_manager_tags: list[ResourceManagerTag] = field(default_factory=list)


class GCPMachineProviderStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`instance_state` is the cloud's word: RUNNING, STOPPING, ..."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta)
    instance_id: str | None = None
    instance_state: str | None = None
    conditions: list[ConvertedCondition] = field(default_factory=list)
