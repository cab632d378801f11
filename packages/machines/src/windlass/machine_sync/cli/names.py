"""Completes names of Machines and MachineSets in the shell."""

from typing import TYPE_CHECKING

import click

from windlass.capability.conventions import candidates

if TYPE_CHECKING:
    from windlass.kube.client import Client


def machines_and_sets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names in both APIs that were not typed yet; after `machine/` or `machineset/`, those of that kind."""
    import asyncio

    from windlass.api import capi, mapi
    from windlass.api.meta import KubernetesObject
    from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE

    kind, slash, _ = incomplete.rpartition("/")
    machine_api = ctx.params.get("machine_api_namespace") or MACHINE_API_NAMESPACE
    cluster_api = ctx.params.get("cluster_api_namespace") or CLUSTER_API_NAMESPACE
    sides: dict[str, tuple[tuple[type[KubernetesObject], str], ...]] = {
        "machine": ((mapi.Machine, machine_api), (capi.Machine, cluster_api)),
        "machineset": ((mapi.MachineSet, machine_api), (capi.MachineSet, cluster_api)),
    }
    wanted = sides.get(kind, ()) if slash else [side for kinds in sides.values() for side in kinds]

    async def ask(client: "Client") -> set[str]:
        # Names are metadata, so provider specs are not read for a Tab.
        found = await asyncio.gather(
            *(client.metadata.list(resource, namespace=namespace) for resource, namespace in wanted),
            return_exceptions=True,
        )
        return {item.name for listed in found if not isinstance(listed, BaseException) for item in listed.items}

    typed = set(ctx.params.get(param.name or "") or ())
    offered = {f"{kind}{slash}{name}" for name in candidates.of_cluster(ctx, ask)} - typed
    return sorted(name for name in offered if name.startswith(incomplete))
