"""Reads what a pool asks for from the pool and the ConfigMaps, or says what is wrong with them. Pure.

| what | where |
|---|---|
| opted in | the pool's annotation or label `layering-enabled`, with any value |
| configuration | the pool's `spec.configuration.name`: a rendered MachineConfig |
| target, Secrets, backend | ConfigMap `machine-os-builder-config`; only if there is none, `on-cluster-build-config` |
| the user's part | ConfigMap `on-cluster-build-custom-dockerfile`, key: the pool's name |
| images of the OS | for rendered MachineConfigs that name none: `streams`, then ConfigMap `machine-config-osimageurl` |
| another build | the pool's annotation `rebuild`: another value |

Keys, values and the text about a missing key are those of the operator's first builder.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.os_build.constants import (
    BUILDER_CONFIG,
    BUILDER_CONFIG_ALIAS,
    CONTAINERFILES,
    LAYERING,
    NAMESPACE,
    REBUILD,
)
from windlass.os_build.environment import Egress
from windlass.os_build.placement import Placement, placement_of
from windlass.os_build.pullspec import Target

RENDERED: Final = "rendered-"
PULL_SECRET: Final = "baseImagePullSecretName"
PUSH_SECRET: Final = "finalImagePushSecretName"
PULLSPEC: Final = "finalImagePullspec"
BUILDER_TYPE: Final = "imageBuilderType"


class BackendName(StrEnum):
    """The backends, as this project names them."""

    OPENSHIFT = "openshift"
    JOB = "job"
    LOCAL = "local"

    @property
    def remedy(self) -> str:
        """How a process is started with it; empty: it always is."""
        return "start it with --local-builds DIR" if self is BackendName.LOCAL else ""


BUILDER_TYPES: Final[Mapping[str, BackendName]] = {
    "openshift-image-builder": BackendName.OPENSHIFT,
    "custom-pod-builder": BackendName.JOB,
    "Job": BackendName.JOB,
    "local": BackendName.LOCAL,
}
"""The values of `imageBuilderType`."""


class OsImages(Struct, frozen=True):
    """The images of a release: `base`, `extensions` (may be empty), and the release's version.

    stream   the stream of the OS that they are of; empty: of none
    missing  why there is none of the stream that the pool names; empty: there is
    """

    base: str = ""
    extensions: str = ""
    release: str = ""
    stream: str = ""
    missing: str = ""


class Request(Struct, frozen=True, kw_only=True):
    """What a pool asks for.

    config         name of the rendered MachineConfig
    containerfile  the user's part, may be empty
    claimed_by     the MachineOSConfig that asks; empty: the pool itself does, by its ConfigMaps
    rebuild        the value of the annotation `rebuild`, empty if there is none
    images         for a MachineConfig that names no image itself
    backend        None: whichever is the default on this cluster
    egress         how the builder reaches registries, and whom it trusts
    placement      what the ConfigMap of the builder says of builder Pods
    architectures  those that builders are chosen for, sorted (`architectures`); none: builders run anywhere
    containerfiles the user's part by architecture, where it is not the same for all
    architecture   of one build: what its builder is to run on; empty: anything
    cluster        the identity of the cluster, if images say which one built them; else empty
    """

    pool: str
    config: str
    target: Target
    pull_secret: str
    push_secret: str
    containerfile: str = ""
    claimed_by: str = ""
    rebuild: str = ""
    images: OsImages = OsImages()
    backend: BackendName | None = None
    egress: Egress = Egress()
    placement: Placement = Placement()
    architectures: tuple[str, ...] = ()
    containerfiles: tuple[tuple[str, str], ...] = ()
    architecture: str = ""
    cluster: str = ""

    def on(self, architecture: str) -> "Request":
        """The request as a builder of this architecture gets it; empty: as any builder does."""
        part = dict(self.containerfiles).get(architecture, self.containerfile)
        return replace(self, architecture=architecture, containerfile=part)

    @property
    def is_listed(self) -> bool:
        """The image is a list of images, one for each architecture."""
        return len(self.architectures) > 1

    @property
    def written_in(self) -> str:
        """Where the user's part stands, for messages."""
        if self.claimed_by:
            return f"MachineOSConfig {self.claimed_by}: spec.containerFile"
        return f"ConfigMap {NAMESPACE}/{CONTAINERFILES}, key {self.pool}"

    @property
    def named_in(self) -> str:
        """Where target and Secrets are named, for messages; empty: in the ConfigMap of the builder, by their keys."""
        return f"MachineOSConfig {self.claimed_by}" if self.claimed_by else ""


