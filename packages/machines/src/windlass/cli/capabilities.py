"""Lists the capabilities. Each is imported only when it is used."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from windlass.capability.capability import Capability
from windlass.capability.conventions.options import adopt


class Command(NamedTuple):
    """A command: its module, and its line in `windlass --help`.

    `offline`: it uses no cluster of the user, so it has no options that select one. `before`: the command of the frame
    that follows a capability's command in the list.
    """

    module: str
    help: str
    offline: bool = False
    before: str = ""


class Entry(NamedTuple):
    """A capability: the module that has its `CAPABILITY`, and its own commands by name."""

    module: str
    commands: Mapping[str, Command] = MappingProxyType({})


CAPABILITIES = {
    "machine-sync": Entry(
        "windlass.machine_sync.capability",
        {
            "machines": Command(
                "windlass.machine_sync.cli.machines",
                "Show machines and MachineSets on both sides: authority, phases, and whether they are in sync.",
                before="web",
            ),
            "convert": Command(
                "windlass.machine_sync.cli.convert",
                "Convert machines in files from one API or version to another, offline.",
                offline=True,
                before="plan",
            ),
            "migrate": Command(
                "windlass.machine_sync.cli.migrate",
                "Move authority over machines from one API to the other.",
                before="run",
            ),
            "release": Command(
                "windlass.machine_sync.cli.release",
                "Release machines and MachineSets before an uninstall.",
                before="manifests",
            ),
        },
    ),
    "openstack": Entry(
        "windlass.openstack.capability",
        {
            "openstack": Command(
                "windlass.openstack.cli",
                "Show what exists in OpenStack clouds, and delete what was left there.",
                before="run",
            )
        },
    ),
    "os-build": Entry(
        "windlass.os_build.capability",
        {
            "os-build": Command(
                "windlass.os_build.cli",
                "Show and start builds of OS images, in a cluster or without one.",
                before="run",
            )
        },
    ),
    "update-status": Entry(
        "windlass.update_status.capability",
        {
            "status": Command(
                "windlass.update_status.cli.status",
                "Show how the update of the cluster is going, and what needs attention.",
                before="web",
            )
        },
    ),
}
"""Every capability by name."""


def capability(name: str) -> Capability:
    """KeyError if there is none of this name."""
    found = importlib.import_module(CAPABILITIES[name].module).CAPABILITY
    assert isinstance(found, Capability)
    return found


def capabilities(names: Sequence[str] = ()) -> dict[str, Capability]:
    """These capabilities, or all. Raises UsageError."""
    if odd := sorted(set(names) - set(CAPABILITIES)):
        raise click.UsageError(f"there is no capability {', '.join(odd)}, only {', '.join(CAPABILITIES)}")
    return {name: capability(name) for name in CAPABILITIES if name in names or not names}


def commands_before(name: str) -> dict[str, Command]:
    """The commands of capabilities that stand before the frame's command `name`."""
    return {
        own: command
        for entry in CAPABILITIES.values()
        for own, command in entry.commands.items()
        if command.before == name
    }


class CommandOfEach(click.Group):
    """A group with a command for each capability; `of` makes the command from its name and value when it is needed."""

    def __init__(self, *arguments: Any, of: Callable[[str, Capability], click.Command], **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self._of = of

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(CAPABILITIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return adopt(self._of(cmd_name, capability(cmd_name))) if cmd_name in CAPABILITIES else None
