"""machineconfiguration.openshift.io/v1: images of the OS that are built in the cluster.

Source: `github.com/openshift/api/machineconfiguration/v1`. Both kinds are
cluster-scoped. A MachineOSConfig asks for images for a pool; each MachineOSBuild is one of its builds.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.machineconfiguration import GROUP
from windlass.api.meta import Condition, NamedReference, ObjectMeta, Resource, always


class ImageBuilder(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`image_builder_type` is Job."""

    image_builder_type: str = always(str)


class Containerfile(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The user's part of a Containerfile. `containerfile_arch` is ARM64, AMD64, PPC64LE, S390X or NoArch."""

    containerfile_arch: str = ""
    content: str = always(str)


class MachineOSConfigSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Encoded as Go does it: the names of builds are hashes of that. A missing `container_file` is null there."""

    machine_config_pool: NamedReference = always(NamedReference)
    image_builder: ImageBuilder = always(ImageBuilder)
    base_image_pull_secret: NamedReference | None = None
    rendered_image_push_secret: NamedReference = always(NamedReference)
    rendered_image_push_spec: str = always(str)
    container_file: list[Containerfile] | None = field(default_factory=lambda: None)


class ResourceReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A reference to an object of any kind; `resource` is the plural of the kind."""

    group: str = always(str)
    resource: str = always(str)
    namespace: str = ""
    name: str = always(str)


class MachineOSConfigStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`current_image_pull_spec` is the image that nodes get; `machine_os_build` is the build that pushed it."""

    conditions: list[Condition] = field(default_factory=list)
    observed_generation: int = 0
    current_image_pull_spec: str = ""
    machine_os_build: ResourceReference | None = field(default=None, name="machineOSBuild")


class MachineOSConfig(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Asks for images for the pool of the same name."""

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version="v1", kind="MachineOSConfig", plural="machineosconfigs", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: MachineOSConfigSpec = always(MachineOSConfigSpec)
    status: MachineOSConfigStatus = always(MachineOSConfigStatus)


class MachineOSBuildSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Immutable. `machine_config` is the rendered one; `rendered_image_push_spec` has the build's name as its tag."""

    machine_config: NamedReference = always(NamedReference)
    machine_os_config: NamedReference = always(NamedReference, name="machineOSConfig")
    rendered_image_push_spec: str = always(str)


class MachineOSBuilder(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What builds: with `image_builder_type` Job, `job` is required."""

    image_builder_type: str = always(str)
    job: ResourceReference | None = None


class MachineOSBuildStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Times are immutable once set, and the end is later than the start; conditions are immutable after the end."""

    conditions: list[Condition] = field(default_factory=list)
    builder: MachineOSBuilder | None = None
    build_start: str | None = None
    build_end: str | None = None
    digested_image_push_spec: str = ""


class MachineOSBuild(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """One build of an image of a MachineOSConfig."""

    RESOURCE: ClassVar[Resource] = Resource(
        group=GROUP, version="v1", kind="MachineOSBuild", plural="machineosbuilds", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: MachineOSBuildSpec = always(MachineOSBuildSpec)
    status: MachineOSBuildStatus = always(MachineOSBuildStatus)
