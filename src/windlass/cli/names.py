"""What the shell offers when somebody presses Tab: names out of the kubeconfig and of the cluster.

Completion must never be in the way: whatever goes wrong, or takes more than a second or two, offers nothing and says
nothing.
"""

import click

PATIENCE = 1.5
"""Seconds that a person at a prompt is made to wait for names."""


def contexts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The contexts of the kubeconfig."""
    from windlass.cli.connection import contexts as known
    from windlass.cli.conventions import said
    from windlass.kube.errors import KubeError

    try:
        return [name for name in known(said(ctx)) if name.startswith(incomplete)]
    except KubeError:
        return []


def machines(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The Machines of both sides that are not on the command line yet."""
    return _of_both_sides(ctx, param, incomplete, kinds=("machine",))


def machines_and_sets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The same with MachineSets; after `machine/` or `machineset/`, of that kind alone."""
    kind, slash, _ = incomplete.rpartition("/")
    if slash:
        return _of_both_sides(ctx, param, incomplete, kinds=(kind,), before=f"{kind}/")
    return _of_both_sides(ctx, param, incomplete, kinds=("machine", "machineset"))


def _of_both_sides(
    ctx: click.Context, param: click.Parameter, incomplete: str, *, kinds: tuple[str, ...], before: str = ""
) -> list[str]:
    import asyncio

    from windlass.api import capi, mapi
    from windlass.api.meta import KubernetesObject
    from windlass.cli.connection import connect
    from windlass.cli.conventions import said
    from windlass.kube.errors import KubeError
    from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE

    machine_api = ctx.params.get("machine_api_namespace") or MACHINE_API_NAMESPACE
    cluster_api = ctx.params.get("cluster_api_namespace") or CLUSTER_API_NAMESPACE
    sides: dict[str, tuple[tuple[type[KubernetesObject], str], ...]] = {
        "machine": ((mapi.Machine, machine_api), (capi.Machine, cluster_api)),
        "machineset": ((mapi.MachineSet, machine_api), (capi.MachineSet, cluster_api)),
    }

    async def ask() -> set[str]:
        async with asyncio.timeout(PATIENCE), connect(said(ctx), warned=lambda text: None) as client:
            found = await asyncio.gather(
                # Names are metadata: no provider specs for a Tab.
                *(
                    client.metadata.list(resource, namespace=namespace)
                    for kind in kinds
                    for resource, namespace in sides.get(kind, ())
                ),
                return_exceptions=True,
            )
        return {item.name for listed in found if not isinstance(listed, BaseException) for item in listed.items}

    there = set(ctx.params.get(param.name or "") or ())
    try:
        offered = {f"{before}{name}" for name in asyncio.run(ask())} - there
    except (KubeError, TimeoutError, OSError):
        return []
    return sorted(name for name in offered if name.startswith(incomplete))
