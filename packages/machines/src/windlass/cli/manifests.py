"""`windlass manifests`: Kubernetes manifests that follow from the code, for `kubectl apply` and for `deploy/`.

Each command prints the manifests of the named capabilities: there is no default, because what is printed goes into a
cluster, and a capability that was not meant would get its rights there. It accepts the options of all capabilities and
passes each capability its own.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from difflib import unified_diff
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.capability.capability import parameters
from windlass.capability.conventions import complaints
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.cli.capabilities import CAPABILITIES, capabilities
from windlass.cli.web import VIEWS, offer

if TYPE_CHECKING:
    from windlass.capability.installation import Installation
    from windlass.capability.manifests.rights import ServiceAccount


FIRST = next(iter(VIEWS))
"""The view whose manifests are those of the page."""


class Manifests(click.Command):
    """A command that has the options of all capabilities; their modules are loaded when it is called."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = super().get_params(ctx)
        taken = [parameter.name for parameter in found]
        at = taken.index("acts_as")
        for capability in capabilities().values():
            for option in (*parameters(capability.options), *parameters(capability.manifest_options)):
                if option.name not in taken:
                    taken.append(option.name)
                    found.insert(at, option)
                    at += 1
        return found


_FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)


@click.group(invoke_without_command=True)
@click.option("--write", type=_FOLDER, metavar="DIR", help="Write those of the folder `deploy` of a checkout into DIR.")
@click.option(
    "--check", type=_FOLDER, metavar="DIR", help="Show which of those in DIR differ, and how; exit code 1 if one does."
)
@click.pass_context
def command(ctx: click.Context, /, *, write: Path | None, check: Path | None) -> int:
    """Print manifests that are generated from the code, so that they match what it does. No cluster is needed."""
    folder = write or check
    if folder is None and ctx.invoked_subcommand is None:
        raise click.exceptions.NoArgsIsHelpError(ctx)
    if (write and check) or (folder and ctx.invoked_subcommand):
        raise click.UsageError("--write DIR and --check DIR stand alone: give one of them, or a COMMAND", ctx)
    if folder is None:
        return Exit.OK
    files = ((folder / path, made) for path, made in _deployed())
    differ = [(path, there, made) for path, made in files if (there := _read(path)) != made]
    for path, there, made in differ:
        if write:
            path.write_text(made, encoding="utf-8")
            click.echo(path)
        else:
            lines = unified_diff(there.splitlines(), made.splitlines(), str(path), "generated", lineterm="")
            click.echo("\n".join(lines))
    return Exit.FAILED if check and differ else Exit.OK


def _deployed() -> Iterator[tuple[str, str]]:
    """Path and text of each file."""
    for capability in capabilities().values():
        for path, arguments in capability.deployed.items():
            with redirect_stdout(StringIO()) as printed:
                command.main([*arguments], "windlass manifests", standalone_mode=False, obj=Settings())
            yield path, printed.getvalue()


