"""Where the two sides of a machine are: the options that all machine commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from windlass.cli.conventions import Settings
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE, Namespaces

F = TypeVar("F", bound=Callable[..., Any])


def namespace_options(function: F) -> F:
    """Decorator: `--machine-api-namespace` and `--cluster-api-namespace`."""
    for option, default, side in (
        ("--cluster-api-namespace", CLUSTER_API_NAMESPACE, "Cluster API"),
        ("--machine-api-namespace", MACHINE_API_NAMESPACE, "Machine API"),
    ):
        decorate = click.option(
            option, metavar="NAME", default=default, show_default=True, help=f"Namespace of {side} machines."
        )
        function = decorate(function)
    return function


def namespaces(settings: Settings, machine_api: str, cluster_api: str) -> Namespaces:
    """The two namespaces. A machine lives in both, so `-n` can at most name one of them."""
    if settings.namespace not in (None, machine_api, cluster_api):
        raise click.UsageError(
            f"machines are mirrored between the namespaces {machine_api} and {cluster_api}, and {settings.namespace} "
            "is neither: leave out -n, or say where they are with --machine-api-namespace and --cluster-api-namespace"
        )
    return Namespaces(machine_api, cluster_api)
