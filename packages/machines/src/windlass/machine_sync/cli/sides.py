"""The two sides of a machine: their names and namespaces, and the options that machine commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from windlass.capability.conventions.options import machines_namespace
from windlass.capability.conventions.settings import Settings
from windlass.machine_sync.constants import (
    CLUSTER_API,
    CLUSTER_API_NAMESPACE,
    MACHINE_API,
    MACHINE_API_NAMESPACE,
    Namespaces,
)

F = TypeVar("F", bound=Callable[..., Any])

_CALLED = {
    "cluster-api": CLUSTER_API,
    "machine-api": MACHINE_API,
    "clusterapi": CLUSTER_API,
    "machineapi": MACHINE_API,
    "capi": CLUSTER_API,
    "mapi": MACHINE_API,
}


class ApiParam(click.ParamType[str]):
    """One of the two APIs, as `spec.authoritativeAPI` has it: `ClusterAPI` or `MachineAPI`."""

    name = "side"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "cluster-api|machine-api"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        side = _CALLED.get(str(value).lower())
        if side is None:
            self.fail(f"{value!r} is neither API: write cluster-api (capi) or machine-api (mapi)", param, ctx)
        return side

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in ("cluster-api", "machine-api") if name.startswith(incomplete.lower())]


def namespace_options(function: F) -> F:
    """Decorator: `--machine-api-namespace` and `--cluster-api-namespace`."""
    for option, default, side in (
        ("--cluster-api-namespace", CLUSTER_API_NAMESPACE, "Cluster API"),
        ("--machine-api-namespace", MACHINE_API_NAMESPACE, "Machine API"),
    ):
        function = machines_namespace(option, default=default, side=side)(function)
    return function


def namespaces(settings: Settings, machine_api: str, cluster_api: str) -> Namespaces:
    """The two namespaces. A machine is in both, so `-n` may only name one of them."""
    if settings.namespace not in (None, machine_api, cluster_api):
        raise click.UsageError(
            f"machines are mirrored between the namespaces {machine_api} and {cluster_api}, and {settings.namespace} "
            "is neither: leave out -n, or say where they are with --machine-api-namespace and --cluster-api-namespace"
        )
    return Namespaces(machine_api, cluster_api)
