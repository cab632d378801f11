"""Formats everything about a pool: as a page for people, as one JSON object for programs."""

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import click
import msgspec
from msgspec.structs import replace

from windlass.api.core import Event
from windlass.api.meta import PlainCondition
from windlass.capability.conventions import complaints
from windlass.capability.conventions.ages import age
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.page import INDENT, facts, heading, indented
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.table import Cell, Column, Table
from windlass.kube.clock import rfc3339
from windlass.kube.conditions import TRUE, find
from windlass.kube.foreign import harmless, json_text
from windlass.kube.process.colour import colourful
from windlass.kube.shorten import shortened
from windlass.os_build.builder import ATTEMPTS, BuildState, Obstacle
from windlass.os_build.cli.claim import claim_tree
from windlass.os_build.cli.look import PoolInspection, look
from windlass.os_build.cli.show import NOTHING, build_tree
from windlass.os_build.constants import ARCHITECTURE, LAYERING
from windlass.os_build.failure import failure_text, what
from windlass.os_build.machine_os.conditions import IMAGE_BUILD_DEGRADED
from windlass.os_build.machine_os.request import requested
from windlass.os_build.overview import State
from windlass.os_build.pool import situations as of
from windlass.os_build.pool.conditions import VECTOR
from windlass.os_build.pool.situation import BLOCKING
from windlass.os_build.request import BackendName, Problem, Request

_OBSTACLES: Final = frozenset(map(str, Obstacle))
_SHOWN_LINES: Final = 5
"""Of the user's Containerfile."""
_LONGEST_MESSAGE: Final = 100
"""In tables; the problems have the whole text."""
_COLOURS: Final = {"True": "green", "Warning": "yellow"}


async def describe(settings: Settings, pool: str, *, form: str) -> Exit:
    """`windlass os-build describe`. Raises KubeErrors of the pool itself."""
    async with connect(settings) as client:
        sight = await look(client, pool)
    if sight is None:
        complaints.say("error", f"no MachineConfigPool {pool!r}")
        return Exit.FAILED
    for subject, error in sight.troubles:
        complaints.warn(f"{subject} cannot be read and is missing here: {complaints.explain(error)}")
    if form == "json":
        click.echo(as_json(sight))
    else:
        click.echo("\n".join(as_text(sight, now=datetime.now(UTC), colour=colourful(sys.stdout))))
    return Exit.FAILED if sight.troubles else Exit.OK


def problems(sight: PoolInspection) -> list[Problem]:
    """Why the pool does not get the image that it asks for, with the remedies."""
    if sight.row.claimed_by:
        return _problems_of_claim(sight)
    found: list[Problem] = []
    match sight.situation:
        case of.OptedOut():
            text = f"the pool is not opted in: kubectl annotate machineconfigpool {sight.row.pool} {LAYERING}="
            found = [Problem("OptedOut", text)]
        case of.Unclear(problem):
            found = [problem]
        case of.Broken(build, again) if (
            build.failed is not None and sight.facts and isinstance(sight.facts.request, Request)
        ):
            # Its log is among the builders.
            failed = replace(build.failed, tail="")
            request = sight.facts.request.on(build.architecture)
            text = failure_text(failed, request, attempt=build.attempt, attempts=ATTEMPTS, again=again)
            found = [Problem(str(build.failed.cause), text)]
        case of.Retrying(build) | of.Lost(build) if build.failed is not None:
            found = [Problem(str(build.failed.cause), sight.row.message)]
        case of.HeldBack(condition, message):
            found = [Problem("PoolDegraded", f"no build starts while {condition} is True: {message or 'no message'}")]
    if not found and sight.row.reason in _OBSTACLES:
        found = [Problem(sight.row.reason, sight.row.message)]
    if not found and sight.row.state is State.UNSEEN:
        found = [Problem("Unseen", sight.row.message)]
    if not found and sight.row.state is State.FAILED:
        # The controller knows what is not seen from here, such as Secrets and the answer of a registry.
        found = [Problem(sight.row.reason, sight.row.message)]
    return found


