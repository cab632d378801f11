"""The Cluster API core: `cluster.x-k8s.io/v1beta2` Cluster, Machine and MachineSet.

Source: `sigs.k8s.io/cluster-api/api/core/v1beta2`. A nested struct that Go omits when it is zero (`omitzero`) has a
constant default here, and is omitted as long as it is that default.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.integers import Int32, Int64
from windlass.api.meta import ConvertedCondition, LabelSelector, ObjectMeta, Resource, SeverityCondition, always


class ContractReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A reference to an object in the same namespace; its version follows from the group's contract label."""

    kind: str = ""
    name: str = ""
    api_group: str = ""


class ClusterSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    paused: bool | None = None
    control_plane_ref: ContractReference = ContractReference()
    infrastructure_ref: ContractReference = ContractReference()


class ClusterInitialization(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    infrastructure_provisioned: bool | None = None


class ClusterStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    initialization: ClusterInitialization = ClusterInitialization()


class Cluster(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "Cluster", "clusters")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()


class Bootstrap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Where the first-boot configuration comes from: a config object, or a Secret that already has it."""

    config_ref: ContractReference = ContractReference()
    data_secret_name: str | None = None


class ReadinessGate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    condition_type: str = ""
    polarity: str = ""


class MachineDeletion(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """How long deletion waits at each stage, in seconds; None is the default of Cluster API, 0 is for ever."""

    node_drain_timeout_seconds: Int32 | None = None
    node_volume_detach_timeout_seconds: Int32 | None = None
    node_deletion_timeout_seconds: Int32 | None = None


class Taint(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""
    propagation: str = ""


class MachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    cluster_name: str = ""
    bootstrap: Bootstrap = Bootstrap()
    infrastructure_ref: ContractReference = ContractReference()
    version: str = ""
    provider_id: str = field(default="", name="providerID")
    failure_domain: str = ""
    min_ready_seconds: Int32 | None = None
    readiness_gates: list[ReadinessGate] = field(default_factory=list)
    deletion: MachineDeletion = MachineDeletion()
    taints: list[Taint] = field(default_factory=list)


class MachineInitialization(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    infrastructure_provisioned: bool | None = None
    bootstrap_data_secret_created: bool | None = None


class NodeReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""


class Address(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = ""
    address: str = ""


class MachineV1Beta1Status(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What is left of the older contract's status."""

    conditions: list[SeverityCondition] = field(default_factory=list)
    failure_reason: str | None = None
    failure_message: str | None = None


class MachineDeprecatedStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    v1beta1: MachineV1Beta1Status | None = None


class MachineStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    conditions: list[ConvertedCondition] = field(default_factory=list)
    initialization: MachineInitialization = MachineInitialization()
    node_ref: NodeReference = NodeReference()
    last_updated: str | None = None
    addresses: list[Address] = field(default_factory=list)
    phase: str = ""
    certificates_expiry_date: str | None = None
    observed_generation: Int64 = 0
    deprecated: MachineDeprecatedStatus | None = None


class Machine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "Machine", "machines")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()


class TemplateMeta(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The metadata that objects made from a template get."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class MachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    metadata: TemplateMeta = TemplateMeta()
    spec: MachineSpec = MachineSpec()


class MachineSetDeletion(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    order: str = ""


class MachineNaming(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    template: str = ""


class MachineSetSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    cluster_name: str = ""
    replicas: Int32 | None = None
    selector: LabelSelector = LabelSelector()
    template: MachineTemplate = MachineTemplate()
    machine_naming: MachineNaming = MachineNaming()
    deletion: MachineSetDeletion = MachineSetDeletion()


class MachineSetV1Beta1Status(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What is left of the older contract's status."""

    conditions: list[SeverityCondition] = field(default_factory=list)
    failure_reason: str | None = None
    failure_message: str | None = None
    fully_labeled_replicas: Int32 = always(int)
    ready_replicas: Int32 = always(int)
    available_replicas: Int32 = always(int)


class MachineSetDeprecatedStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    v1beta1: MachineSetV1Beta1Status | None = None


class MachineSetStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    conditions: list[ConvertedCondition] = field(default_factory=list)
    selector: str = ""
    replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    available_replicas: Int32 | None = None
    up_to_date_replicas: Int32 | None = None
    observed_generation: Int64 = 0
    deprecated: MachineSetDeprecatedStatus | None = None


class MachineSet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "MachineSet", "machinesets")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()
