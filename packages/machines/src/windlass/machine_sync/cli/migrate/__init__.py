"""`windlass migrate`: moves authority over Machines and MachineSets from one API to the other.

A request is one field, spec.authoritativeAPI; Machine sync does the rest. The command first checks whether that can
succeed, requests a few objects at a time, and waits until each has arrived.

| module | what it does |
|---|---|
| `selection` | selects the objects |
| `look` | reads everything that `windlass.machine_sync.preflight` needs |
| `moving` | runs the command from beginning to end: a few objects at a time, until a failure or Ctrl-C |
| `migrator` | requests and follows the migration of one object |
| `last_seen`, `stage` | the present objects, and how far each has migrated |
| `progress`, `view` | shows progress, and formats the output |
"""

import click

from windlass.capability.conventions.options import Duration
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.machine_sync.cli import names, sides

TIMEOUT = 600.0
IN_FLIGHT = 5


@click.command(name="migrate", short_help="Move authority over machines from one API to the other.")
@click.argument("wanted", metavar="[MACHINE|MACHINESET]...", nargs=-1, shell_complete=names.machines_and_sets)
@click.option("--all", "every", is_flag=True, help="All Machines and MachineSets of the Machine API.")
@click.option(
    "-l", "--selector", metavar="LABELS", help="Only objects with these labels, written as for kubectl: a=b,c!=d."
)
@click.option("--with-machines", is_flag=True, help="Also migrate the Machines that each MachineSet owns.")
@click.option("--to", "target", type=sides.ApiParam(), required=True, help="The new authority.")
@click.option("--dry-run", is_flag=True, help="Only run the pre-flight, and change nothing.")
@click.option(
    "--wait/--no-wait", default=True, show_default=True, help="Wait until each is synchronized from its new authority."
)
@click.option(
    "--timeout",
    type=Duration(),
    default=TIMEOUT,
    metavar="DURATION",
    help="Time limit for each object: 10m or 90s; 0 means no limit. Default 10m.",
)
@click.option(
    "--max-in-flight",
    type=click.IntRange(min=1),
    default=IN_FLIGHT,
    show_default=True,
    metavar="N",
    help="How many are moved at the same time.",
)
@click.option("--keep-going", is_flag=True, help="Start the next objects even after one has failed.")
@click.option(
    "-y",
    "--yes",
    is_flag=True,
    help="Do not ask for confirmation of --all or --selector; required without a terminal.",
)
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@sides.namespace_options
@settings_of
def command(
    settings: Settings,
    wanted: tuple[str, ...],
    *,
    every: bool,
    selector: str | None,
    with_machines: bool,
    target: str,
    dry_run: bool,
    wait: bool,
    timeout: float,
    max_in_flight: int,
    keep_going: bool,
    yes: bool,
    form: str,
    machine_api_namespace: str,
    cluster_api_namespace: str,
) -> int:
    """Move authority over Machines and MachineSets to the other API; the running instances are not touched.

    Names are those of kubectl: machine/worker-0, machineset/workers. A bare name is a Machine, or a MachineSet if only
    that exists. The Machines of a MachineSet are moved with it only if you add --with-machines.

    Every object is checked first. Objects that cannot be moved are left unchanged: standard error has the reasons, and
    the exit code is 4. The others are moved, --max-in-flight at a time. Run the command again to continue where it
    stopped.

    Ctrl-C starts no further objects and waits for those in progress; a second Ctrl-C leaves them to Machine sync.
    """
    import asyncio

    from windlass.capability.conventions import terminal
    from windlass.machine_sync.cli.migrate import moving

    if [every, selector is not None, bool(wanted)].count(True) != 1:
        raise click.UsageError("say what to migrate: either NAMEs, or --selector, or --all")
    asking = not (wanted or yes or dry_run)
    if asking:
        terminal.need("--all" if every else "--selector")
    request = moving.MigrateRequest(
        wanted=wanted,
        selector=selector or "",
        with_machines=with_machines,
        target=target,
        dry_run=dry_run,
        wait=wait,
        timeout=timeout or None,
        in_flight=max_in_flight,
        keep_going=keep_going,
        ask=asking,
        form=form,
    )
    places = sides.namespaces(settings, machine_api_namespace, cluster_api_namespace)
    return asyncio.run(moving.migrate(settings, places, request))
