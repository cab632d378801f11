"""What happened to machines and sets on both sides, state by state, in the order in which the API server wrote it.

All kinds share one store, so their resource versions order the states of all objects. From them one can tell what was
true at each moment, whoever wrote it and however briefly it lasted.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.client.watch import Event, EventType
from windlass.kube.errors import KubeError
from windlass.machine_sync.constants import MACHINE_API

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.stage import Stage
from .claims import is_annotated, is_paused

SIDES: Mapping[Any, str] = {
    mapi.Machine: "mirror",
    capi.Machine: "source",
    mapi.MachineSet: "mirror of the set",
    capi.MachineSet: "source of the set",
}


class State(Struct, frozen=True):
    """One object after one write; `tree` None: it is gone, or what it was from here on was not seen."""

    version: int
    side: str
    name: str
    tree: Tree | None


class History:
    """All states that were seen."""

    def __init__(self) -> None:
        self.states: list[State] = []

    def of(self, side: str, name: str) -> list[Tree]:
        """The states of one object."""
        states = sorted(
            (one for one in self.states if (one.side, one.name) == (side, name)), key=lambda one: one.version
        )
        return [one.tree for one in states if one.tree is not None]

    def moments(self) -> Iterator[tuple[str, dict[str, Tree]]]:
        """After each write: the name of the machine it concerned, and what there was of it."""
        there: dict[str, dict[str, Tree]] = {}
        for state in self.ordered:
            sides = there.setdefault(state.name, {})
            sides.pop(state.side, None)
            if state.tree is not None:
                sides[state.side] = state.tree
            yield state.name, dict(sides)

    @property
    def ordered(self) -> list[State]:
        return sorted(self.states, key=lambda one: one.version)

    def two_authorities(self) -> list[str]:
        """The moments when the Machine API was in charge and those of Cluster API were not told to stand still."""
        found = []
        for name, sides in self.moments():
            mirror = sides.get("mirror")
            if mirror is None or (mirror.get("status") or {}).get("authoritativeAPI") != MACHINE_API:
                continue
            awake = [side for side in ("source", "infra") if side in sides and not is_annotated(sides[side])]
            if awake:
                versions = {side: tree["metadata"]["resourceVersion"] for side, tree in sides.items()}
                found.append(f"{name}: {awake} unpaused while the Machine API was in charge, versions {versions}")
        return found

    def machine_api_awake(self) -> list[str]:
        """The moments when the Machine API was no longer in charge and had not said that it stands still."""
        found = []
        was_in_charge = set()
        for name, sides in self.moments():
            status = sides.get("mirror", {}).get("status") or {}
            match status.get("authoritativeAPI"):
                case "MachineAPI":
                    was_in_charge.add(name)
                case "ClusterAPI" if name in was_in_charge and not is_paused(sides["mirror"]):
                    found.append(f"{name}: {status}")
        return found


@asynccontextmanager
async def recorded(stage: Stage) -> AsyncIterator[History]:
    """Every state of every machine and set in the namespaces of `stage` from now on; whole when the context is left."""
    history = History()
    kinds: dict[type[KubernetesObject], str] = {**SIDES, stage.infra_kind: "infra"}
    begun = {side: asyncio.Event() for side in kinds.values()}
    tasks = [
        asyncio.create_task(_follow(stage, kind, side, history, begun=begun[side])) for kind, side in kinds.items()
    ]
    try:
        async with asyncio.timeout(PATIENCE):
            for event in begun.values():
                await event.wait()
        yield history
        await eventually(lambda: _unseen(stage, kinds, history), lambda unseen: not unseen, what="the end of history")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _unseen(
    stage: Stage, kinds: Mapping[type[KubernetesObject], str], history: History
) -> set[tuple[str, str, int]]:
    """The states that objects have now and that have not been recorded; version 0: that it is gone."""
    now = set()
    for kind, side in kinds.items():
        listed = await stage.admin.list(kind, namespace=stage.home(kind))
        now |= {(side, item.name, int(item.resource_version)) for item in listed.items}
    last = {(one.side, one.name): one for one in history.ordered}
    seen = {(one.side, one.name, one.version) for one in last.values() if one.tree is not None}
    there = {(side, name) for side, name, _ in now}
    return (now - seen) | {(side, name, 0) for side, name, _ in seen if (side, name) not in there}


class Follower:
    """Writes the states of one kind into `history`, and says of which moments it cannot know.

    A watch that begins anew brings each object as it is then. What was written meanwhile nobody saw.
    """

    def __init__(self, side: str, history: History) -> None:
        self._side = side
        self._history = history
        self._known: dict[str, int] = {}
        self._seen = 0
        self._missed: set[str] = set()
        self._blind_since = 0

    def begin(self) -> None:
        """A watch begins, or begins anew."""
        self._missed = set(self._known)
        self._blind_since = self._seen + 1

    def see(self, event: Event[Any]) -> None:
        found, version = event.object, int(event.object.resource_version)
        self._seen = max(self._seen, version)
        if event.type is EventType.BOOKMARK:
            if event.ends_initial_events:
                for name in self._missed:
                    self._write(self._blind_since, name, None)
                    del self._known[name]
                self._missed.clear()
            return
        if found.name in self._missed:
            self._missed.remove(found.name)
            if self._known[found.name] == version:
                return
            self._write(self._blind_since, found.name, None)
        if event.type is EventType.DELETED:
            self._known.pop(found.name, None)
            self._write(version, found.name, None)
        else:
            self._known[found.name] = version
            self._write(version, found.name, found.tree())

    def _write(self, version: int, name: str, tree: Tree | None) -> None:
        self._history.states.append(State(version, self._side, name, tree))


async def _follow(
    stage: Stage, kind: type[KubernetesObject], side: str, history: History, *, begun: asyncio.Event
) -> None:
    follower = Follower(side, history)
    while True:
        follower.begin()
        try:
            async for event in stage.admin.watch(kind, namespace=stage.home(kind), send_initial_events=True):
                begun.set()
                follower.see(event)
        except KubeError:
            # The API server is away: what it wrote last comes again when it is back.
            await asyncio.sleep(0.1)
