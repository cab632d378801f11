"""Prints the page on standard output, and read errors on standard error."""

import sys
from datetime import UTC, datetime

import click

from windlass.capability.conventions import complaints
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.kube.process.colour import colourful
from windlass.machine_sync.cli.machines.describe import view
from windlass.machine_sync.cli.selection import Wanted, either
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.inspection.description import Ambiguous, look
from windlass.machine_sync.overview import KINDS
from windlass.machine_sync.planning.standing import remedy_for


async def describe(settings: Settings, places: Namespaces, wanted: Wanted, *, form: str) -> Exit:
    """`windlass machines describe`. Raises KubeErrors that concern both sides."""
    now = datetime.now(UTC)
    async with connect(settings) as client:
        try:
            sight = await look(client, places, wanted.name, kind=wanted.kind, now=now)
        except Ambiguous:
            name = wanted.name
            raise click.UsageError(
                f"{name} is a machine and a MachineSet: write machine/{name} or machineset/{name}"
            ) from None
    if sight is None:
        what = either([wanted.kind] if wanted.kind else KINDS)
        complaints.say("error", f"no {what} {wanted.name!r} in {places.machine_api} or {places.cluster_api}")
        return Exit.FAILED
    for trouble in sight.troubles:
        complaints.warn(f"{trouble.what} cannot be read and is missing here: {complaints.explain(trouble.error)}")
    if sight.standing is not None and sight.standing.idle:
        idle = sight.standing.idle
        complaints.warn(f"Machine sync idles on this cluster: {idle}: {remedy_for(idle)}")
    if form == "json":
        click.echo(view.as_json(sight))
    else:
        click.echo("\n".join(view.as_text(sight, places, now=now, colour=colourful(sys.stdout))))
    failed = sight.troubles or (sight.plan is not None and sight.plan.error is not None)
    return Exit.FAILED if failed else Exit.OK
