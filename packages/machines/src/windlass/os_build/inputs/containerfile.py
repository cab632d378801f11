"""Renders the Containerfile, and the scripts that it runs.

| stage | by ignition | as a tree |
|---|---|---|
| `extract` | unpacks the MachineConfig | |
| `configs`, from the base image | the MachineConfig; Ignition applies it; packages | units; the tree |
| the same | the trust bundle, if there is one; labels | the same |
| the user's part | continues `configs`, or begins with `FROM configs AS final` | the same |
| the same | the lint of image mode | the same, if a command runs before |

Stages, paths and labels are the operator's. We differ in this: the MachineConfig is plain gzip, without base64; the
file on the image is 0600, since it may hold secrets; the extensions image is named only if something is installed
from it; `releaseversion` is still a label. Scripts are files, because buildah 1.28 knows no heredoc.
"""

import re
from collections.abc import Mapping
from typing import Final

from windlass.os_build.constants import NAMESPACE, OS_IMAGES
from windlass.os_build.environment import BUNDLE
from windlass.os_build.inputs.extensions import DEFAULT, MOUNT, Wanted, script
from windlass.os_build.inputs.image_mode import COMMIT, linted, runs_commands
from windlass.os_build.inputs.labels import (
    BASE_LABEL,
    CLUSTER_LABEL,
    CONFIG_LABEL,
    POOL_LABEL,
    RELEASE_LABEL,
    cluster_mark,
)
from windlass.os_build.inputs.machine_config import Rendered
from windlass.os_build.inputs.tree import CURRENT_CONFIG
from windlass.os_build.request import Problem, Request

ROOT_ARCHIVE: Final = "rootfs.tar.gz"
MACHINE_CONFIG: Final = "machineconfig.json.gz"
INSTALL_SCRIPT: Final = "extensions.sh"
UNITS_SCRIPT: Final = "units.sh"
APPLY_SCRIPT: Final = "ignition.sh"
_ANCHORS: Final = "/etc/pki/ca-trust/source/anchors"
_PULLSPEC: Final = re.compile(r"[\w.:/@\[\]-]+", re.ASCII)

APPLY: Final = f"""\
#!/bin/sh
# Applies the Ignition configuration of the rendered MachineConfig to this image.
set -eu

work=$(mktemp -d)
ignition=/usr/lib/dracut/modules.d/30ignition/ignition
if ! [ -e "$ignition" ]; then
    echo "the base image has no Ignition ($ignition): apply the configuration by --apply-by tree" >&2
    exit 127
fi
jq .spec.config {CURRENT_CONFIG} > "$work/config.ign"
# Ignition applies a configuration to a live system if its program has this name.
ln -s "$ignition" "$work/ignition-apply"
container=oci "$work/ignition-apply" --ignore-unsupported "$work/config.ign"
rm -rf "$work" "$0"
{COMMIT}"""


def release(rendered: Rendered, request: Request) -> str:
    """The version of OpenShift that the image is for; empty if unknown."""
    return rendered.release or request.images.release


def base_image(rendered: Rendered, request: Request) -> str | Problem:
    """The image to build on: the MachineConfig's, otherwise that of the release."""
    places = {
        f"spec.osImageURL of MachineConfig {request.config}": rendered.spec.os_image,
        f"baseOSContainerImage in ConfigMap {NAMESPACE}/{OS_IMAGES}": request.images.base,
    }
    text = f"no base image is known{_of_stream(request)}: set {' or '.join(places)}"
    return _first(places) or Problem("BaseImageMissing", text)


def extensions_image(rendered: Rendered, request: Request, wanted: Wanted) -> str | Problem:
    """The image that has the packages; empty if nothing is wanted from it."""
    if not wanted:
        return ""
    places = {
        f"spec.baseOSExtensionsContainerImage of MachineConfig {request.config}": rendered.spec.extensions_image,
        f"baseOSExtensionsContainerImage in ConfigMap {NAMESPACE}/{OS_IMAGES}": request.images.extensions,
    }
    names = " ".join((*wanted.extensions, *([wanted.kernel] if wanted.kernel != DEFAULT else [])))
    text = f"no image with packages for {names} is known{_of_stream(request)}: set {' or '.join(places)}"
    return _first(places) or Problem("ExtensionsUnavailable", text)


