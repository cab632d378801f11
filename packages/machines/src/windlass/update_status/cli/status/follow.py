"""`windlass status --watch` and `--wait`: looks again and again, until Ctrl-C or until the update is over.

The API server may be away for a while, as it is while the only node reboots: one warning says so, and it goes on.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any

import click

from windlass.capability.conventions import complaints, output
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.watch import InPlace, pause_after
from windlass.kube.errors import DecodeError, KubeError, NotServed
from windlass.kube.foreign import harmless
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment import Problem
from windlass.update_status.cli.status import inspection
from windlass.update_status.cli.status.inspection import Origin, StatusInspection
from windlass.update_status.cli.status.show import StatusRequest, code_of, rendered, say_reasons
from windlass.update_status.cli.status.verdict import is_over, is_stalled, needs_attention
from windlass.update_status.estimate import progress
from windlass.update_status.reading.thanos import USER_AGENT
from windlass.update_status.report import Health, Level, Node, Operator, Report
from windlass.update_status.times import Moment, rfc3339

SHORTEST = 2.0
"""Seconds between two looks at least."""

Look = Callable[[], Awaitable[StatusInspection]]


async def follow(settings: Settings, request: StatusRequest, *, watch: bool, wait: float | None) -> Exit:
    """`windlass status --watch` and `--wait`. `wait`: seconds, 0 without a limit; None: until it is interrupted."""
    # Only the cluster itself tells whether it has taken notice of a request to update.
    origin = Origin.CLUSTER if wait is not None and request.origin is Origin.BEST else request.origin
    async with connect(settings, user_agent=USER_AGENT) as client:

        async def look() -> StatusInspection:
            # Whether nodes stand still is known from what `oc` does not read.
            steps = request.steps or wait is not None
            return await inspection.of_client(client, settings, steps=steps, origin=origin)

        try:
            async with asyncio.timeout(wait or None):
                return await _follow(look, request, watch=watch, wait=wait is not None)
        except TimeoutError:
            complaints.say("error", f"the update is not over after {wait:g} s: it goes on, --wait waits for it again")
            return Exit.TIMED_OUT
        except Problem as problem:
            raise click.ClickException(str(problem)) from None


async def _follow(look: Look, request: StatusRequest, *, watch: bool, wait: bool) -> Exit:
    if not watch:
        shown: _Shown = _Nothing()
    elif request.form in ("json", "yaml"):
        shown = _Trees(request)
    elif sys.stdout.isatty():
        shown = _Live(request)
    else:
        shown = _Lines(request)
    level = Level.ERROR if request.level is None else request.level
    before: StatusInspection | None = None
    with contextlib.closing(shown):
        async with aclosing(sights(look, tick=shown.tick)) as seen_so_far:
            async for seen in seen_so_far:
                missing = _missing(seen, before)
                for gap in missing:
                    complaints.warn(gap)
                passing, before = bool(before and missing), seen
                if passing:
                    # What could be read a moment ago did not vanish, and the update is not over for that.
                    continue
                shown.show(seen)
                needy = needs_attention(seen.report, level, now=seen.now) or is_stalled(seen.report, now=seen.now)
                if wait and (needy or (seen.settled and is_over(seen.report))):
                    break
    if not watch:
        click.echo(rendered(seen, request, now=seen.now), nl=False)
    if needy:
        say_reasons(seen.report, request, level)
    code = code_of(seen, request)
    return Exit.NEEDS_SOMEBODY if needy else code


def _missing(seen: StatusInspection, before: StatusInspection | None) -> list[str]:
    """The gaps that were not there before."""
    known = before.report.gaps if before else ()
    return [gap for gap in seen.report.gaps if gap not in known]


async def sights(look: Look, *, tick: Callable[[], None] = lambda: None) -> AsyncGenerator[StatusInspection, None]:
    """What is seen, again and again; `tick` is called each second between. The first look may raise anything, later
    ones only what does not go away."""
    trouble, note, first = "", "", True
    while True:
        began, pause = time.monotonic(), SHORTEST
        try:
            seen = await look()
        except (KubeError, Problem) as error:
            passing = isinstance(error, Problem | NotServed | DecodeError) or error.transient
            if first or not passing:
                raise
            if not trouble:
                why = str(error) if isinstance(error, Problem) else complaints.explain(error)
                complaints.warn(f"the cluster cannot be read, trying again: {why}")
            trouble = str(error)
        else:
            if trouble:
                complaints.say("info", "the cluster can be read again")
            trouble, first = "", False
            if seen.note and not note:
                # Once: the text may tell how long the controller has been silent.
                complaints.say("note", seen.note)
            note = seen.note
            pause = pause_after(time.monotonic() - began, shortest=SHORTEST)
            yield seen
        again = time.monotonic() + pause
        while (left := again - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 1.0))
            tick()


class _Shown:
    """Where reports are shown."""

    def show(self, seen: StatusInspection) -> None:
        raise NotImplementedError

    def tick(self) -> None:
        """A second has passed."""

    def close(self) -> None:
        """Nothing more will be shown."""


class _Nothing(_Shown):
    """For whoever only waits."""

    def show(self, seen: StatusInspection) -> None:
        pass


class _Lines(_Shown):
    """The report once, then a line for each change."""

    def __init__(self, request: StatusRequest) -> None:
        self._request = request
        self._before: Facts | None = None

    def show(self, seen: StatusInspection) -> None:
        after = facts(seen.report, now=seen.now)
        if self._before is None:
            click.echo(rendered(seen, self._request, now=seen.now), nl=False)
        else:
            for line in changes(self._before, after, now=seen.now):
                click.echo(line)
        sys.stdout.flush()
        self._before = after


class _Trees(_Shown):
    """The report for programs, whenever it differs by more than the time: a line of JSON, or a YAML document."""

    _PASSING = frozenset({"duration", "estimate", "expected", "expectedEnd"})

    def __init__(self, request: StatusRequest) -> None:
        self._form = request.form
        self._before: Any = None

    def show(self, seen: StatusInspection) -> None:
        said = tree(seen.report, now=seen.now)
        lasting = {**said, "time": None}
        lasting["controlPlane"] = self._lasting(said["controlPlane"])
        lasting["pools"] = [self._lasting(pool) for pool in said["pools"]]
        if lasting == self._before:
            return
        self._before = lasting
        click.echo(output.one_of_many(self._form, said))
        sys.stdout.flush()

    def _lasting(self, part: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in part.items() if key not in self._PASSING}


class _Live(_Shown):
    """The report in place, on a terminal."""

    def __init__(self, request: StatusRequest) -> None:
        self._request = request
        self._seen: StatusInspection | None = None
        self._since = 0
        self._place = InPlace()

    def show(self, seen: StatusInspection) -> None:
        self._seen, self._since = seen, time.monotonic_ns()
        self.tick()

    def tick(self) -> None:
        if self._seen is not None:
            now = self._seen.now + time.monotonic_ns() - self._since
            self._place.show(rendered(self._seen, self._request, now=now).removesuffix("\n"))

    def close(self) -> None:
        self._place.close()


# Says in one line each what has changed between two reports: phases, states and insights.

GONE = "gone"

Facts = Mapping[str, str]
"""What a report says, by subject."""


def facts(report: Report, *, now: Moment) -> Facts:
    """What is worth a line when it changes. Durations and estimates are not."""
    plane = report.control_plane
    found = {"cluster": "not updating", "control plane": progress(plane, now).assessment}
    if report.updating:
        target = plane.versions.target if plane.versions else "an unknown version"
        found["cluster"] = f"updating to {target}"
    if plane.request is not None:
        found["request"] = f"{plane.request.state} to update to {plane.request.target}"
    for operator in plane.operators:
        found[f"operator {operator.name}"] = _operator(operator)
    for pool in (one.without_windows for one in report.pools):
        found[f"pool {pool.name}"] = f"{pool.assessment}, {pool.summary.updated} of {pool.summary.managed} updated"
        for node in pool.nodes:
            found[f"node {node.name}"] = _node(node)
    for insight in report.insights:
        found[f"insight {insight.summary}"] = f"{insight.level.title}, impact {insight.impact}"
    return found


def changes(before: Facts, after: Facts, *, now: Moment) -> Iterator[str]:
    """A line for each subject that came, changed or went."""
    for subject in dict.fromkeys((*after, *before)):
        was, now_is = before.get(subject), after.get(subject, GONE)
        if was != now_is:
            change = now_is if was is None or now_is == GONE else f"{was} -> {now_is}"
            yield harmless(" ".join(f"{rfc3339(now)} {subject}: {change}".split()))


def _operator(operator: Operator) -> str:
    sick = "" if operator.health is Health.HEALTHY else f", {operator.health}"
    return f"{operator.state}{sick}"


def _node(node: Node) -> str:
    phase = str(node.phase) if node.managed else "not managed yet"
    if not node.message:
        return phase
    return f"{phase}, {node.assessment}: {node.message}"
