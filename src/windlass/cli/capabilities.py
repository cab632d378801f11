"""Lists the capabilities. Each is imported only when it is used."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import click

from windlass.capability.conventions.options import adopt
from windlass.capability.conventions.room import Room

CAPABILITIES = {
    "machine-sync": "windlass.machine_sync.cli.room",
    "openstack": "windlass.openstack.cli.room",
    "os-build": "windlass.os_build.cli.room",
    "update-status": "windlass.update_status.cli.room",
}
"""Every capability with the module that has its `ROOM`."""


def room(name: str) -> Room:
    """The room of a capability. KeyError if there is none of this name."""
    found = importlib.import_module(CAPABILITIES[name]).ROOM
    assert isinstance(found, Room)
    return found


def rooms(names: Sequence[str] = ()) -> dict[str, Room]:
    """The rooms of these capabilities, or of all. Raises UsageError."""
    if odd := sorted(set(names) - set(CAPABILITIES)):
        raise click.UsageError(f"there is no capability {', '.join(odd)}, only {', '.join(CAPABILITIES)}")
    return {name: room(name) for name in CAPABILITIES if name in names or not names}


class Commands(click.Group):
    """A group with a command for each capability; `of` makes the command from its name and room when it is needed."""

    def __init__(self, *arguments: Any, of: Callable[[str, Room], click.Command], **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self._of = of

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(CAPABILITIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return adopt(self._of(cmd_name, room(cmd_name))) if cmd_name in CAPABILITIES else None