class Problem(Struct, frozen=True):
    """Why there can be no image now. `text` names the object, the field and the remedy; `reason` is one word."""

    reason: str
    text: str


class Given(Struct, frozen=True):
    """The data of the ConfigMaps; None: it does not exist."""

    config: Mapping[str, str] | None = None
    config_alias: Mapping[str, str] | None = None
    containerfiles: Mapping[str, str] | None = None
    os_images: Mapping[str, str] | None = None


def opted_in(pool: MachineConfigPool) -> bool:
    """The annotation or label is present; the value does not matter."""
    return LAYERING in pool.metadata.annotations or LAYERING in pool.metadata.labels


def rendered_config(pool: MachineConfigPool) -> str | Problem:
    """The name of the rendered MachineConfig that the pool wants."""
    name, config = pool.metadata.name, pool.spec.configuration.name
    if not config:
        return Problem(
            "NotRendered", f"MachineConfigPool {name} has no rendered MachineConfig in spec.configuration yet"
        )
    if not config.startswith(RENDERED):
        return Problem(
            "NotRendered",
            f"{config} is not a rendered MachineConfig: spec.configuration.name of MachineConfigPool {name} must name "
            "one that the Machine Config Operator rendered",
        )
    return config


def requested(pool: MachineConfigPool, given: Given) -> Request | Problem:
    """What an opted-in pool asks for."""
    name, config = pool.metadata.name, rendered_config(pool)
    if isinstance(config, Problem):
        return config
    where, data = _builder_config(given)
    if data is None:
        return Problem(
            "ConfigurationMissing",
            f"ConfigMap {NAMESPACE}/{BUILDER_CONFIG} does not exist: create it with the keys {PULL_SECRET}, "
            f"{PUSH_SECRET} and {PULLSPEC}",
        )
    for key in (PULL_SECRET, PUSH_SECRET, PULLSPEC):
        if not data.get(key, "").strip():
            text = f'missing required key "{key}" in configmap {where}: add it in namespace {NAMESPACE}'
            return Problem("ConfigurationInvalid", text)
    try:
        target = Target.parse(data[PULLSPEC].strip())
    except ValueError as error:
        return Problem("ConfigurationInvalid", f"{PULLSPEC} in ConfigMap {NAMESPACE}/{where}: {error}")
    backend = None
    if wanted := data.get(BUILDER_TYPE, "").strip():
        backend = BUILDER_TYPES.get(wanted)
        if backend is None:
            known = ", ".join(BUILDER_TYPES)
            return Problem(
                "ConfigurationInvalid",
                f"{BUILDER_TYPE} in ConfigMap {NAMESPACE}/{where} is {wanted!r}: write one of {known}, or remove it",
            )
    placement = placement_in(given)
    if isinstance(placement, Problem):
        return placement
    images = given.os_images or {}
    return Request(
        pool=name,
        config=config,
        target=target,
        pull_secret=data[PULL_SECRET].strip(),
        push_secret=data[PUSH_SECRET].strip(),
        containerfile=(given.containerfiles or {}).get(name, ""),
        rebuild=pool.metadata.annotations.get(REBUILD, ""),
        images=OsImages(
            base=images.get("baseOSContainerImage", ""),
            extensions=images.get("baseOSExtensionsContainerImage", ""),
            release=images.get("releaseVersion", ""),
        ),
        backend=backend,
        placement=placement,
    )


def placement_in(given: Given) -> Placement | Problem:
    """What the builder's ConfigMap says of builder Pods, also of those that MachineOSConfigs ask for."""
    where, data = _builder_config(given)
    try:
        return placement_of(data or {})
    except ValueError as error:
        return Problem("ConfigurationInvalid", f"ConfigMap {NAMESPACE}/{where}: {error}")


def _builder_config(given: Given) -> tuple[str, Mapping[str, str] | None]:
    """The name of the builder's ConfigMap, and its data."""
    return (BUILDER_CONFIG, given.config) if given.config is not None else (BUILDER_CONFIG_ALIAS, given.config_alias)
