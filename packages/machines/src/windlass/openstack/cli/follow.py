"""`windlass openstack tree --watch`: looks again and again, and prints what has changed, until it is interrupted."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import click

from windlass.capability.conventions import complaints, output
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.watch import InPlace, pause_after
from windlass.kube.errors import KubeError
from windlass.kube.process.colour import colourful
from windlass.openstack.cli.show import Line, TreeInspection, TreeRequest, for_programs, lines, look, render, table
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.overview.tree import Node

SHORTEST: Final = 5.0
"""Seconds between two looks at least: each lists the projects."""


async def follow(settings: Settings, request: TreeRequest) -> Exit:
    """Until it is interrupted. Raises KubeErrors of the first look, and later those that do not go away."""
    async with connect(settings) as client, Clouds() as clouds:
        sights = again(lambda: look(client, clouds, settings, request))
        if request.form in ("tree", "wide") and sys.stdout.isatty():
            await _live(sights, request)
        else:
            await changes(sights, request)
    return Exit.OK


async def again(look: Callable[[], Awaitable[TreeInspection]]) -> AsyncIterator[TreeInspection]:
    """What is seen, again and again. Each trouble is told once, as long as it lasts."""
    told: set[str] = set()
    first = True
    while True:
        began = time.monotonic()
        seen: TreeInspection | None = None
        try:
            seen = await look()
            troubles = seen.troubles
        except KubeError as error:
            if first or not error.transient:
                raise
            troubles = [f"the cluster cannot be read, trying again: {complaints.explain(error)}"]
        for text in troubles:
            if text not in told:
                complaints.warn(text)
        told, first = set(troubles), False
        if seen is not None:
            yield seen
        await asyncio.sleep(pause_after(time.monotonic() - began, shortest=SHORTEST))


async def changes(sights: AsyncIterator[TreeInspection], request: TreeRequest) -> None:
    """All lines once, then each line that differs; for programs the whole, whenever it differs."""
    shown: dict[str, Line] = {}
    before: list[Node] | None = None
    rows = table(request, colour=colourful(sys.stdout))
    async for seen in sights:
        if request.form in ("json", "yaml"):
            if before != list(seen.trees):
                before = list(seen.trees)
                click.echo(output.one_of_many(request.form, {"items": [for_programs(each) for each in before]}))
            continue
        now = {line.path: line for line in lines(seen.trees)}
        changed = [line for path, line in now.items() if path not in shown or _differs(shown[path].node, line.node)]
        gone = [line._replace(node=_gone(line.node)) for path, line in shown.items() if path not in now]
        if not shown:
            changed = list(now.values())
        else:
            changed = [line._replace(branch="") for line in (*changed, *gone)]
        for text in rows.lines(changed, headings=request.headings and not shown and bool(changed)):
            click.echo(text)
        shown = now


def _differs(one: Node, other: Node) -> bool:
    """By itself: what is below has lines of its own."""
    return _alone(one) != _alone(other)


def _alone(node: Node) -> tuple[object, ...]:
    return node.state, node.detail, node.notes, node.ready


def _gone(node: Node) -> Node:
    return Node(kind=node.kind, name=node.name, id=node.id, state="gone")


async def _live(sights: AsyncIterator[TreeInspection], request: TreeRequest) -> None:
    """The trees in place, on a terminal."""
    with contextlib.closing(InPlace()) as shown:
        async for seen in sights:
            shown.show("\n".join(render(request, seen.trees, colour=colourful(sys.stdout))))
