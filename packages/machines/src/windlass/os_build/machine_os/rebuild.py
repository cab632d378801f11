"""Decides whether another rendered MachineConfig needs another image, or the nodes' daemon alone applies it. Pure.

    build = build_of_current_image(config, builds)
    if build and not needs_rebuild(<the MachineConfig that build is of>, new):
        ...                                 # its image serves `new`, too, if the registry still has it

An image stands for the OS, its kernel and its extensions. Files, units and users are written by the daemon, so a
MachineConfig with other ones takes the image that there is, and no node reboots.

The operator compares lists as Go does, where a missing one differs from an empty one. Here they are equal.
"""

from collections.abc import Iterable

from windlass.api.machineconfiguration import RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.os_build.machine_os.conditions import State, state_of


def needs_rebuild(old: RenderedMachineConfig, new: RenderedMachineConfig) -> bool:
    """The image of `old` is none for `new`. As for the operator, the image with the extensions does not count."""
    return _image_parts(old) != _image_parts(new)


def build_of_current_image(config: MachineOSConfig, builds: Iterable[MachineOSBuild]) -> MachineOSBuild | None:
    """The newest build with the image that the MachineOSConfig names as current; None: that image cannot be reused.

    The generation that the status is of says whether Containerfile and target are still those of that image.
    """
    current = config.status.current_image_pull_spec
    if not current or config.status.observed_generation != config.metadata.generation:
        return None
    found = [
        build
        for build in builds
        if build.status.digested_image_push_spec == current
        and build.spec.machine_os_config.name == config.metadata.name
        and state_of(build.status.conditions) is State.SUCCEEDED
    ]
    return max(found, key=lambda build: (build.metadata.creation_timestamp or "", build.metadata.name), default=None)


def _image_parts(config: RenderedMachineConfig) -> tuple[object, ...]:
    spec = config.spec
    return spec.os_image_url, spec.kernel_type or "default", spec.extensions, spec.kernel_arguments
