"""Completes names of OpenStackClusters in the shell."""

from typing import TYPE_CHECKING

import click

from windlass.capability.conventions import candidates
from windlass.capability.conventions.settings import said

if TYPE_CHECKING:
    from windlass.kube.client import Client


def clusters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """NAMESPACE/NAME of each cluster; the name alone in the namespace of `-n`."""
    from windlass.api.capo_cluster import OpenStackCluster

    namespace = said(ctx).namespace

    async def ask(client: "Client") -> set[str]:
        found = (await client.metadata.list(OpenStackCluster, namespace=namespace)).items
        return {each.name if namespace else f"{each.namespace}/{each.name}" for each in found}

    return sorted(name for name in candidates.of_cluster(ctx, ask) if name.startswith(incomplete))
