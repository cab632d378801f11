"""`windlass openstack tree`: objects beside their resources in the cloud."""

from typing import TYPE_CHECKING

import click

from windlass.capability.conventions import candidates, output
from windlass.capability.conventions.settings import Settings, said, settings_of
from windlass.openstack.capability import machine_api_namespace

if TYPE_CHECKING:
    from windlass.kube.client import Client


# Completes names of OpenStackClusters in the shell.


def clusters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """NAMESPACE/NAME of each cluster; the name alone in the namespace of `-n`."""
    from windlass.api.capo_cluster import OpenStackCluster

    namespace = said(ctx).namespace

    async def ask(client: "Client") -> set[str]:
        found = (await client.metadata.list(OpenStackCluster, namespace=namespace)).items
        return {each.name if namespace else f"{each.namespace}/{each.name}" for each in found}

    return sorted(name for name in candidates.of_cluster(ctx, ask) if name.startswith(incomplete))


@click.command("tree")
@click.argument("wanted", metavar="[CLUSTER]", required=False, shell_complete=clusters)
@output.forms("tree", "wide", "json", "yaml", text="How to print it; wide has IDs, and messages in full.")
@click.option("-w", "--watch", is_flag=True, help="Keep showing changes until Ctrl-C.")
@click.option("--no-headers", is_flag=True, help="Leave out the headings.")
@machine_api_namespace
@settings_of
def command(
    settings: Settings, wanted: str | None, *, form: str, watch: bool, no_headers: bool, machine_api_namespace: str
) -> int:
    """Show OpenStackClusters with their networks, load balancers, addresses, machines and servers,
    OpenStackFloatingIPPools with their floating IPs, Machines of the Machine API with their servers, and
    OpenStackMachines and OpenStackServers that belong to no cluster: the state that the cloud has for each resource,
    and the condition Ready of each object.

    CLUSTER is the NAME or NAMESPACE/NAME of an OpenStackCluster, or of another object that has a tree; without it, all
    are shown, with -n those of a namespace. Machines are looked for in the namespace of --machine-api-namespace only. A
    resource that an object records and that does not exist is named, and so is one that has the mark of an object and
    is not recorded.

    The cloud is asked with the credentials of the objects, so you need the right to read their Secrets. It is asked
    for one list of each kind of resource, however many machines there are.
    """
    import asyncio

    from windlass.openstack.cli.show import TreeRequest, once

    request = TreeRequest(wanted or "", form, headings=not no_headers, machine_api=machine_api_namespace)
    if not watch:
        return asyncio.run(once(settings, request))

    from windlass.openstack.cli.follow import follow

    return asyncio.run(follow(settings, request))
