"""Puts the files of a build together."""

import gzip
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from windlass.os_build.environment import BUNDLE
from windlass.os_build.inputs import base_units
from windlass.os_build.inputs.containerfile import (
    MACHINE_CONFIG,
    ROOT_ARCHIVE,
    UNITS_SCRIPT,
    as_tree,
    base_image,
    by_ignition,
    extensions_image,
    release,
    scripts,
)
from windlass.os_build.inputs.containers import container_files
from windlass.os_build.inputs.contents import decoded, is_remote
from windlass.os_build.inputs.extensions import Wanted
from windlass.os_build.inputs.lint import lint_stages, lint_user_part
from windlass.os_build.inputs.machine_config import File, Invalid, Rendered, Systemd, located, printable, read
from windlass.os_build.inputs.tree import archive, root_nodes
from windlass.os_build.request import Problem, Request

CONTAINERFILE: Final = "Containerfile"
CONFIG_MAP_LIMIT: Final = 1 << 20
"""Bytes that a ConfigMap may hold."""
BUILD_LIMIT: Final = 60_000
"""Bytes that OpenShift takes for the inline Dockerfile of a Build."""
_SHOWN: Final = 5


class ApplyBy(StrEnum):
    """How a build applies the configuration.

    IGNITION  by the program of that name in the base image: for real images of the OS
    TREE      the files are expanded here and added: for any base image
    """

    IGNITION = "ignition"
    TREE = "tree"


class Context(Struct, frozen=True):
    """The files of a build by name, all in one folder; `Containerfile` is one of them.

    containers  what the rendered MachineConfig says about registries (`inputs.containers`): for the builder itself
    base        the image that it is built on
    extensions  the image with packages; empty: nothing is installed from one
    """

    files: Mapping[str, bytes]
    containers: Mapping[str, bytes] = {}
    base: str = ""
    extensions: str = ""

    @property
    def containerfile(self) -> str:
        return self.files[CONTAINERFILE].decode()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{name}: {len(data)} bytes' for name, data in self.files.items())})"


def rendered(
    request: Request, machine_config: bytes, *, apply_by: ApplyBy, arch: str = "", lint: bool = True
) -> Context | Problem:
    """The context of a build from the JSON of its rendered MachineConfig.

    `arch` is that of the machine that builds, such as amd64; empty if unknown. `lint`: the image is linted if it has
    bootc. Equal arguments give equal bytes.
    """
    if problem := _user_part_problem(request):
        return problem
    try:
        config = read(machine_config)
        spec = config.spec
        wanted = Wanted.of(spec.extensions or (), spec.kernel_type or "", release=release(config, request))
        if wrong := wanted.wrong(arch=arch):
            return Problem("ExtensionsUnavailable", f"MachineConfig {request.config}: {wrong}")
        base = base_image(config, request)
        if isinstance(base, Problem):
            return base
        make = _as_tree if apply_by is ApplyBy.TREE else _by_ignition
        context = make(request, config, wanted, base=base, lint=lint)
        if isinstance(context, Problem):
            return context
        trust = {BUNDLE: bundle.encode()} if (bundle := request.egress.trust_bundle) else {}
        return Context({**context.files, **trust}, container_files(config.config), base, context.extensions)
    except Invalid as invalid:
        return Problem("MachineConfigInvalid", f"MachineConfig {request.config}: {invalid}")


def fits_config_map(context: Context, *, beside: int = 0) -> Problem | None:
    """Why one ConfigMap cannot hold the context, with so many bytes beside it; None if it can."""
    every = {**context.files, **context.containers}
    size = beside + sum(len(name.encode()) + len(data) for name, data in every.items())
    if size <= CONFIG_MAP_LIMIT:
        return None
    largest = max(every, key=lambda name: len(every[name]))
    return Problem(
        "ContextTooLarge",
        f"the build context has {size} bytes ({largest}: {len(every[largest])}), and a ConfigMap holds "
        f"{CONFIG_MAP_LIMIT}: set imageBuilderType to local, or remove files from the MachineConfigs of the pool",
    )


def fits_build(context: Context, request: Request) -> Problem | None:
    """Why a Build of OpenShift cannot have the Containerfile inline; None if it can."""
    size = len(context.files[CONTAINERFILE])
    if size <= BUILD_LIMIT:
        return None
    part = len(request.containerfile.encode())
    return Problem(
        "ContainerfileTooLarge",
        f"{request.written_in}: with its {part} bytes the Containerfile has {size}, and a Build of OpenShift takes "
        f"{BUILD_LIMIT}: set imageBuilderType to Job, or make it shorter",
    )


def _as_tree(request: Request, config: Rendered, wanted: Wanted, *, base: str, lint: bool) -> Context | Problem:
    if wanted:
        return Problem(
            "ExtensionsUnavailable",
            f"MachineConfig {request.config}: spec.extensions or spec.kernelType asks for packages, and only "
            f"{ApplyBy.IGNITION} can install them: apply the configuration by it, or remove them",
        )
    tree = archive(root_nodes(config))
    units = base_units.script((config.config.systemd or Systemd()).units or ())
    return Context(
        {
            CONTAINERFILE: as_tree(config, request, base=base, units=bool(units), lint=lint).encode(),
            ROOT_ARCHIVE: tree,
            **({UNITS_SCRIPT: units.encode()} if units else {}),
        }
    )


def _by_ignition(request: Request, config: Rendered, wanted: Wanted, *, base: str, lint: bool) -> Context | Problem:
    extensions = extensions_image(config, request, wanted)
    if isinstance(extensions, Problem):
        return extensions
    _check_contents(config)
    return Context(
        {
            CONTAINERFILE: by_ignition(config, request, base=base, extensions=extensions, lint=lint).encode(),
            MACHINE_CONFIG: gzip.compress(config.document, compresslevel=6, mtime=0),
            **scripts(wanted),
        },
        extensions=extensions,
    )


def _check_contents(config: Rendered) -> None:
    """Ignition would find these faults too, but only after the base image has been pulled."""
    for where, node in located(config.config):
        for name, resource in node.resources if isinstance(node, File) else ():
            if not is_remote(resource):
                decoded(resource, where=f"{where}: {name}")


def _user_part_problem(request: Request) -> Problem | None:
    found = lint_user_part(request.containerfile) or lint_stages(request.containerfile)
    if not found:
        return None
    shown = "; ".join(f"line {each.line}: {printable(each.text)}" for each in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return Problem("ContainerfileInvalid", f"{request.written_in}, {shown}{more}: correct it there")
