"""Prints the pools of a cluster: as a table, for programs, or as names."""

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import click
import msgspec

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.capability.conventions import complaints, output
from windlass.capability.conventions.ages import age
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.table import Cell, Column, Table
from windlass.kube.clock import rfc3339
from windlass.kube.errors import Forbidden
from windlass.kube.foreign import harmless
from windlass.kube.process.colour import colourful
from windlass.kube.shorten import shortened
from windlass.os_build.builder import BuildState, Failed
from windlass.os_build.cli.look import Builders, claims, pools
from windlass.os_build.overview import PoolRow, State

NOTHING: Final = "-"
_LONGEST_MESSAGE: Final = 80
_DIGEST_CHARACTERS: Final = 12
_COLOURS: Final = {
    State.BUILT: "green",
    State.FAILED: "red",
    State.PENDING: "yellow",
    State.BUILDING: "yellow",
    State.HELD_BACK: "yellow",
    State.UNSEEN: "yellow",
}


class ListRequest(NamedTuple):
    """The pools to show (none named: those that are opted in, or with `every` all), and how."""

    wanted: Sequence[str] = ()
    form: str = "table"
    every: bool = False
    headings: bool = True


class Shown(NamedTuple):
    """A row, and the latest build that is in the cluster."""

    row: PoolRow
    build: BuildState | None = None


async def show(settings: Settings, request: ListRequest) -> Exit:
    """`windlass os-build list`. Raises KubeErrors of listing pools."""
    builders, failed = None, False
    async with connect(settings) as client:
        found, claimed = await pools(client), await claims(client)
        if request.form in ("wide", "json", "yaml"):
            try:
                builders = await Builders.read(client)
            except Forbidden as error:
                failed = True
                complaints.warn(f"builders cannot be read and are missing here: {complaints.explain(error)}")
    rows = [claimed.row(each.object) for each in found]
    for name in sorted({*request.wanted} - {row.pool for row in rows}):
        complaints.say("error", f"no MachineConfigPool {name!r}")
        failed = True
    shown = [Shown(row, _latest(builders, row.pool)) for row in rows if _is_selected(row, request)]
    if not shown and not failed:
        click.echo("No pool is opted in.", err=True)
    for line in render(request, shown, now=lambda: datetime.now(UTC), colour=colourful(sys.stdout)):
        click.echo(line)
    return Exit.FAILED if failed else Exit.OK


def render(
    request: ListRequest, shown: Sequence[Shown], *, now: Callable[[], datetime], colour: bool = False
) -> list[str]:
    """The lines of standard output."""
    match request.form:
        case "json" | "yaml":
            return [output.items(request.form, map(tree, shown))]
        case "name":
            resource = MachineConfigPool.RESOURCE
            return [harmless(f"{resource.kind.lower()}.{resource.group}/{each.row.pool}") for each in shown]
    if not shown:
        return []
    wide = request.form == "wide"
    columns = [column for column in _columns(now, wide=wide) if wide or not column.wide]
    return Table(columns, colour=colour).lines(shown, headings=request.headings)


def tree(shown: Shown) -> dict[str, Any]:
    """The item of `-o json` and `-o yaml`."""
    row: dict[str, Any] = msgspec.to_builtins(shown.row)
    return {**row, "upToDate": shown.row.up_to_date, "build": build_tree(shown.build) if shown.build else None}


def build_tree(build: BuildState) -> dict[str, Any]:
    """A build for programs."""
    return {
        "name": build.name,
        "backend": str(build.backend),
        "phase": str(build.phase),
        "attempt": build.attempt,
        "architecture": build.architecture,
        "config": build.config,
        "inputs": build.inputs,
        "image": build.image,
        "digest": build.digest,
        "started": rfc3339(build.started) if build.started else None,
        "ended": rfc3339(build.ended) if build.ended else None,
        "note": build.note,
        "failure": failure_tree(build.failed) if build.failed else None,
    }


def failure_tree(failed: Failed) -> dict[str, Any]:
    return {"cause": str(failed.cause), "step": failed.step, "exitCode": failed.exit_code, "log": failed.tail}


def _is_selected(row: PoolRow, request: ListRequest) -> bool:
    return row.pool in request.wanted if request.wanted else request.every or row.state is not State.OUT


def _latest(builders: Builders | None, pool: str) -> BuildState | None:
    found = builders.of(pool) if builders else []
    return max(found, key=lambda each: (not each.is_over, each.attempt), default=None)


def _columns(now: Callable[[], datetime], *, wide: bool) -> list[Column[Shown]]:
    return [
        Column("POOL", lambda each: Cell(each.row.pool)),
        Column("STATE", lambda each: Cell(each.row.state, _COLOURS.get(each.row.state))),
        Column("CONFIG", lambda each: Cell(each.row.config or NOTHING)),
        Column("IMAGE", lambda each: Cell(_image(each.row, wide=wide))),
        Column("UP-TO-DATE", _up_to_date),
        Column("SINCE", lambda each: Cell(age(each.row.since, now()) if each.row.since else NOTHING)),
        Column("BUILDER", lambda each: Cell(_builder(each.build)), wide=True),
        Column("ATTEMPT", lambda each: Cell(str(each.build.attempt) if each.build else NOTHING), wide=True),
        Column("MESSAGE", lambda each: Cell(_message(each.row, wide=wide))),
    ]


def _image(row: PoolRow, *, wide: bool) -> str:
    if wide or not row.image:
        return row.image or NOTHING
    return row.image.rpartition(":")[2][:_DIGEST_CHARACTERS]


def _up_to_date(shown: Shown) -> Cell:
    if not shown.row.image:
        return Cell(NOTHING)
    return Cell("True", "green") if shown.row.up_to_date else Cell("False", "yellow")


def _builder(build: BuildState | None) -> str:
    return f"{build.backend}/{build.name}" if build else NOTHING


def _message(row: PoolRow, *, wide: bool) -> str:
    line = next(iter(row.message.splitlines()), "")
    if wide:
        return line or NOTHING
    # The other columns say it already.
    return NOTHING if row.state is State.BUILT or not line else shortened(line, _LONGEST_MESSAGE)
