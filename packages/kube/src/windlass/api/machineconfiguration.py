"""machineconfiguration.openshift.io/v1: the operating system of nodes. Source: `github.com/openshift/api`, same path.

All kinds are cluster-scoped. A MachineConfig may be a megabyte, so `MachineConfig` is its metadata only.
`windlass.api.machineosconfig` has the kinds that are about images.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.core import ObjectReference
from windlass.api.meta import Condition, LabelSelector, NamedReference, ObjectMeta, PlainCondition, Resource, always

GROUP = "machineconfiguration.openshift.io"


class PoolConfiguration(ObjectReference, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The rendered MachineConfig of a pool, by `name`, and the MachineConfigs that it was made from."""

    source: list[ObjectReference] = field(default_factory=list)


class MachineConfigPoolSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`node_selector` None selects no node. `configuration` is the MachineConfig that all nodes shall get.

    `max_unavailable`: so many nodes, or `10%` of them, are updated at the same time; None: one. `os_image_stream`: the
    stream that the nodes follow; None: the default one.
    """

    node_selector: LabelSelector | None = None
    max_unavailable: int | str | None = None
    paused: bool = False
    configuration: PoolConfiguration = always(PoolConfiguration)
    os_image_stream: NamedReference | None = None


class MachineConfigPoolStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`configuration` is that of the spec when all nodes had it last: what the whole pool runs. `machine_count` nodes
    are in the pool, `updated_machine_count` of them run what its spec asks for. `observed_generation`: of the spec that
    the Machine Config Controller has seen."""

    observed_generation: int = 0
    machine_count: int = 0
    updated_machine_count: int = 0
    configuration: PoolConfiguration = always(PoolConfiguration)
    conditions: list[PlainCondition] = field(default_factory=list)


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


class RenderedMachineConfigSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The fields that decide on the image of the OS. `kernel_type` is default, realtime or 64k-pages."""

    os_image_url: str = field(default="", name="osImageURL")
    base_os_extensions_container_image: str = field(default="", name="baseOSExtensionsContainerImage")
    kernel_type: str = ""
    kernel_arguments: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)


class RenderedMachineConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A MachineConfig with more than its metadata: one that was rendered for a pool, read by name and not watched."""

    RESOURCE: ClassVar[Resource] = MachineConfig.RESOURCE

    metadata: ObjectMeta = always(ObjectMeta)
    spec: RenderedMachineConfigSpec = always(RenderedMachineConfigSpec)


class Proxy(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: str = ""


class ImageRegistryBundle(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Certificates of a registry: `file` is its host, with two dots for a colon, `data` base64 of PEM certificates."""

    file: str = ""
    data: str = ""


class ControllerConfigSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`additional_trust_bundle` is base64 of PEM certificates. The registry bundles are the cluster's own and the
    user's."""

    base_os_container_image: str = field(default="", name="baseOSContainerImage")
    base_os_extensions_container_image: str = field(default="", name="baseOSExtensionsContainerImage")
    additional_trust_bundle: str | None = None
    image_registry_bundle_data: list[ImageRegistryBundle] | None = None
    image_registry_bundle_user_data: list[ImageRegistryBundle] | None = None
    proxy: Proxy | None = None


class ControllerConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`machine-config-controller`: what the operator tells the controllers that render and build."""

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version="v1", kind="ControllerConfig", plural="controllerconfigs", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ControllerConfigSpec = always(ControllerConfigSpec)


class OSImageStreamSet(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The images of a stream, by digest."""

    name: str
    os_image: str
    os_extensions_image: str


class OSImageStreamSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    default_stream: str


class OSImageStreamStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`default_stream` is that of pools which name none."""

    available_streams: list[OSImageStreamSet]
    default_stream: str


class OSImageStream(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`cluster`: the streams of the OS that the release has. `status` None: the operator has not read the release yet.

    Clusters before the feature gate OSStreams do not serve it.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version="v1", kind="OSImageStream", plural="osimagestreams", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OSImageStreamSpec
    status: OSImageStreamStatus | None = None


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
