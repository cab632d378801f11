"""The Machine API: `machine.openshift.io/v1beta1` Machines and MachineSets.

Source: `github.com/openshift/api/machine/v1beta1`. The providers' types of `providerSpec.value` and
`status.providerStatus` are in `mapi_aws`, `mapi_openstack` and `mapi_powervs`.
"""

from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.core import NodeAddress, ObjectReference, Taint
from windlass.api.integers import Int32, Int64
from windlass.api.meta import LabelSelector, ObjectMeta, OwnerReference, Resource, SeverityCondition, always


class NestedMeta(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The metadata inside `spec` of a Machine: labels and annotations for its Node."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: list[OwnerReference] = field(default_factory=list)


class LifecycleHook(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    owner: str = always(str)


class LifecycleHooks(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Hooks that block the drain of a Machine (`pre_drain`) or the termination of its instance (`pre_terminate`)."""

    pre_drain: list[LifecycleHook] = field(default_factory=list)
    pre_terminate: list[LifecycleHook] = field(default_factory=list)


class ProviderSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`value` is a provider spec: a Struct when conversion made it, the plain JSON tree when it was decoded."""

    value: Any = None


class MachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    metadata: NestedMeta = always(NestedMeta)
    lifecycle_hooks: LifecycleHooks = always(LifecycleHooks)
    taints: list[Taint] = field(default_factory=list)
    provider_spec: ProviderSpec = always(ProviderSpec)
    provider_id: str | None = field(default=None, name="providerID")
    authoritative_api: str = field(default="", name="authoritativeAPI")


class LastOperation(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    description: str | None = None
    last_updated: str | None = None
    state: str | None = None
    type: str | None = None


class MachineStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`provider_status` is a Struct when conversion made it, the plain JSON tree when it was decoded."""

    node_ref: ObjectReference | None = None
    last_updated: str | None = None
    error_reason: str | None = None
    error_message: str | None = None
    provider_status: Any = None
    addresses: list[NodeAddress] = field(default_factory=list)
    last_operation: LastOperation | None = None
    phase: str | None = None
    conditions: list[SeverityCondition] = field(default_factory=list)
    authoritative_api: str = field(default="", name="authoritativeAPI")
    synchronized_api: str = field(default="", name="synchronizedAPI")
    synchronized_generation: Int64 = 0


class Machine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("machine.openshift.io", "v1beta1", "Machine", "machines")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: MachineSpec = always(MachineSpec)
    status: MachineStatus = always(MachineStatus)


class MachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    metadata: NestedMeta = always(NestedMeta)
    spec: MachineSpec = always(MachineSpec)


class MachineSetSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    delete_policy: str = ""
    selector: LabelSelector = always(LabelSelector)
    template: MachineTemplate = always(MachineTemplate)
    authoritative_api: str = field(default="", name="authoritativeAPI")


class MachineSetStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    replicas: Int32 = always(int)
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    observed_generation: Int64 = 0
    label_selector: str = ""
    error_reason: str | None = None
    error_message: str | None = None
    conditions: list[SeverityCondition] = field(default_factory=list)
    authoritative_api: str = field(default="", name="authoritativeAPI")
    synchronized_api: str = field(default="", name="synchronizedAPI")
    synchronized_generation: Int64 = 0


class MachineSet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource("machine.openshift.io", "v1beta1", "MachineSet", "machinesets")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: MachineSetSpec = always(MachineSetSpec)
    status: MachineSetStatus = always(MachineSetStatus)
