"""Shows Machines and MachineSets of both APIs, as `windlass machines --watch` does, and one of them in full.

| part | what |
|---|---|
| `Machine/NAME`, `MachineSet/NAME` | a row of `windlass.machine_sync.overview` |

The details of one are read, and its plan is made, with the rights of whoever asks.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from windlass.api.authorization import ResourceAttributes
from windlass.api.coordination import Lease
from windlass.kube.control.permissions import Permission, permission
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME, MACHINE_API_NAMESPACE, Namespaces
from windlass.machine_sync.inspection.description import Ambiguous, as_tree, look
from windlass.machine_sync.inspection.listing import BothSides, Listing
from windlass.machine_sync.inspection.live_rows import LiveRows
from windlass.machine_sync.overview import KINDS, AnyKind, AnyRow
from windlass.machine_sync.view.brief import in_short
from windlass.web.board import Board
from windlass.web.running import Controller, Holder, Liveness
from windlass.web.view import BRIEF, RUNS, TROUBLES, Offer, Refused, View

if TYPE_CHECKING:
    from windlass.kube.client import Client

NAME: Final = "machine-sync"
TITLE: Final = "Machines"
SCRIPTS: Final = "windlass.machine_sync.view"
FIRST: Final = 2.0
"""Seconds after which a document without any machine is shown: there may be none."""
BREATH: Final = 0.2
"""Seconds between two changes: those of a fleet come together."""


def machines_view(client: "Client", places: Namespaces) -> View:
    """The machines in the two namespaces."""

    async def source(board: Board) -> None:
        await _follow(client, places, board)

    async def details(theirs: "Client", query: Mapping[str, str]) -> Any:
        return await _describe(theirs, places, query)

    return View(
        name=NAME,
        title=TITLE,
        scripts=SCRIPTS,
        rule=rule(places),
        source=source,
        details=details,
        needs=needs(places),
    )


def rule(places: Namespaces) -> tuple[ResourceAttributes, ...]:
    """What somebody must be allowed: to list all that is shown."""
    return tuple(_list(kind, namespace) for kind, namespace in _sides(places))


def needs(places: Namespaces) -> tuple[Permission, ...]:
    """What following takes."""
    followed = (permission(kind, "list", "watch", namespace=namespace) for kind, namespace in _sides(places))
    return (*followed, permission(Lease, "get", namespace=places.cluster_api, names=(LEASE_NAME,)))


def controller(places: Namespaces) -> Controller:
    """Machine sync by its Lease, for which OpenShift's own migration controllers compete, too."""
    return Controller("Machine sync", (Holder(places.cluster_api, LEASE_NAME),))


def _sides(places: Namespaces) -> list[tuple[Any, str]]:
    """Each kind with its namespace."""
    return [
        side
        for kind in KINDS
        for side in ((kind.machine_api, places.machine_api), (kind.cluster_api, places.cluster_api))
    ]


def _list(kind: Any, namespace: str) -> ResourceAttributes:
    resource = kind.RESOURCE
    return ResourceAttributes(verb="list", group=resource.group, resource=resource.plural, namespace=namespace)


async def _follow(client: "Client", places: Namespaces, board: Board) -> None:
    troubles: dict[str, str] = {}
    rows: dict[str, AnyRow] = {}
    liveness, looked = Liveness(client, controller(places), now=client.server_clock.now), asyncio.Event()

    def report(resource: str, why: str) -> None:
        troubles[resource] = f"{resource} cannot be watched, so that side may be old or missing: {why}" if why else ""
        board.change({TROUBLES: [text for text in troubles.values() if text]})

    # The watches begin with a list of their own.
    live_rows = LiveRows(client, places, [_nothing(kind) for kind in KINDS], report=report)
    async with asyncio.TaskGroup() as tasks:
        for run in live_rows.runs:
            tasks.create_task(run())
        tasks.create_task(_show_nothing(board))
        tasks.create_task(liveness.run(looked))
        tasks.create_task(_show_whether_it_runs(liveness, looked, board))
        async for changed in live_rows.changes():
            gone = {_key(row) for row in changed if row.gone}
            fresh = {_key(row): row for row in changed if not row.gone}
            rows = {key: row for key, row in (rows | fresh).items() if key not in gone}
            board.change({**fresh, BRIEF: in_short(rows.values())}, gone)
            await asyncio.sleep(BREATH)


async def _show_nothing(board: Board) -> None:
    await asyncio.sleep(FIRST)
    if not board.shown:
        board.show({TROUBLES: [], BRIEF: in_short(())})


async def _show_whether_it_runs(liveness: Liveness, looked: asyncio.Event, board: Board) -> None:
    while True:
        await looked.wait()
        looked.clear()
        # What runs is no document: until there is one, its page has nothing to show.
        while not board.shown:
            await board.newer_than(board.stamp)
        board.change({RUNS: liveness.alive})


def _nothing(kind: AnyKind) -> BothSides:
    sides = (Listing(side.RESOURCE.name, []) for side in (kind.machine_api, kind.cluster_api))
    return BothSides(kind, *sides)


def _key(row: AnyRow) -> str:
    return f"{row.kind}/{row.name}"


async def _describe(client: "Client", places: Namespaces, query: Mapping[str, str]) -> Any:
    kind = next((one for one in KINDS if one.name == query.get("kind")), None)
    name = query.get("name", "")
    if kind is None or not name:
        raise Refused(400, f"say which one: ?kind={'|'.join(one.name for one in KINDS)}&name=NAME")
    try:
        sight = await look(client, places, name, kind=kind, now=datetime.now(UTC))
    except Ambiguous:
        sight = None  # cannot be: one kind is asked for
    if sight is None:
        raise Refused(404, f"there is no {kind.words[0]} {name!r} any more")
    return {**as_tree(sight), "noPlan": sight.no_plan, "idle": sight.standing.idle if sight.standing else ""}


def _live(
    client: "Client",
    named: str,
    *,
    machine_api_namespace: str = MACHINE_API_NAMESPACE,
    cluster_api_namespace: str = CLUSTER_API_NAMESPACE,
) -> View:
    return machines_view(client, Namespaces(machine_api_namespace, cluster_api_namespace))


VIEW: Final = Offer(live=_live, needs=lambda: needs(Namespaces()))
