"""Reads both sides, joins them and prints them.

If one side cannot be listed (its CRD is missing, or access is forbidden), it prints a warning and the other side, and
the exit code is 1.
"""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import click

from windlass.capability.conventions import complaints, output
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.kube.client import Client
from windlass.kube.errors import KubeError
from windlass.kube.process.colour import colourful
from windlass.kube.together import both
from windlass.machine_sync.cli.actors import who_acts
from windlass.machine_sync.cli.machines import view
from windlass.machine_sync.cli.selection import Selection
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.inspection.listing import BothSides, Listing, look_at
from windlass.machine_sync.overview import AnyRow


class MachinesRequest(NamedTuple):
    """The options: what to print, and in which form."""

    selection: Selection
    form: str
    headings: bool = True

    def tables(self) -> view.Tables:
        return view.Tables(
            lambda: datetime.now(UTC),
            wide=self.form == "wide",
            headings=self.headings,
            colour=colourful(sys.stdout),
        )


async def once(settings: Settings, places: Namespaces, request: MachinesRequest) -> Exit:
    """`windlass machines`. Raises KubeErrors that concern everything."""
    selection = request.selection
    async with connect(settings) as client:
        looks, idles = await both(look_at(client, places, selection.kinds), why_idle(client, places))
    found = [row for look in looks for row in look.rows if selection.names(row)]
    rows = [row for row in found if selection.shows(row)]
    missing = selection.missing(found)
    troubles = [(side.resource, side.trouble) for side in listings(looks) if side.trouble is not None]

    report_troubles(listings(looks))
    report(found, missing=missing, places=places, selection=selection, complete=not troubles)
    if selection.unsynced and found and not troubles:
        click.echo(f"note: {summary(found, selection)}", err=True)
    for line in render(request, rows, troubles):
        click.echo(line)
    note_idle(idles)
    if troubles or missing:
        return Exit.FAILED
    return Exit.CHANGES if selection.unsynced and rows else Exit.OK


async def why_idle(client: Client, places: Namespaces) -> str:
    """Why Machine sync does nothing, if OpenShift's operator does the work; empty if that cannot be read."""
    try:
        return (await who_acts(client, places, now=datetime.now(UTC))).idles
    except KubeError:
        return ""


def note_idle(why: str) -> None:
    """Print the note that Machine sync idles."""
    if why:
        click.echo(f"note: {why}", err=True)


def render(request: MachinesRequest, rows: Sequence[AnyRow], troubles: Sequence[tuple[str, KubeError]]) -> list[str]:
    """The rows as lines of standard output."""
    said = [(resource, str(error)) for resource, error in troubles]
    match request.form:
        case "json" | "yaml":
            return [output.document(request.form, view.whole(rows, said)).rstrip("\n")]
        case "name":
            return [view.name(row) for row in rows]
        case _:
            return request.tables().page(rows)


def listings(looks: Iterable[BothSides]) -> list[Listing]:
    return [listing for look in looks for listing in (look.machine_api, look.cluster_api)]


def report_troubles(sides: Iterable[Listing]) -> None:
    """Print which side is missing completely, and why."""
    for side in sides:
        if side.trouble is not None:
            why = complaints.explain(side.trouble)
            complaints.warn(f"{side.resource} cannot be listed, so that side is missing: {why}")


def report(
    rows: Sequence[AnyRow], *, missing: Sequence[str], places: Namespaces, selection: Selection, complete: bool
) -> None:
    """Print what the rows do not show: names that do not exist, and objects that cannot be read.

    `complete`: all sides could be listed. Otherwise an object that was not found may exist.
    """
    where = f"in {places.machine_api} or {places.cluster_api}" if complete else "on the sides that can be listed"
    for words in missing:
        complaints.say("error", f"no {words} {where}")
    for row in rows:
        for side in row.sides:
            if side.unreadable:
                complaints.warn(f"{side.unreadable} (namespace {side.namespace}): fix it with kubectl edit")
    if complete and not rows and not missing:
        what = " or ".join(kind.words[1] for kind in selection.kinds)
        click.echo(f"No {what} found {where}.", err=True)


def summary(rows: Sequence[AnyRow], selection: Selection) -> str:
    """How many objects are in sync: `1 of 40 machines and 1 of 4 MachineSets are not in sync`."""
    counts = []
    for kind in selection.kinds:
        those = [row for row in rows if row.kind == kind.name]
        if those:
            counts.append((sum(row.unsynced for row in those), len(those), kind.words[len(those) != 1]))
    if not any(unsynced for unsynced, *_ in counts):
        return f"nothing is out of sync: looked at {' and '.join(f'{total} {word}' for _, total, word in counts)}"
    stray = " and ".join(f"{unsynced} of {total} {word}" for unsynced, total, word in counts if unsynced)
    return f"{stray} {'is' if sum(unsynced for unsynced, *_ in counts) == 1 else 'are'} not known to be in sync"
