"""`windlass manifests`: Kubernetes manifests that follow from the code, for `kubectl apply` and for `deploy/`."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.conventions.exit_codes import Exit
from windlass.cli.conventions.settings import Settings, settings_of
from windlass.cli.machine_sync import sides
from windlass.machine_sync.constants import Namespaces

if TYPE_CHECKING:
    from windlass.capability.manifests.rights import ServiceAccount


@click.group()
def command() -> None:
    """Print manifests that are generated from the code.

    What they say and what the code does cannot differ. Nothing is asked of a cluster.
    """


platform_option = click.option(
    "--platform",
    "platforms",
    multiple=True,
    metavar="NAME",
    help="Only for the kinds of this platform (AWS, OpenStack); may be repeated. [default: all]",
)


service_account_option = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Namespace of the ServiceAccount and the Deployment. [default: windlass-system]",
)


class Account(click.ParamType[Any]):
    """`system:serviceaccount:NAMESPACE:NAME`."""

    name = "account"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "ServiceAccount":
        from windlass.capability.manifests.rights import ServiceAccount

        if isinstance(value, ServiceAccount):
            return value
        found = re.fullmatch("system:serviceaccount:([^:]+):([^:]+)", str(value))
        if not found:
            self.fail(f"{value!r} is not an account: write system:serviceaccount:NAMESPACE:NAME", param, ctx)
        return ServiceAccount(*found.groups())


acts_as_option = click.option(
    "--acts-as",
    type=Account(),
    metavar="USER",
    help="The ServiceAccount in whose name machine-sync acts: what its `--as` says. [default: its own]",
)


@command.command("rbac")
@service_account_option
@sides.namespace_options
@platform_option
@acts_as_option
@settings_of
def rbac(
    settings: Settings,
    *,
    namespace: str | None,
    machine_api_namespace: str,
    cluster_api_namespace: str,
    platforms: tuple[str, ...],
    acts_as: "ServiceAccount | None",
) -> int:
    """Print Namespace, ServiceAccount, roles and bindings of machine-sync.

    Rights are what the controllers declare to read and write, and no more.
    """
    from windlass.machine_sync import rbac

    documents = rbac.documents(
        namespaces=Namespaces(machine_api_namespace, cluster_api_namespace),
        service_account=_service_account(namespace or settings.namespace),
        platforms=_chosen(platforms),
        acts_as=acts_as,
    )
    click.echo(
        text(documents, origin="`windlass manifests rbac` from what the controllers declare to read and write"),
        nl=False,
    )
    return Exit.OK


@command.command("policies")
@service_account_option
@sides.namespace_options
@platform_option
@acts_as_option
@click.option(
    "--exempt",
    multiple=True,
    metavar="USER",
    help="A user who is exempt where the controllers of both APIs are: the account of a provider that has one of its "
    "own, as system:serviceaccount:NAMESPACE:NAME; may be repeated.",
)
@settings_of
def policies(
    settings: Settings,
    *,
    namespace: str | None,
    machine_api_namespace: str,
    cluster_api_namespace: str,
    platforms: tuple[str, ...],
    acts_as: "ServiceAccount | None",
    exempt: tuple[str, ...],
) -> int:
    """Print the admission policies that protect what machine-sync mirrors.

    The fields that they forbid are those that conversion cannot express. The ServiceAccount of machine-sync is exempt.
    """
    from windlass.machine_sync import policies

    documents = policies.documents(
        namespaces=Namespaces(machine_api_namespace, cluster_api_namespace),
        service_account=acts_as or _service_account(namespace or settings.namespace),
        platforms=_chosen(platforms),
        exempt=exempt,
    )
    click.echo(text(documents, origin="`windlass manifests policies` from what conversion can express"), nl=False)
    return Exit.OK


def _service_account(namespace: str | None) -> "ServiceAccount":
    from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT

    return DEFAULT_SERVICE_ACCOUNT if namespace is None else DEFAULT_SERVICE_ACCOUNT.within(namespace)


def _chosen(platforms: tuple[str, ...]) -> tuple[str, ...]:
    from windlass.machine_sync.activation import SERVED

    if odd := sorted(set(platforms) - set(SERVED)):
        raise click.UsageError(f"--platform {', '.join(odd)}: machine-sync serves {' and '.join(SERVED)}")
    return platforms or SERVED


def text(documents: Sequence[dict[str, Any]], *, origin: str) -> str:
    """The documents as YAML, under a line that says where they come from."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

    def represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
        # Lists of words stay on their line, as people write rules.
        words = all(isinstance(item, str) for item in items)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=words)

    def represent_text(dumper: yaml.SafeDumper, words: str) -> yaml.Node:
        # CEL is full of quotes: as a block it stays what its author wrote.
        style = "|" if "\n" in words or ("'" in words and " " in words) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", words, style=style)

    Dumper.add_representer(list, represent_list)
    Dumper.add_representer(str, represent_text)
    header = f"# Generated by {origin}. Do not edit.\n"
    return header + yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, width=120)
