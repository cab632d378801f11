"""Reads what a MachineOSConfig asks for, or says what is wrong with it. Pure.

| what | where |
|---|---|
| configuration | the `spec.configuration.name` of the pool that it names |
| target | `renderedImagePushSpec`; its tag is replaced |
| Secrets | `renderedImagePushSecret`; `baseImagePullSecret`, or the operator's copy of the cluster's pull secret |
| the user's part | `containerFile`: the entry NoArch, which is the only one that the operator takes |

An entry for an architecture counts only where there is none for all: then it must be that of the builders.

The API takes only some digests into a status, and says so when everything is built and pushed. Such targets are refused
here, at once.
"""

import re
from collections.abc import Sequence
from typing import Final

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import Containerfile, MachineOSConfig
from windlass.api.meta import ObjectMeta
from windlass.os_build.constants import GLOBAL_PULL_SECRET, NAMESPACE
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BUILDER_TYPES, Problem, Request, rendered_config

ANY_ARCHITECTURE: Final = "NoArch"
LONGEST_LABEL: Final = 63
"""Characters that the API takes for the value of a label."""
_REPORTABLE: Final = re.compile(r"([a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(:[0-9]{2,5})?/([a-zA-Z0-9_-]{0,61}/)?[a-zA-Z0-9_.-]*")
"""Repositories whose digests the API takes. Source: the CRDs of MachineOSConfig and MachineOSBuild."""


def precedence(config: ObjectMeta, *, pool: str) -> tuple[bool, str, str]:
    """Of several MachineOSConfigs that name a pool, the least one is served: that of the pool's name, else the oldest.

    Newer API servers admit no other name; older ones admit several, of which the operator takes any.
    """
    return config.name != pool, config.creation_timestamp or "", config.name


def requested(
    config: MachineOSConfig, pool: MachineConfigPool, *, architecture: str | None, target: Target | None = None
) -> Request | Problem:
    """The request of a MachineOSConfig for `pool`, the pool named in its spec.

    `architecture` is that of the builder, such as amd64; None: the request is without the user's part. `target` takes
    the place of `renderedImagePushSpec`.
    """
    name, spec = config.metadata.name, config.spec
    if isinstance(rendered := rendered_config(pool), Problem):
        return rendered
    if len(rendered) > LONGEST_LABEL:
        return Problem(
            "ConfigurationInvalid",
            f"MachineOSConfig {name}: the name of pool {pool.metadata.name} is too long, as {rendered} labels its "
            f"MachineOSBuilds and has more than {LONGEST_LABEL} characters: use a pool with a name of at most 22",
        )
    builder = spec.image_builder.image_builder_type
    if builder not in BUILDER_TYPES:
        return _invalid(name, f"imageBuilder.imageBuilderType is {builder!r}: write Job")
    if not (push_secret := spec.rendered_image_push_secret.name):
        return _invalid(name, f"renderedImagePushSecret.name is empty: name a Secret in namespace {NAMESPACE}")
    if isinstance(pushed := target or _target(name, spec.rendered_image_push_spec), Problem):
        return pushed
    containerfile: str | Problem = ""
    if architecture is not None:
        containerfile = _containerfile(name, spec.container_file or (), architecture)
    if isinstance(containerfile, Problem):
        return containerfile
    pull_secret = spec.base_image_pull_secret.name if spec.base_image_pull_secret else ""
    return Request(
        pool=pool.metadata.name,
        config=rendered,
        target=pushed,
        pull_secret=pull_secret or GLOBAL_PULL_SECRET,
        push_secret=push_secret,
        containerfile=containerfile,
        backend=BUILDER_TYPES[builder],
        claimed_by=name,
    )


def _target(name: str, spec: str) -> Target | Problem:
    try:
        target = Target.parse(spec)
    except ValueError as error:
        return _invalid(name, f"renderedImagePushSpec: {error}")
    if not _REPORTABLE.fullmatch(str(target)):
        return _invalid(
            name,
            f"renderedImagePushSpec is {spec!r}, and the API takes no digest of {target} into its status: push to "
            "host[:port]/namespace/name or host[:port]/name, with a host that has a dot and a namespace without one",
        )
    return target


def _containerfile(name: str, entries: Sequence[Containerfile], architecture: str) -> str | Problem:
    by_architecture = {entry.containerfile_arch or ANY_ARCHITECTURE: entry.content for entry in reversed(entries)}
    if not by_architecture:
        return ""
    for wanted in (ANY_ARCHITECTURE, architecture.upper()):
        if wanted in by_architecture:
            return by_architecture[wanted]
    return _invalid(
        name,
        f"containerFile has entries for {', '.join(sorted(by_architecture))}, and images are built on "
        f"{architecture}: add an entry with containerfileArch {architecture.upper()} or {ANY_ARCHITECTURE}",
    )


def _invalid(name: str, text: str) -> Problem:
    return Problem("ConfigurationInvalid", f"MachineOSConfig {name}: spec.{text}")