def _problems_of_claim(sight: PoolInspection) -> list[Problem]:
    if sight.claim is not None:
        for architecture in sight.architectures or (ARCHITECTURE,):
            asked = requested(sight.claim.config, sight.pool, architecture=architecture)
            if isinstance(asked, Problem):
                return [asked]
        if sight.claim.failure:
            return [Problem("BuildFailed", sight.claim.failure)]
    degraded = find(sight.pool.status.conditions, IMAGE_BUILD_DEGRADED)
    # A failure that the pool tells may be of an earlier build.
    if degraded is None or degraded.status != TRUE or degraded.reason == "BuildFailed":
        return [Problem("Unseen", sight.row.message)] if sight.row.state is State.UNSEEN else []
    return [Problem(degraded.reason, degraded.message)]


def as_json(sight: PoolInspection) -> str:
    """All facts; the keys are stable."""
    request = sight.facts.request if sight.facts else None
    row: dict[str, Any] = msgspec.to_builtins(sight.row)
    tree = {
        **row,
        "upToDate": _up_to_date(sight),
        "request": _request_tree(request) if isinstance(request, Request) else None,
        "inputs": str(sight.facts.inputs) if sight.facts and sight.facts.inputs else "",
        "machineOSConfig": claim_tree(sight.claim) if sight.claim else None,
        "builds": [build_tree(each) for each in sight.builds],
        "problems": [{"reason": each.reason, "message": each.text} for each in problems(sight)],
        "conditions": msgspec.to_builtins(_ours(sight)),
        "events": [
            {
                "type": each.type,
                "reason": each.reason,
                "message": each.message,
                "count": max(each.count, 1),
                "last": each.last_seen,
            }
            for each in sight.events
        ],
        "unavailable": [{"what": subject, "message": str(error)} for subject, error in sight.troubles],
    }
    return json_text(tree, indent=2)


def as_text(sight: PoolInspection, *, now: datetime, colour: bool) -> list[str]:
    """The page."""
    page = _Page(now, colour=colour)
    return [
        *page.head(sight),
        *page.request(sight),
        *page.claim(sight),
        *page.builds(sight.builds),
        *page.problems(problems(sight)),
        *page.conditions(_ours(sight)),
        *page.events(sight.events),
    ]


