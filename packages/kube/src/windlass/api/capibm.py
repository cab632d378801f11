"""The Cluster API provider of IBM PowerVS: `infrastructure.cluster.x-k8s.io/v1beta2` machines, templates and clusters.

Source: `sigs.k8s.io/cluster-api-provider-ibmcloud/api/v1beta2`. IBMPowerVSCluster declares only fields that machines
need.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.integers import Int32
from windlass.api.meta import LocalReference, ObjectMeta, Resource, always


class PowerVSReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A PowerVS resource by one of ID, name or regular expression."""

    id: str | None = None
    name: str | None = None
    regex: str | None = None


class IBMPowerVSMachineSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`processors` is a number, or a string such as `"0.5"`; memory is in GiB."""

    service_instance_id: str = always(str, name="serviceInstanceID")
    service_instance: PowerVSReference | None = None
    ssh_key: str = ""
    image: PowerVSReference | None = None
    image_ref: LocalReference | None = None
    system_type: str = ""
    processor_type: str = ""
    processors: Int32 | str = always(int)
    memory_gib: Int32 = field(default=0, name="memoryGiB")
    network: PowerVSReference = always(PowerVSReference)
    provider_id: str | None = field(default=None, name="providerID")


class IBMPowerVSMachineStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    instance_id: str = field(default="", name="instanceID")
    ready: bool = always(bool)
    instance_state: str = ""
    region: str | None = None
    zone: str | None = None


class IBMPowerVSMachine(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "IBMPowerVSMachine", "ibmpowervsmachines"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: IBMPowerVSMachineSpec = always(IBMPowerVSMachineSpec)
    status: IBMPowerVSMachineStatus = always(IBMPowerVSMachineStatus)


class IBMPowerVSMachineTemplateResource(
    Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False
):
    spec: IBMPowerVSMachineSpec = always(IBMPowerVSMachineSpec)


class IBMPowerVSMachineTemplateSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    template: IBMPowerVSMachineTemplateResource = always(IBMPowerVSMachineTemplateResource)


class IBMPowerVSMachineTemplateStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`capacity` maps resource names to the quantities that a machine of this template offers."""

    capacity: dict[str, str] = field(default_factory=dict)


class IBMPowerVSMachineTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "IBMPowerVSMachineTemplate", "ibmpowervsmachinetemplates"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: IBMPowerVSMachineTemplateSpec = always(IBMPowerVSMachineTemplateSpec)
    status: IBMPowerVSMachineTemplateStatus = always(IBMPowerVSMachineTemplateStatus)


class IBMPowerVSCluster(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "IBMPowerVSCluster", "ibmpowervsclusters"
    )

    metadata: ObjectMeta = always(ObjectMeta)
