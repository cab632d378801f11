"""The options of `windlass run os-build` about builder Pods and about the way to the outside, and their values."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from windlass.os_build.pullspec import BUILDER_IMAGE

if TYPE_CHECKING:
    from windlass.os_build.environment import Egress
    from windlass.os_build.placement import Placement


def _several(name: str, metavar: str, text: str) -> Any:
    return click.option(name, multiple=True, metavar=metavar, help=f"{text}; may be repeated.")


PLACEMENT: Final = (
    click.option(
        "--builder-image",
        "builder_image",
        default=BUILDER_IMAGE,
        show_default=True,
        metavar="IMAGE",
        help="The image with buildah that Jobs run.",
    ),
    click.option(
        "--builder-service-account",
        metavar="NAME",
        help="The ServiceAccount of Pods of Jobs: they need no right, and no token. [default: machine-os-builder]",
    ),
    click.option(
        "--builder-cache-claim",
        metavar="NAME",
        help="The PersistentVolumeClaim in which Jobs share unpacked base images. [default: each Job pulls its own]",
    ),
    click.option(
        "--builder-priority-class", metavar="NAME", help="The PriorityClass of Pods of Jobs. [default: the cluster's]"
    ),
    _several("--builder-node-selector", "KEY=VALUE", "A label of the Nodes that build, for Jobs and Builds"),
    _several("--builder-toleration", "KEY[=VALUE][:EFFECT]", "A taint of Nodes that Pods of Jobs tolerate"),
    _several(
        "--builder-request", "RESOURCE=AMOUNT", "What a builder asks for, such as memory=4Gi, for Jobs and Builds"
    ),
    _several("--builder-limit", "RESOURCE=AMOUNT", "What a builder may use at most, for Jobs and Builds"),
)
BOOTC_LINT: Final = click.option(
    "--bootc-lint/--no-bootc-lint",
    default=True,
    show_default=True,
    help="The last step of a build runs bootc container lint, if the base image has it.",
)
EGRESS: Final = (
    click.option("--http-proxy", metavar="URL", help="Of builders, where no ControllerConfig names a proxy."),
    click.option(
        "--https-proxy", metavar="URL", help="The same, and when a registry is asked. [default there: HTTPS_PROXY]"
    ),
    click.option("--no-proxy", metavar="HOSTS", help="Hosts, domains and networks that are reached without it."),
    click.option(
        "--trust-bundle",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help="Certificates in PEM that builders, images and this process trust, where no ControllerConfig has some.",
    ),
    click.option(
        "--registry-ca",
        type=click.Path(path_type=Path, exists=True),
        metavar="PATH",
        help="File, or folder of *.crt, with certificates of registries: builders and this process trust them, images "
        "do not.",
    ),
)


def placement_of(given: dict[str, Any]) -> "Placement":
    """Takes its options out of `given`. Raises click.UsageError."""
    from windlass.os_build import placement

    readers: dict[str, Callable[[str], Any]] = {
        "image": placement.image,
        "service_account": placement.name,
        "cache_claim": placement.name,
        "priority_class": placement.name,
        "node_selector": placement.label,
        "toleration": placement.toleration,
        "request": placement.quantity,
        "limit": placement.quantity,
    }
    fields = {"toleration": "tolerations", "request": "requests", "limit": "limits"}
    found: dict[str, Any] = {}
    for option, read in readers.items():
        value = given.pop(f"builder_{option}", None) or ()
        try:
            found[fields.get(option, option)] = read(value) if isinstance(value, str) else tuple(map(read, value))
        except ValueError as error:
            raise click.UsageError(f"--builder-{option.replace('_', '-')}: {error}") from None
    return placement.Placement(**{field: value for field, value in found.items() if value})


def egress_of(given: dict[str, Any]) -> "Egress":
    """Takes its options out of `given`, except --registry-ca: that is read again and again. Raises click.UsageError."""
    from windlass.api.machineconfiguration import Proxy
    from windlass.os_build.environment import Egress, certificates

    texts = {name: given.pop(name, None) or "" for name in ("http_proxy", "https_proxy", "no_proxy")}
    bundle: Path | None = given.pop("trust_bundle", None)
    try:
        trusted = certificates(bundle.read_text()) if bundle else ""
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--trust-bundle {bundle}: {error}") from None
    return Egress(proxy=Proxy(**texts), trust_bundle=trusted)
