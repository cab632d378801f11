"""build.openshift.io/v1: a Build of OpenShift, without BuildConfig. Source: `github.com/openshift/api`, same path.

Windlass creates Builds from a Dockerfile and reads how they are going. The kind has no status subresource: whoever
cancels a Build sets `status.cancelled` on the object itself.
"""

from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.core import ObjectReference
from windlass.api.meta import LocalReference, ObjectMeta, Resource, always

GROUP = "build.openshift.io"


class ConfigMapBuildSource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A ConfigMap whose keys become files in `destination_dir`, relative to the root of the context."""

    config_map: LocalReference = always(LocalReference)
    destination_dir: str = ""


class BuildSource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The context. `dockerfile` is its text; with `type` Dockerfile it must not be empty."""

    type: str = ""
    dockerfile: str | None = None
    config_maps: list[ConfigMapBuildSource] = field(default_factory=list)


class BuildVolumeSource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`type` is Secret or ConfigMap; the field of that name is as in a Pod."""

    type: str = always(str)
    secret: dict[str, Any] | None = None
    config_map: dict[str, Any] | None = None


class BuildVolumeMount(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    destination_path: str = always(str)


class BuildVolume(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Files that RUN steps see, read-only; they are in no layer. `name` is a DNS label."""

    name: str = always(str)
    source: BuildVolumeSource = always(BuildVolumeSource)
    mounts: list[BuildVolumeMount] = field(default_factory=list)


class DockerBuildStrategy(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`pull_secret` is for base images. `image_optimization_policy` is None, SkipLayers or SkipLayersAndWarn."""

    pull_secret: LocalReference | None = None
    no_cache: bool = False
    force_pull: bool = False
    image_optimization_policy: str | None = None
    volumes: list[BuildVolume] = field(default_factory=list)


class BuildStrategy(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = ""
    docker_strategy: DockerBuildStrategy | None = None


class ImageLabel(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    value: str = ""


class BuildOutput(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Where the image is pushed: `to` of kind DockerImage has a pullspec as its name."""

    to: ObjectReference | None = None
    push_secret: LocalReference | None = None
    image_labels: list[ImageLabel] = field(default_factory=list)


class ResourceRequirements(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Quantities by name of the resource."""

    limits: dict[str, str | int] = field(default_factory=dict)
    requests: dict[str, str | int] = field(default_factory=dict)


class BuildSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`completion_deadline_seconds` counts from when the Build's Pod is scheduled. `mount_trusted_ca` gives the build
    the certificates that the cluster trusts."""

    source: BuildSource = always(BuildSource)
    strategy: BuildStrategy = always(BuildStrategy)
    output: BuildOutput = always(BuildOutput)
    resources: ResourceRequirements = always(ResourceRequirements)
    completion_deadline_seconds: int | None = None
    node_selector: dict[str, str] | None = None
    mount_trusted_ca: bool | None = field(default=None, name="mountTrustedCA")


class BuildStatusOutputTo(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    image_digest: str = ""
    """Of the pushed image, `sha256:...`; it may be empty although the image was pushed."""


class BuildStatusOutput(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    to: BuildStatusOutputTo | None = None


class BuildStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`phase` is New, Pending, Running, Complete, Failed, Error or Cancelled; `reason` and `message` are set when
    something is wrong; `log_snippet` is the end of the log of a failed Build."""

    phase: str = always(str)
    cancelled: bool = False
    reason: str = ""
    message: str = ""
    start_timestamp: str | None = None
    completion_timestamp: str | None = None
    output_docker_image_reference: str = ""
    output: BuildStatusOutput = always(BuildStatusOutput)
    stages: list[dict[str, Any]] = field(default_factory=list)
    log_snippet: str = ""


class Build(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(group=GROUP, version="v1", kind="Build", plural="builds")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: BuildSpec = always(BuildSpec)
    status: BuildStatus = always(BuildStatus)
