"""Makes a command that is also a group: `windlass machines [NAME]...` and `windlass machines VERB`.

    @click.command(cls=Itself)
    @click.argument("names", nargs=-1)
    def show(names): ...

    command = WithVerbs(show, {"describe": "Show one machine in full."}, package="windlass.machine_sync.cli.machines")

If the first word is a verb, the module of that name in `package` is imported, and its click command `command` runs.
Everything else goes to the command itself. After `--` a word is an object's name, also if a verb has the same name.

`Verbs` is a command that is nothing without a verb: `windlass os-build VERB`.
"""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from windlass.capability.conventions.options import adopt

_ITSELF = ""
"""The name of the command itself where click needs the name of a subcommand. No verb is empty."""


class _Context(click.Context):
    """In usage lines and errors, the command itself has the name of its group."""

    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent is not None else super().command_path


class Itself(click.Command):
    """The command that a `WithVerbs` runs when no verb is given; its help lists the verbs too."""

    context_class = _Context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        group = ctx.parent.command if ctx.parent is not None else None
        if isinstance(group, WithVerbs) and group.verbs:
            with formatter.section("Commands"):
                formatter.write_dl(list(group.verbs.items()))


class WithVerbs(click.Group):
    """`itself`, and the `verbs` (name and line in the help) of `package`, which are imported when they are called."""

    def __init__(self, itself: click.Command, verbs: Mapping[str, str], *, package: str) -> None:
        super().__init__(name=itself.name, help=itself.help, add_help_option=False)
        self.verbs = verbs
        self._itself = itself
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == _ITSELF:
            return adopt(self._itself)
        if cmd_name not in self.verbs:
            return None
        command = importlib.import_module(f"{self._package}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return adopt(command)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if self._calls_a_verb(args) else [_ITSELF, *args])

    def _calls_a_verb(self, args: list[str]) -> bool:
        # A separate context, because completion parses leniently, and would skip the options of `itself`.
        parser = self.make_parser(click.Context(self))
        try:
            _, rest, _ = parser.parse_args(list(args))
        except click.UsageError:
            return False
        before = args[: len(args) - len(rest)]
        return bool(rest) and rest[0] in self.verbs and before[-1:] != ["--"]


class Verb(NamedTuple):
    """A verb: its line in the help. `offline`: the verb uses no cluster, so it has no options that select a cluster."""

    help: str
    offline: bool = False


class Verbs(click.Group):
    """Only the `verbs` of `package`, which are imported when they are called."""

    def __init__(self, name: str, verbs: Mapping[str, Verb], *, package: str, **attributes: Any) -> None:
        super().__init__(name=name, **attributes)
        self._verbs = verbs
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (verb := self._verbs.get(cmd_name)) is None:
            return None
        command = importlib.import_module(f"{self._package}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return adopt(command, asks_cluster=not verb.offline)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self._verbs.items()])
