"""OS builds as a capability: its texts and options on the command line, and what is made of them."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.capability.capability import Capability
from windlass.capability.conventions.options import Duration
from windlass.os_build.cli import names
from windlass.os_build.options import BOOTC_LINT, EGRESS, PLACEMENT, egress_of, placement_of

if TYPE_CHECKING:
    from windlass.capability.installation import Installation

SECONDS = Duration()


def _options(function: Any) -> Any:
    for option in (
        click.option(
            "--apply-by",
            type=click.Choice(["ignition", "tree"]),
            default="ignition",
            show_default=True,
            help="How an image gets the configuration: by the program in the base image, or as files from here.",
        ),
        click.option(
            "--build-timeout",
            type=SECONDS,
            default="30m",
            show_default=True,
            help="How long building may take.",
        ),
        *PLACEMENT,
        click.option(
            "--debounce",
            type=SECONDS,
            default="5s",
            show_default=True,
            help="How long a changed pool rests before its build begins.",
        ),
        click.option(
            "--insecure-registry",
            "insecure_registries",
            multiple=True,
            metavar="HOST",
            help="Ask this registry by plain HTTP, and let builds on this machine push there; may be repeated.",
        ),
        click.option(
            "--keep-images",
            type=click.IntRange(min=0),
            metavar="N",
            help="Remove images from the registry that this cluster built and nothing uses, except the newest N of "
            "each pool. [default: remove none]",
        ),
        click.option(
            "--local-builds",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Allow builds on this machine, in this folder: RUN runs here. [default: none]",
        ),
        click.option(
            "--local-slots",
            type=click.IntRange(min=1),
            default=2,
            show_default=True,
            help="Builds on this machine at the same time.",
        ),
        click.option(
            "--local-storage-driver",
            type=click.Choice(["auto", "overlay", "vfs"]),
            default="auto",
            show_default=True,
            help="Of the stores of images of those builds: vfs works everywhere, overlay is faster with large images; "
            "auto tries overlay, and takes vfs else.",
        ),
        click.option(
            "--machine-os-configs",
            is_flag=True,
            help="Serve MachineOSConfigs too, in the place of the Machine Config Operator's builder: work only while "
            "holding its Lease. [default: leave their pools to it]",
        ),
        click.option(
            "--max-builds",
            type=click.IntRange(min=0),
            default=10,
            show_default=True,
            help="Builds in the cluster at the same time; others wait for their turn. 0: no limit.",
        ),
        click.option(
            "--push-timeout", type=SECONDS, default="10m", show_default=True, help="How long pushing may take."
        ),
        BOOTC_LINT,
        click.option(
            "--sbom",
            is_flag=True,
            help="Attach to each image, in the registry, a list of what was added to its base image, in SPDX 2.3.",
        ),
        click.option(
            "--signing-key",
            default="",
            metavar="SECRET",
            help="Sign images by the key in this Secret, and take none without a signature. [default: sign none]",
        ),
        *EGRESS,
    ):
        function = option(function)
    return function


def _install(
    *,
    home: str,
    apply_by: str = "ignition",
    build_timeout: float = 1800.0,
    push_timeout: float = 600.0,
    debounce: float = 5.0,
    insecure_registries: tuple[str, ...] = (),
    keep_images: int | None = None,
    local_builds: Path | None = None,
    local_slots: int = 2,
    local_storage_driver: str = "auto",
    machine_os_configs: bool = False,
    max_builds: int = 10,
    registry_ca: Path | None = None,
    bootc_lint: bool = True,
    sbom: bool = False,
    signing_key: str = "",
    **others: Any,
) -> "Installation":
    from windlass.os_build.builder import Deadlines
    from windlass.os_build.inputs.context import ApplyBy
    from windlass.os_build.installation import installation
    from windlass.os_build.pool.snapshot import Settings, Timing
    from windlass.os_build.settings import LocalSettings, OsBuildSettings

    for name, value in (("--build-timeout", build_timeout), ("--push-timeout", push_timeout)):
        if value <= 0:
            raise click.UsageError(f"{name}: a deadline must be longer than 0")
    if signing_key and find_spec("nacl") is None:
        raise click.UsageError("--signing-key: install the extra 'signing' of windlass-machines")
    local = None
    if local_builds:
        local = LocalSettings(folder=local_builds, slots=local_slots, driver=local_storage_driver)
    placement, egress = placement_of(others), egress_of(others)
    if others:
        raise TypeError(f"unknown options: {', '.join(others)}")
    settings = OsBuildSettings(
        pools=Settings(
            apply_by=ApplyBy(apply_by),
            machine_os_configs=machine_os_configs,
            max_builds=max_builds,
            timing=Timing(debounce=debounce),
            deadlines=Deadlines(build=build_timeout, push=push_timeout),
            egress=egress,
            registry_ca=registry_ca,
            keep_images=keep_images,
            bootc_lint=bootc_lint,
            sbom=sbom,
            signing_key=signing_key,
        ),
        insecure=insecure_registries,
        placement=placement,
        local=local,
    )
    return installation(home=home, settings=settings)


CAPABILITY = Capability(
    install=_install,
    home="windlass-os-build",
    options=_options,
    run="""Build the OS image of each MachineConfigPool that is opted in, from its rendered MachineConfig, and say on
    the pool what became of it. A pool is opted in by the annotation machineconfiguration.openshift.io/layering-enabled.

    No node gets the image by this alone.""",
    plan="""Show what would be done about each MachineConfigPool: its conditions, its result, and the builders that
    would start or go.

    NAME is the name of a pool. Nothing is written or built, and no registry is asked.

    Exit code 3 means that there is something to do, 0 that there is not.
    """,
    completes=names.pools,
    workers="Pools that are reconciled at the same time.",
    deployed={
        "os-build/base/rbac.yaml": ("rbac", "os-build"),
        "web/components/os-build/rbac.yaml": ("web", "--view", "os-build"),
        "os-build/components/policies/policies.yaml": ("policies", "os-build"),
    },
    demo="windlass.os_build.demo",
    view="windlass.os_build.view.pools",
)
