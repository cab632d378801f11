"""machineconfiguration.openshift.io/v1: the operating system of nodes. Source: `github.com/openshift/api`, same path.

All kinds are cluster-scoped, and Windlass only reads them. Of a MachineConfig, which may be a megabyte, it reads the
metadata.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.config import OperatorCondition
from windlass.api.meta import Condition, ObjectMeta, Resource, always

GROUP = "machineconfiguration.openshift.io"


class LabelSelectorRequirement(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`operator` is In, NotIn, Exists or DoesNotExist."""

    key: str = always(str)
    operator: str = always(str)
    values: list[str] = field(default_factory=list)


class LabelSelector(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """All requirements must hold; an empty selector selects everything."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[LabelSelectorRequirement] = field(default_factory=list)


class PoolConfiguration(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The rendered MachineConfig of a pool."""

    name: str = ""


class MachineConfigPoolSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`node_selector` None selects no node. `configuration` is the MachineConfig that all nodes shall get."""

    node_selector: LabelSelector | None = None
    paused: bool = False
    configuration: PoolConfiguration = always(PoolConfiguration)


class MachineConfigPoolStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    conditions: list[OperatorCondition] = field(default_factory=list)


class MachineConfigPool(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version="v1", kind="MachineConfigPool", plural="machineconfigpools", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: MachineConfigPoolSpec = always(MachineConfigPoolSpec)
    status: MachineConfigPoolStatus = always(MachineConfigPoolStatus)


class MachineConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version="v1", kind="MachineConfig", plural="machineconfigs", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)


class MachineConfigNodeStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Each step of an update is a condition; status Unknown means that the step is under way."""

    conditions: list[Condition] = field(default_factory=list)


class MachineConfigNode(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The progress of the node of the same name."""

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version="v1", kind="MachineConfigNode", plural="machineconfignodes", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    status: MachineConfigNodeStatus = always(MachineConfigNodeStatus)
