"""Lists the commands and runs one: finds it by name, prints its errors in one line, sets its exit code."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.options import adopt
from windlass.capability.conventions.settings import Settings
from windlass.cli.capabilities import Command, commands_before

COMPLETE_VARIABLE = "_WINDLASS_COMPLETE"


_FRAME = {
    "web": Command("windlass.cli.web", "Show the update, and machines on both sides, in a browser."),
    "plan": Command(
        "windlass.cli.plan", "Show what controllers would do, on a cluster or from files, without doing it."
    ),
    "run": Command("windlass.cli.run", "Run controllers."),
    "manifests": Command(
        "windlass.cli.manifests", "Print manifests that are generated from the code, such as RBAC.", offline=True
    ),
    "demo": Command(
        "windlass.cli.demo", "Show what Windlass does on a real control plane, which the demo starts.", offline=True
    ),
    "dev": Command(
        "windlass.cli.dev", "Start and stop a real control plane, or a real OpenStack, on this computer.", offline=True
    ),
    "completion": Command("windlass.cli.completion", "Print the completion script of a shell.", offline=True),
    "version": Command("windlass.cli.version", "Print the version.", offline=True),
}

COMMANDS = {
    name: command for own, frame in _FRAME.items() for name, command in (*commands_before(own).items(), (own, frame))
}
"""Every command, in the order of `windlass --help`."""

INSTEAD = {
    "get": "windlass machines [NAME]...",
    "list": "windlass machines [NAME]...",
    "describe": "windlass machines describe NAME",
    "apply": "kubectl apply",
    "diff": "windlass plan machine-sync",
}
"""Commands that users of kubectl may try, and their names here."""


class CommandTable(click.Group):
    """A group that knows its commands by name and imports the module of a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (entry := COMMANDS.get(cmd_name)) is None:
            return None
        command = importlib.import_module(entry.module).command
        assert isinstance(command, click.Command)
        return adopt(command, asks_cluster=not entry.offline)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in INSTEAD and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no command {name!r}: use `{INSTEAD[name]}`", ctx)
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        # The group's own version would import every command for its help.
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=COMMANDS[name].help) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)


cli = adopt(
    CommandTable(
        name="windlass",
        help="The machine lifecycle of OpenShift-style Kubernetes clusters.\n\n"
        "The options below may also stand after the command.",
        epilog="Exit codes and the details of each command: docs/cli.md",
        context_settings={"max_content_width": 120},
    )
)


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line `args` (default: this process's) and return its exit code.

    Raises KeyboardInterrupt if Ctrl-C comes before the command is called or when it is over, else nothing.
    """
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "windlass", COMPLETE_VARIABLE, instruction)
    try:
        return _run(list(sys.argv[1:] if args is None else args), Settings())
    except BrokenPipeError:
        return Exit.CLOSED_PIPE
    finally:
        _discard_unwritable()


def _run(args: list[str], settings: Settings) -> int:
    try:
        code = _call(args, settings)
        # Now, while trouble with the reader can still be reported, and not when the interpreter ends.
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        return Exit.INTERRUPTED
    except click.UsageError as error:
        _show_usage_error(error)
        return Exit.USAGE
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return error.exit_code
    except Exception as error:
        from windlass.capability.conventions import complaints

        cause = complaints.cause(error)
        if isinstance(cause, BrokenPipeError):
            raise cause from None
        return complaints.complain(cause, debugging=settings.debugging)
    return code


def _show_usage_error(error: click.UsageError) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    click.echo(f"error: {' '.join(error.format_message().split())}", err=True)
    if error.ctx is not None:
        click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)


def _call(args: list[str], settings: Settings) -> int:
    try:
        with cli.make_context("windlass", args, obj=settings) as ctx:
            result = cli.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    return result if isinstance(result, int) else Exit.OK


def _discard_unwritable() -> None:
    """Leave no output that the interpreter would write at its end: if that failed, it would print its own traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
