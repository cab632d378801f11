"""Read both sides, join them, print them.

A side that cannot be listed (its CRD is not installed, or we may not) is a warning and exit code 1; the other is shown.
"""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import click

from windlass.cli import complaints
from windlass.cli.connection import connect
from windlass.cli.conventions import Settings
from windlass.cli.exit_codes import Exit
from windlass.cli.machines import view
from windlass.cli.machines.read import Listing, both_sides
from windlass.cli.table import Table
from windlass.cli.terminal import colourful
from windlass.kube.errors import KubeError
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.overview import Row, join


class Request(NamedTuple):
    """What to print: the machines `wanted` (none: all of them), in which form."""

    wanted: frozenset[str]
    form: str
    headings: bool = True

    def table(self) -> Table[Row]:
        columns = view.columns(lambda: datetime.now(UTC), wide=self.form == "wide")
        return Table(columns, colour=colourful(sys.stdout))

    def selects(self, name: str) -> bool:
        return not self.wanted or name in self.wanted


async def once(settings: Settings, places: Namespaces, request: Request) -> Exit:
    """`windlass machines`. Raises KubeErrors that concern both sides."""
    async with connect(settings) as client:
        left, right = await both_sides(client, places)
    rows = [row for row in join(left.items, right.items) if request.selects(row.name)]
    troubles = [(side.resource, side.trouble) for side in (left, right) if side.trouble is not None]
    missing = sorted(request.wanted - {row.name for row in rows})
    report_troubles([left, right])
    report(rows, missing=missing, places=places)
    for line in render(request, rows, troubles):
        click.echo(line)
    return Exit.FAILED if troubles or missing else Exit.OK


def render(request: Request, rows: Sequence[Row], troubles: Sequence[tuple[str, KubeError]]) -> list[str]:
    """The rows as lines of standard output."""
    said = [(resource, str(error)) for resource, error in troubles]
    match request.form:
        case "json":
            return [view.as_json(view.whole(rows, said))]
        case "yaml":
            return [view.as_yaml(view.whole(rows, said))]
        case "name":
            return [view.name(row) for row in rows]
        case _:
            return request.table().lines(rows, headings=request.headings) if rows else []


def report_troubles(sides: Iterable[Listing]) -> None:
    """Tell people which side is missing altogether, and why."""
    for side in sides:
        if side.trouble is not None:
            why = complaints.explain(side.trouble)
            complaints.warn(f"{side.resource} cannot be listed, so that side is missing: {why}")


def report(rows: Iterable[Row], *, missing: Sequence[str], places: Namespaces) -> None:
    """Tell people what the rows cannot: which machines are not there, and which objects are broken."""
    for name in missing:
        complaints.say("error", f"no machine {name!r} in {places.machine_api} or {places.cluster_api}")
    empty = True
    for row in rows:
        empty = False
        for side in (row.machine_api, row.cluster_api):
            if side is not None and side.unreadable:
                complaints.warn(f"{side.unreadable} (namespace {side.namespace}): mend it with kubectl edit")
    if empty and not missing:
        click.echo(f"No machines found in {places.machine_api} or {places.cluster_api}.", err=True)
