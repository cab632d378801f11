"""Completes names of MachineConfigPools in the shell."""

from typing import TYPE_CHECKING

import click

from windlass.capability.conventions import candidates

if TYPE_CHECKING:
    from windlass.kube.client import Client


def pools(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of pools that were not typed yet."""
    from windlass.api.machineconfiguration import MachineConfigPool

    async def ask(client: "Client") -> set[str]:
        return {item.name for item in (await client.metadata.list(MachineConfigPool)).items}

    typed = ctx.params.get(param.name or "") or ()
    found = candidates.of_cluster(ctx, ask) - {typed if isinstance(typed, str) else "", *typed}
    return sorted(name for name in found if name.startswith(incomplete))
