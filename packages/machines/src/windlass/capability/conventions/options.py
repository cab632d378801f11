"""The options that every command has, before its name or after it: `windlass -n x machines`, `windlass machines -n x`.

A command declares none of them. `adopt` gives them to a command (and, for a group, to all below it) when it is loaded,
so no command can forget them, and every command reads them from one `Settings`. Commands that need no cluster get only
the general ones (`--log-level`, `--version`, `--help`):

    @click.command()
    @settings_of
    def command(settings: Settings) -> int: ...

If an option is given twice, the later one wins. A command that has an option of the same name keeps its own.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import click

from windlass.capability.conventions import candidates
from windlass.capability.conventions.settings import said
from windlass.kube.version import VERSION

LOG_LEVELS = ("debug", "info", "warning", "error")

C = TypeVar("C", bound=click.Command)
F = TypeVar("F", bound=Callable[..., Any])


class Duration(click.ParamType[float]):
    """Seconds, written as kubectl takes them: `10s`, `1m30s`, `500ms`, `2h`, or a plain number of seconds."""

    name = "duration"
    _SECONDS: ClassVar[dict[str, float]] = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6}
    _PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|us|h|m|s)")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text)
        parts = self._PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            self.fail(f"{value!r} is not a duration: write it as 10s, 1m30s or 500ms; 0 means no limit", param, ctx)
        return sum(float(number) * self._SECONDS[unit] for number, unit in parts)


class ListenOn(click.ParamType[Any]):
    """`HOST:PORT`, `:PORT` for all addresses, or `0` for none."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int] | None:
        # Not an Address yet: importing that takes longer than to show the help or to refuse an option.
        if value is None or isinstance(value, tuple):
            return value
        if value == "0":
            return None
        host, _, port = str(value).rpartition(":")
        if not port.isdigit() or int(port) > 65535 or ":" not in value:
            self.fail(f"{value!r} is not an address: write HOST:PORT, :PORT (all addresses) or 0 (none)", param, ctx)
        return host.strip("[]") or "0.0.0.0", int(port)


def machines_namespace(option: str, *, default: str, side: str) -> Callable[[F], F]:
    """Decorator: the option for the namespace in which one API, `side`, has its machines."""
    return click.option(
        option, metavar="NAME", default=default, show_default=True, help=f"Namespace of {side} machines."
    )


def cluster_options() -> list[click.Option]:
    """New instances of the options that select the cluster and the credentials."""
    return [
        _option("--kubeconfig", metavar="FILE", help="Kubeconfig to use instead of $KUBECONFIG or ~/.kube/config."),
        _option(
            "--context", metavar="NAME", help="Context of the kubeconfig to use.", shell_complete=candidates.contexts
        ),
        _option("-n", "--namespace", metavar="NAME", help="Namespace, if the command works in only one."),
        _option(
            "--request-timeout",
            type=Duration(),
            metavar="DURATION",
            help="Time limit for one request, as 10s, 1m or 500ms; 0 means no limit. Default 30s.",
        ),
        _option("--as", "as_user", metavar="USER", help="Impersonate USER (needs the right to impersonate)."),
        _option(
            "--as-group",
            "as_groups",
            multiple=True,
            metavar="GROUP",
            help="Impersonate GROUP, together with --as; may be repeated.",
        ),
    ]


def program_options() -> list[click.Option]:
    """New instances of the options of every command."""
    return [
        _option(
            "--log-level",
            type=click.Choice(LOG_LEVELS),
            help="Level of the logs on standard error; debug also shows tracebacks.",
        ),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version and exit.",
        ),
    ]


def adopt(command: C, *, asks_cluster: bool = True) -> C:
    """Give `command`, and every command below it, the common options. Doing it twice changes nothing."""
    taken = {name for parameter in command.params for name in (*parameter.opts, parameter.name)}
    common = [*(cluster_options() if asks_cluster else ()), *program_options()]
    command.params += [option for option in common if not taken & {*option.opts, option.name}]
    command.context_settings.setdefault("help_option_names", ["-h", "--help"])
    if isinstance(command, click.Group):
        for child in command.commands.values():
            adopt(child, asks_cluster=asks_cluster)
    return command


def _option(*declarations: str, **attributes: Any) -> click.Option:
    return click.Option(declarations, expose_value=False, callback=_remember, **attributes)


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    if value not in (None, ()) and param.name is not None:
        setattr(said(ctx), param.name, value)
    return value


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"windlass {VERSION}")
        ctx.exit()
