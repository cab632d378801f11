"""Prints one report: as text, or for programs."""

import time
from typing import NamedTuple

import click

from windlass.capability.conventions import complaints, output
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment import Problem
from windlass.update_status.cli.status import inspection
from windlass.update_status.cli.status.inspection import Origin, StatusInspection
from windlass.update_status.cli.status.verdict import beyond_oc, needs_attention
from windlass.update_status.report import Level, Report
from windlass.update_status.text import Details, render
from windlass.update_status.times import Moment


class StatusRequest(NamedTuple):
    """The options: what to read, and how to print it."""

    form: str
    details: str
    threshold: str | None = None
    sources: tuple[str, ...] = ()
    mock: str | None = None
    origin: Origin = Origin.BEST

    @property
    def level(self) -> Level | None:
        return Level[self.threshold.upper()] if self.threshold else None

    @property
    def steps(self) -> bool:
        """Whether the form shows the steps of nodes."""
        return self.form != "text"


class UnreadableFiles(click.ClickException):
    """The files of `--from` are not what a report can be made of."""

    exit_code = Exit.UNREADABLE


def once(settings: Settings, request: StatusRequest) -> Exit:
    """`windlass status`. Raises KubeErrors that concern everything."""
    try:
        seen = _look(settings, request)
    except Problem as problem:
        raise click.ClickException(str(problem)) from None
    if seen.note:
        complaints.say("note", seen.note)
    click.echo(rendered(seen, request, now=seen.now), nl=False)
    if request.level is not None:
        say_reasons(seen.report, request, request.level)
    for gap in seen.report.gaps:
        complaints.warn(gap)
    return code_of(seen, request)


def say_reasons(report: Report, request: StatusRequest, level: Level) -> None:
    """Say on stderr what decides the exit code and is not in the text, which is that of `oc`."""
    if request.form == "text":
        for one in beyond_oc(report, level):
            complaints.say("error", f"{one.summary}: {one.description}; to do: {one.remedy}")


def code_of(seen: StatusInspection, request: StatusRequest) -> Exit:
    """The exit code of a report that was printed."""
    if request.level is not None and needs_attention(seen.report, request.level, now=seen.now):
        return Exit.NEEDS_SOMEBODY
    return Exit.FAILED if seen.report.gaps else Exit.OK


def rendered(seen: StatusInspection, request: StatusRequest, *, now: Moment) -> str:
    """The report in the form that was asked for, in whole lines."""
    match request.form:
        case "json" | "yaml":
            return output.document(request.form, tree(seen.report, now=now))
        case "wide":
            from windlass.update_status.text.wide import render_wide

            return render_wide(seen.report, now=now)
    return render(seen.report, now=now, details=Details(request.details))


def _look(settings: Settings, request: StatusRequest) -> StatusInspection:
    wall = time.time_ns()
    if request.mock is not None:
        from windlass.update_status.reading.mock import read_mock

        return inspection.of(read_mock(request.mock, wall=wall))
    if request.sources:
        import sys

        from windlass.update_status.reading.dump import UnreadableDump, read_dump

        try:
            return inspection.of(read_dump(request.sources, stdin=sys.stdin.buffer, wall=wall))
        except UnreadableDump as problem:
            raise UnreadableFiles(str(problem)) from None

    import asyncio

    return asyncio.run(inspection.of_cluster(settings, steps=request.steps, origin=request.origin))
