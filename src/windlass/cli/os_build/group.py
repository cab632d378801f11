"""`windlass os-build`: the group of OS build's own commands, each of which is imported when it is called."""

import importlib
from typing import NamedTuple

import click

from windlass.cli.conventions.options import adopt


class Verb(NamedTuple):
    """A command: its line in the help. `offline`: it has no options that select a cluster."""

    help: str
    offline: bool = False


VERBS = {
    "render": Verb("Print the Containerfile of a pool, or write all files of its build.", offline=True),
    "build": Verb("Build the image of a pool on this machine and push it, without a cluster.", offline=True),
}
"""Every command of the group; its module in this package has the same name."""


class Verbs(click.Group):
    """Knows its commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (verb := VERBS.get(cmd_name)) is None:
            return None
        command = importlib.import_module(f"windlass.cli.os_build.{cmd_name}").command
        assert isinstance(command, click.Command)
        return adopt(command, asks_cluster=not verb.offline)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in VERBS.items()])


command = Verbs(name="os-build", help="Look at OS images of MachineConfigPools, and build them by hand.")