def _of_stream(request: Request) -> str:
    return f" ({request.images.missing})" if request.images.missing else ""


def by_ignition(rendered: Rendered, request: Request, *, base: str, extensions: str, lint: bool) -> str:
    """For a real base image of the OS; `extensions` is empty if nothing is to be installed. `lint`: in image mode."""
    lines = [
        f"FROM {base} AS extract",
        f"COPY {MACHINE_CONFIG} /tmp/{MACHINE_CONFIG}",
        f"RUN mkdir -p {CURRENT_CONFIG.rpartition('/')[0]} && gunzip -c /tmp/{MACHINE_CONFIG} > {CURRENT_CONFIG}"
        f" && chmod 600 {CURRENT_CONFIG}",
        "",
        f"FROM {base} AS configs",
        f"COPY --from=extract {CURRENT_CONFIG} {CURRENT_CONFIG}",
        f"COPY {APPLY_SCRIPT} /tmp/{APPLY_SCRIPT}",
        f"RUN sh /tmp/{APPLY_SCRIPT}",
    ]
    if extensions:
        # After Ignition: packages may need the repositories and certificates of the MachineConfig.
        lines += [
            f"COPY {INSTALL_SCRIPT} /tmp/{INSTALL_SCRIPT}",
            f"RUN --mount=type=bind,from={extensions},source=/,target={MOUNT} sh /tmp/{INSTALL_SCRIPT}",
        ]
    return _finished(lines, rendered, request, base=base, lint=lint)


def as_tree(rendered: Rendered, request: Request, *, base: str, units: bool, lint: bool) -> str:
    """For any base image; `units`: the script that changes units of the base image is in the context.

    `lint`: in image mode, if a command runs anyway. A base image may have no shell to ask for bootc.
    """
    lines = [f"FROM {base} AS configs"]
    if units:
        lines += [f"COPY {UNITS_SCRIPT} /tmp/{UNITS_SCRIPT}", f"RUN sh /tmp/{UNITS_SCRIPT}"]
    lines.append(f"ADD {ROOT_ARCHIVE} /")
    has_shell = units or bool(request.egress.trust_bundle) or runs_commands(request.containerfile)
    return _finished(lines, rendered, request, base=base, lint=lint and has_shell)


def scripts(wanted: Wanted) -> dict[str, bytes]:
    """The scripts of a build by ignition."""
    found = {APPLY_SCRIPT: APPLY.encode()}
    if wanted:
        found[INSTALL_SCRIPT] = script(wanted).encode()
    return found


def _finished(lines: list[str], rendered: Rendered, request: Request, *, base: str, lint: bool) -> str:
    labels = {
        CONFIG_LABEL: request.config,
        POOL_LABEL: request.pool,
        RELEASE_LABEL: release(rendered, request),
        BASE_LABEL: base,
        CLUSTER_LABEL: cluster_mark(request.cluster, pool=request.pool, config=request.config, base=base),
    }
    if request.egress.trust_bundle:
        # Before the user's part, whose commands may need it. Not every base image has the program.
        lines += [
            f"COPY {BUNDLE} {_ANCHORS}/{BUNDLE}",
            "RUN if command -v update-ca-trust > /dev/null; then update-ca-trust; fi",
        ]
    text = "\n".join([*lines, *(f"LABEL {key}={_quoted(value)}" for key, value in labels.items() if value), ""])
    if request.containerfile.strip():
        text = f"{text}\n{request.containerfile}" + ("" if request.containerfile.endswith("\n") else "\n")
    return linted(text) if lint else text


def _quoted(value: str) -> str:
    """One word of an instruction, in which no variable is replaced."""
    return '"' + re.sub(r'(["$\\])', r"\\\1", " ".join(value.splitlines())) + '"'


def _first(places: Mapping[str, str | None]) -> str | Problem | None:
    """The first image that is named. A line break in it would be another instruction."""
    for where, image in places.items():
        if image and not _PULLSPEC.fullmatch(image):
            return Problem("ConfigurationInvalid", f"{where} is {image[:80]!r}, which is no pullspec: correct it")
        if image:
            return image
    return None