def _read(path: Path) -> str:
    """Empty if there is no such file."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


capability_argument = click.argument(
    "names", metavar="CAPABILITY...", nargs=-1, shell_complete=lambda *_: list(CAPABILITIES)
)

home_option = click.option(
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
    help="The ServiceAccount that the capability impersonates with `--as`. [default: its own]",
)


@command.command("rbac", cls=Manifests)
@capability_argument
@home_option
@acts_as_option
@settings_of
def rbac(
    settings: Settings,
    /,
    names: tuple[str, ...],
    *,
    namespace: str | None,
    acts_as: "ServiceAccount | None",
    **own: Any,
) -> int:
    """Print Namespace, ServiceAccount, roles and bindings of capabilities.

    The rights are exactly what the controllers declare to read and write.
    """
    from windlass.capability.manifests import rights

    def of(installed: "Installation") -> Sequence[dict[str, Any]]:
        return rights.documents(
            installed.permissions(),
            service_account=installed.service_account,
            theirs=installed.theirs,
            acts_as=acts_as,
        )

    return _print(
        _installed("rbac", names, namespace or settings.namespace, own),
        of,
        origin="`windlass manifests rbac` from what the controllers declare to read and write",
    )


@command.command("policies", cls=Manifests)
@capability_argument
@home_option
@acts_as_option
@click.option(
    "--exempt",
    multiple=True,
    metavar="USER",
    help="A user to exempt like the controllers of both APIs, for a provider that runs under its own account: "
    "system:serviceaccount:NAMESPACE:NAME; may be repeated.",
)
@settings_of
def policies(
    settings: Settings,
    /,
    names: tuple[str, ...],
    *,
    namespace: str | None,
    acts_as: "ServiceAccount | None",
    exempt: tuple[str, ...],
    **own: Any,
) -> int:
    """Print the admission policies of capabilities.

    Those of machine-sync keep people from changing mirrors, and forbid the fields that conversion cannot express.
    The ServiceAccount of a capability is exempt from its own.
    """

    def of(installed: "Installation") -> Sequence[dict[str, Any]]:
        made = installed.policies(acts_as or installed.service_account, exempt)
        return [document for policy in made for document in policy.documents()]

    chosen = _installed("policies", names, namespace or settings.namespace, own)
    follow = " and ".join(filter(None, (capability.policies_follow for capability in chosen))) or "the code"
    return _print(chosen, of, origin=f"`windlass manifests policies` from {follow}", what="admission policies")


@command.command("crds")
@capability_argument
def crds(names: tuple[str, ...]) -> int:
    """Print the CustomResourceDefinitions of the kinds that capabilities own.

    The CRDs of Machines and MachineSets are not among them: OpenShift and Cluster API install those.
    """

    def of(installed: "Installation") -> Sequence[dict[str, Any]]:
        return [owned.manifest() for owned in installed.owned]

    chosen = _installed("crds", names, None, {})
    return _print(chosen, of, origin="`windlass manifests crds` from the types of their kinds", what="kinds of its own")


@command.command("web")
@click.option(
    "--view",
    type=click.Choice([*VIEWS]),
    default=FIRST,
    show_default=True,
    help=f"{FIRST}: everything that the page needs; {' or '.join([*VIEWS][1:])}: what its view needs besides.",
)
@home_option
@settings_of
def web(settings: Settings, *, view: str, namespace: str | None) -> int:
    """Print Namespace, ServiceAccount, roles and bindings of the web page."""
    from windlass.web.rights import HOME, additional, rights

    home = namespace or settings.namespace or HOME
    needs = offer(view).needs()
    found = rights(needs, home=home) if view == FIRST else additional(needs, view=view, home=home)
    click.echo(text(found, origin="`windlass manifests web` from what its views declare to read"), nl=False)
    return Exit.OK


def _installed(what: str, names: tuple[str, ...], home: str | None, values: dict[str, Any]) -> "list[Installation]":
    """Raises UsageError."""
    if not names:
        every = list(CAPABILITIES)
        raise click.UsageError(
            f"which capability? Name it: `windlass manifests {what} {every[0]}`; there are {', '.join(every)}"
        )
    return [
        each.install(home=home or each.home, **each.own(values, manifests=True))
        for each in capabilities(names).values()
    ]


def _print(
    chosen: "Sequence[Installation]",
    of: "Callable[[Installation], Sequence[dict[str, Any]]]",
    *,
    origin: str,
    what: str = "",
) -> int:
    """Print the documents of all, each once; name the capabilities that have none."""
    documents: list[dict[str, Any]] = []
    for installed in chosen:
        found = of(installed)
        if not found:
            complaints.say("note", f"{installed.name} has no {what}")
        documents += [one for one in found if one not in documents]
    if documents:
        click.echo(text(documents, origin=origin), nl=False)
    return Exit.OK


def text(documents: Sequence[dict[str, Any]], *, origin: str) -> str:
    """The documents as YAML, under a line that says where they come from."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

    def represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
        # Lists of words stay on one line, as people write rules.
        words = all(isinstance(item, str) for item in items)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=words)

    def represent_text(dumper: yaml.SafeDumper, words: str) -> yaml.Node:
        # CEL is full of quotes, which a block scalar does not escape.
        style = "|" if "\n" in words or ("'" in words and " " in words) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", words, style=style)

    Dumper.add_representer(list, represent_list)
    Dumper.add_representer(str, represent_text)
    header = f"# Generated by {origin}. Do not edit.\n"
    return header + yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, width=120)