class _Page:
    def __init__(self, now: datetime, *, colour: bool) -> None:
        self._now = now
        self._colour = colour

    def head(self, sight: PoolInspection) -> Iterator[str]:
        row = sight.row
        since = f" for {age(row.since, self._now)}" if row.since else ""
        of_what = f", of {row.image_config}" if row.image_config else ""
        newest = "" if not row.image or _up_to_date(sight) else " (the pool asks for another one)"
        image = f"{row.image}{of_what}{newest}" if row.image else NOTHING
        yield from facts({"Pool": row.pool, "State": f"{row.state}{since}", "Image": image})

    def request(self, sight: PoolInspection) -> Iterator[str]:
        known = sight.facts
        if known is None or not isinstance(known.request, Request):
            return
        asked = known.request
        yield from self._heading("Asks for")
        backend = str(known.backend) if isinstance(known.backend, BackendName) else NOTHING
        lines = asked.containerfile.splitlines()
        asks = {
            "Configuration": asked.config,
            "Stream": asked.images.stream,
            "Target": str(asked.target),
            "Pull Secret": asked.pull_secret,
            "Push Secret": asked.push_secret,
            "Backend": backend if asked.backend else f"{backend} (the default here)",
            "Architectures": _architectures(sight),
            "Rebuild": asked.rebuild or NOTHING,
            "Proxy": asked.egress.shown_proxy,
            "Trust Bundle": f"{count} certificates" if (count := asked.egress.bundled) else "",
            "Containerfile": f"{len(lines)} lines" if lines else NOTHING,
        }
        yield from indented(facts(asks))
        yield from indented(harmless(f"{INDENT}| {line}") for line in lines[:_SHOWN_LINES])

    def claim(self, sight: PoolInspection) -> Iterator[str]:
        if sight.claim is None:
            return
        yield from self._heading("MachineOSConfig")
        claim = claim_tree(sight.claim)
        build = claim["build"] or {}
        told = {
            "Name": claim["name"],
            "Image": claim["image"] or NOTHING,
            "Architectures": _architectures(sight),
            "Build": build.get("name", NOTHING),
            "State": build.get("state", ""),
            "Configuration": build.get("config", ""),
            "Pushed": build.get("image", ""),
            "Started": self._since(build.get("started")),
            "Ended": self._since(build.get("ended")),
        }
        yield from indented(facts(told))

    def builds(self, builds: Iterable[BuildState]) -> Iterator[str]:
        yield from self._heading("Builders", empty=not builds)
        for each in builds:
            known = {
                "Build": f"{each.backend}/{each.name}",
                "Phase": f"{each.phase}{' (ending)' if each.ending else ''}, attempt {each.attempt} of {ATTEMPTS}",
                "Configuration": each.config,
                "Started": self._ago(each.started),
                "Ended": self._ago(each.ended),
                "Waits": each.note,
                "Digest": each.digest,
                "Failure": f"{each.failed.cause}: {what(each.failed)}" if each.failed else "",
            }
            yield from indented(facts(known))
            tail = each.failed.tail.splitlines() if each.failed else []
            yield from indented(harmless(f"{INDENT}| {line}") for line in tail)

    def problems(self, found: Iterable[Problem]) -> Iterator[str]:
        yield from self._heading("Problems", empty=not found)
        for each in found:
            first, *rest = each.text.splitlines() or [""]
            yield harmless(f"{INDENT}{each.reason}: {first}")
            yield from indented(harmless(f"{INDENT}{line}") for line in rest)

    def conditions(self, found: Iterable[PlainCondition]) -> Iterator[str]:
        yield from self._heading("Conditions", empty=not found)
        columns: list[Column[PlainCondition]] = [
            Column("TYPE", lambda one: Cell(one.type)),
            Column("STATUS", lambda one: Cell(one.status, _COLOURS.get(one.status))),
            Column("REASON", lambda one: Cell(one.reason or NOTHING)),
            Column("SINCE", lambda one: Cell(age(one.last_transition_time, self._now))),
            Column("MESSAGE", lambda one: Cell(_first_line(one.message))),
        ]
        yield from indented(Table(columns, colour=self._colour).lines(found, headings=bool(found)))

    def events(self, found: Iterable[Event]) -> Iterator[str]:
        yield from self._heading("Events", empty=not found)
        columns: list[Column[Event]] = [
            Column("LAST SEEN", lambda one: Cell(age(one.last_seen, self._now))),
            Column("TYPE", lambda one: Cell(one.type or NOTHING, _COLOURS.get(one.type))),
            Column("REASON", lambda one: Cell(one.reason or NOTHING)),
            Column("MESSAGE", lambda one: Cell(_first_line(one.message))),
        ]
        yield from indented(Table(columns, colour=self._colour).lines(found, headings=bool(found)))

    def _heading(self, title: str, *, empty: bool = False) -> tuple[str, str]:
        return heading(title, "<none>" if empty else "", colour=self._colour)

    def _ago(self, moment: datetime | None) -> str:
        return self._since(rfc3339(moment)) if moment else ""

    def _since(self, moment: str | None) -> str:
        return f"{moment}, {age(moment, self._now)} ago" if moment else ""


def _architectures(sight: PoolInspection) -> str:
    return "unknown, as Nodes may not be listed" if sight.architectures is None else ", ".join(sight.architectures)


def _up_to_date(sight: PoolInspection) -> bool:
    """By the whole identity if it is known, else by what the pool says."""
    return sight.row.up_to_date if sight.situation is None else isinstance(sight.situation, of.Built)


def _ours(sight: PoolInspection) -> list[PlainCondition]:
    """The conditions about the image, and those of others that keep a build back."""
    found = sight.pool.status.conditions
    ours = VECTOR if sight.claim is None else (IMAGE_BUILD_DEGRADED,)
    return [each for each in found if each.type in ours or (each.type in BLOCKING and each.status == TRUE)]


def _first_line(message: str) -> str:
    return shortened(next(iter(message.splitlines()), NOTHING), _LONGEST_MESSAGE)


def _request_tree(request: Request) -> dict[str, Any]:
    return {
        "config": request.config,
        "stream": request.images.stream,
        "target": str(request.target),
        "pullSecret": request.pull_secret,
        "pushSecret": request.push_secret,
        "backend": str(request.backend) if request.backend else None,
        "architectures": list(request.architectures),
        "containerfile": request.containerfile,
        "rebuild": request.rebuild,
        "proxy": request.egress.shown_proxy,
        "trustBundle": request.egress.bundled,
    }
