"""Completes values in the shell.

Completion must never disturb the user: if it fails or takes longer than `PATIENCE`, it offers and prints nothing.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windlass.kube.client import Client

PATIENCE = 1.5
"""Seconds that a user at a prompt waits for names."""


def contexts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The contexts of the kubeconfig."""
    from windlass.capability.conventions.connection import contexts as known
    from windlass.capability.conventions.settings import said
    from windlass.kube.errors import KubeError

    try:
        return [name for name in known(said(ctx)) if name.startswith(incomplete)]
    except KubeError:
        return []


def of_cluster(ctx: click.Context, ask: "Callable[[Client], Awaitable[set[str]]]") -> set[str]:
    """The result of `ask` on the cluster that the command line names; nothing if it fails or takes too long."""
    import asyncio

    from windlass.capability.conventions.connection import connect
    from windlass.capability.conventions.settings import said
    from windlass.kube.errors import KubeError

    async def answer() -> set[str]:
        async with asyncio.timeout(PATIENCE), connect(said(ctx), warned=lambda text: None) as client:
            return await ask(client)

    try:
        return asyncio.run(answer())
    except (KubeError, TimeoutError, OSError):
        return set()
