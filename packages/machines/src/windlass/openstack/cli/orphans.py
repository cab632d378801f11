"""`windlass openstack orphans`: marked resources whose owner is gone."""

import click

from windlass.capability.conventions import output
from windlass.capability.conventions.options import Duration
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.openstack.capability import machine_api_namespace


@click.command("orphans")
@click.option("--delete", is_flag=True, help="Delete them.")
@click.option(
    "-y", "--yes", is_flag=True, help="Do not ask for confirmation; required for --delete without a terminal."
)
@click.option("--all-ages", is_flag=True, help="Also delete what belongs to a mark that was used in the last hour.")
@click.option(
    "--os-cloud",
    metavar="NAME",
    help="The project of this entry of your clouds.yaml. [default: those of all credentials that objects name]",
)
@click.option(
    "--no-cluster",
    is_flag=True,
    help="Ask no cluster which owners exist: what has a mark is shown, also of objects that exist. Needs --os-cloud.",
)
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="NAMESPACE[/NAME]",
    help="Only what these objects had, or all objects of a namespace; may be repeated.",
)
@click.option(
    "--timeout",
    type=Duration(),
    default="10m",
    show_default=True,
    metavar="DURATION",
    help="How long to wait until all is deleted.",
)
@output.forms("table", "json", "yaml", text="How to print them.")
@click.option("--no-headers", is_flag=True, help="Leave out the headings of the table.")
@machine_api_namespace
@settings_of
def command(
    settings: Settings,
    *,
    delete: bool,
    yes: bool,
    all_ages: bool,
    os_cloud: str | None,
    no_cluster: bool,
    owners: tuple[str, ...],
    timeout: float,
    form: str,
    no_headers: bool,
    machine_api_namespace: str,
) -> int:
    """Show what has the mark of an object that does not exist, in any namespace of the cluster: servers, ports, trunks,
    volumes, networks, routers, security groups, floating IPs, load balancers.

    The resources of OTHER management clusters that use the same project look like orphans: their objects are not in
    this cluster. Never delete in a project that another management cluster uses.

    Owners are OpenStackClusters, OpenStackMachines, OpenStackServers, OpenStackFloatingIPPools and Machines of the
    Machine API. If one of these kinds cannot be listed, nothing is shown. Of Machines, only those in the namespace of
    --machine-api-namespace say which projects are looked at. What programs make with create_instance is never an
    orphan.

    Where the management cluster is lost, --no-cluster --os-cloud NAME shows all that has a mark in that project, and
    --delete wants the --owner.

    Without --delete nothing is changed, and the exit code is 3 if there are orphans. With it the exit code is 0 if all
    of them are gone.
    """
    import asyncio

    from windlass.capability.conventions import terminal
    from windlass.openstack.cli.left_over import OrphansRequest, show

    if settings.namespace is not None:
        raise click.UsageError("owners are looked for in all namespaces: leave out -n, or say --owner NAMESPACE")
    if no_cluster and not os_cloud:
        raise click.UsageError("--no-cluster: no object can name the project: say --os-cloud NAME")
    if no_cluster and delete and not owners:
        raise click.UsageError(
            "--no-cluster --delete: nobody knows which objects exist: say whose with --owner NAMESPACE"
        )
    if delete and not yes:
        terminal.need("--delete")
    request = OrphansRequest(
        form,
        headings=not no_headers,
        delete=delete,
        ask=not yes,
        all_ages=all_ages,
        os_cloud=os_cloud or "",
        seconds=timeout,
        owners=owners,
        no_cluster=no_cluster,
        machine_api=machine_api_namespace,
    )
    return asyncio.run(show(settings, request))
