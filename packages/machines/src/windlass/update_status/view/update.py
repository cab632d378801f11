"""Shows how the update of the cluster goes: what a controller keeps, what whoever looks may read, or files.

| part | what |
|---|---|
| `clock` | for files: the moment that they show |
| `changed` | for an object: when something in it changed last, as its controller tells |
| `update` | the cluster as a whole, and its control plane |
| `operator/NAME`, `pool/NAME`, `node/NAME` | those of the report, as `windlass status -o json` has them |
| `cause/ID`, `insight/ID` | what needs attention, and why |
| `insight/INFORMER/ID` | what an informer of somebody else told |
| `record`, `took/operator/NAME`, `took/pool/NAME`, `took/node/NAME` | the newest update: when what began and ended |
| `history` | all recorded updates in a line each |
| `read` | for what was read with the rights of whoever looks: when |
| `problem` | instead of all these: why there is nothing to show |
"""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import structs

from windlass.api.authorization import ResourceAttributes
from windlass.api.update import UPDATE_STATUS, UpdateStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.api.update_record import UpdateRecord
from windlass.kube.control.permissions import Permission, permission
from windlass.update_status.assessment import assess
from windlass.update_status.history import followed
from windlass.update_status.reading import Reading
from windlass.update_status.times import rfc3339
from windlass.update_status.view.following import Following
from windlass.update_status.view.own_reading import EVERY, own_reading
from windlass.update_status.view.parts import parts
from windlass.web.board import Board
from windlass.web.view import TROUBLES, Offer, View

if TYPE_CHECKING:
    from windlass.kube.client import Client

NAME: Final = "update-status"
TITLE: Final = "Update"
SCRIPTS: Final = "windlass.update_status.view"
RULE: Final = (
    ResourceAttributes(
        verb="get", group=UpdateStatus.RESOURCE.group, resource=UpdateStatus.RESOURCE.plural, name=UPDATE_STATUS
    ),
    ResourceAttributes(verb="list", group=UpdateRecord.RESOURCE.group, resource=UpdateRecord.RESOURCE.plural),
)


def live_view(client: "Client", *, every: float = EVERY) -> View:
    """What the controller keeps; without one, what whoever looks may read, `every` so many seconds."""
    following = Following(client)
    return View(
        name=NAME,
        title=TITLE,
        scripts=SCRIPTS,
        rule=RULE,
        source=following.run,
        needs=needs(),
        clock=client.server_clock.now,
        personal=own_reading(lambda: following.why, every=every),
    )


def needs() -> tuple[Permission, ...]:
    """What following takes."""
    return (
        permission(UpdateStatus, "list", "watch"),
        permission(UpdateRecord, "list", "watch"),
        permission(UpdateStatusHeartbeat, "list", "watch"),
    )


def recorded_view(reading: Reading) -> View:
    """What files show. Raises Problem."""
    report = assess(reading.sources, now=reading.now, wall=reading.wall)
    # Of nodes and pools, files say where they are, and not when that began.
    history = reading.sources.cluster_version.status.history
    found = followed([], report, {}, now=reading.now, history=history)
    records = [structs.replace(record, nodes=[], pools=[]) for record in found]
    document = {
        **parts(report, records, now=reading.now),
        "clock": {"now": rfc3339(reading.now)},
        TROUBLES: [],
    }

    async def source(board: Board) -> None:
        board.show(document)
        await asyncio.Event().wait()

    return View(name=NAME, title=TITLE, scripts=SCRIPTS, rule=RULE, source=source)


def _live(client: "Client", _: str) -> View:
    return live_view(client)


def _recorded(sources: Sequence[str]) -> View:
    import sys

    import click

    from windlass.update_status.assessment import Problem
    from windlass.update_status.reading.dump import read_dump

    try:
        return recorded_view(read_dump(sources, stdin=sys.stdin.buffer, wall=time.time_ns()))
    except Problem as problem:
        raise click.ClickException(str(problem)) from None


VIEW: Final = Offer(live=_live, needs=needs, recorded=_recorded)
