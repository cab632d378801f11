"""The values of the common options, which every command can read.

@click.command()
@settings_of
def command(settings: Settings) -> int: ...
"""

from dataclasses import dataclass

import click


@dataclass(slots=True)
class Settings:
    """The values of the common options; None for those that were not given."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    request_timeout: float | None = None
    """Seconds for one request to the API server; 0 means no limit."""
    as_user: str | None = None
    as_groups: tuple[str, ...] | None = None
    log_level: str | None = None

    @property
    def debugging(self) -> bool:
        return self.log_level == "debug"


settings_of = click.make_pass_decorator(Settings, ensure=True)
"""Decorator: the command's function gets the `Settings` as its first argument."""


def said(ctx: click.Context) -> Settings:
    """The settings of this invocation, from the part of the line that was parsed; one object for all its contexts."""
    return ctx.find_root().ensure_object(Settings)
