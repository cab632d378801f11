"""The Machine API's types for AWS: AWSMachineProviderConfig and AWSMachineProviderStatus.

Source: `github.com/openshift/api/machine/v1beta1` (both are `machine.openshift.io/v1beta1`). They are never separate
objects: the config is `spec.providerSpec.value` of a Machine, the status its `status.providerStatus`.
"""

from msgspec import Struct, field

from windlass.api.integers import Int32, Int64
from windlass.api.meta import ConvertedCondition, LocalReference, ObjectMeta, always


class Filter(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    values: list[str] = field(default_factory=list)


class ResourceReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An AWS resource by one of ID, ARN or filters."""

    id: str | None = None
    arn: str | None = None
    filters: list[Filter] = field(default_factory=list)


class Tag(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    value: str = always(str)


class CPUOptions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    confidential_compute: str | None = None


class EBSVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An EBS volume: size in GiB, throughput in MiB/s."""

    delete_on_termination: bool | None = None
    encrypted: bool | None = None
    kms_key: ResourceReference = always(ResourceReference)
    iops: Int64 | None = None
    throughput_mib: Int32 | None = None
    volume_size: Int64 | None = None
    volume_type: str | None = None


class BlockDevice(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A volume of the machine; without `device_name` it is the root volume."""

    device_name: str | None = None
    ebs: EBSVolume | None = None
    no_device: str | None = None
    virtual_name: str | None = None


class SpotMarketOptions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    max_price: str | None = None


class MetadataServiceOptions(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    authentication: str = ""


class DynamicHostAllocation(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    tags: list[Tag] | None = None


class DedicatedHost(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    allocation_strategy: str | None = None
    id: str = ""
    dynamic_host_allocation: DynamicHostAllocation | None = None


class HostPlacement(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    affinity: str | None = None
    dedicated_host: DedicatedHost | None = None


class Placement(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    region: str = ""
    availability_zone: str = ""
    tenancy: str = ""
    host: HostPlacement | None = None


class LoadBalancer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A load balancer that a control-plane machine registers with; `type` is `classic` or `network`."""

    name: str = always(str)
    type: str = always(str)


class AWSMachineProviderConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = always(ObjectMeta)
    ami: ResourceReference = always(ResourceReference)
    instance_type: str = always(str)
    cpu_options: CPUOptions | None = None
    tags: list[Tag] = field(default_factory=list)
    iam_instance_profile: ResourceReference | None = None
    user_data_secret: LocalReference | None = None
    credentials_secret: LocalReference | None = None
    key_name: str | None = None
    device_index: Int64 = always(int)
    public_ip: bool | None = None
    network_interface_type: str = ""
    security_groups: list[ResourceReference] = field(default_factory=list)
    subnet: ResourceReference = always(ResourceReference)
    placement: Placement = always(Placement)
    load_balancers: list[LoadBalancer] = field(default_factory=list)
    block_devices: list[BlockDevice] = field(default_factory=list)
    spot_market_options: SpotMarketOptions | None = None
    metadata_service_options: MetadataServiceOptions = always(MetadataServiceOptions)
    placement_group_name: str = ""
    placement_group_partition: Int32 | None = None
    capacity_reservation_id: str = always(str)
    market_type: str = ""


class DedicatedHostStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    id: str = ""


class AWSMachineProviderStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    kind: str = ""
    api_version: str = ""
    instance_id: str | None = None
    instance_state: str | None = None
    conditions: list[ConvertedCondition] = field(default_factory=list)
    dedicated_host: DedicatedHostStatus | None = None
