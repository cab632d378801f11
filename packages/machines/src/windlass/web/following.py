"""Follows the objects that a view shows, and publishes the view's document whenever one of them changes.

    kinds = {"cluster": Followed(OpenStackCluster, cluster_row), "server": Followed(OpenStackServer, server_row)}
    await follow(client, kinds, document, board)       # until it is cancelled

Of each object only the value that `draw` makes of it is kept. `document` is pure: it gets all of them, and gives the
whole document; the board finds out what changed. Reflectors survive restarts of the API server, expired versions, and
kinds that are installed later. The frame's parts `troubles`, `runs` and `stale` are added here.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Generic

from msgspec import Struct

from windlass.api.meta import K
from windlass.kube.cache.health import FollowStage, Pulse
from windlass.kube.cache.reflector import Reflector, Watchable
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.control.seen import Present, read
from windlass.kube.object import NamespacedName, Object
from windlass.kube.shorten import shortened
from windlass.web.board import Board
from windlass.web.running import Alive, Liveness, Runs
from windlass.web.view import RUNS, STALE, TROUBLES

BREATH: Final = 0.2
"""Seconds between two documents: changes of a fleet come together."""
LOOK: Final = 2.0
"""Seconds after which troubles are looked for although nothing changed; shorter interruptions are not told."""
MOST_UNREADABLE: Final = 5
"""Objects that are named because they cannot be read."""
LONGEST_WHY: Final = 300
"""Characters of the reason."""


class Followed(Struct, Generic[K], frozen=True):
    """A kind, in one namespace or (None) in all. `draw` is pure: what is kept of an object; None: it is not shown."""

    kind: type[K]
    draw: Callable[[Present[K]], Any]
    namespace: str | None = None

    @property
    def need(self) -> Permission:
        """What following takes."""
        return permission(self.kind, "list", "watch", namespace=self.namespace)


class Kept(Struct, frozen=True):
    """What is known. `rows`: by the name of the kind in the view, in the order of namespace and name. `unserved`: kinds
    that the API server does not serve. `alive`: whether the controller that keeps the objects runs."""

    rows: Mapping[str, list[Any]]
    unserved: Collection[str] = ()
    alive: Alive = Alive()


class _Sink(Generic[K]):
    """Keeps what is drawn of the objects of one kind, and sets `changed`."""

    def __init__(self, followed: Followed[K], changed: asyncio.Event) -> None:
        self.drawn: dict[NamespacedName, Any] = {}
        self.unreadable: dict[NamespacedName, str] = {}
        self._draw = followed.draw
        self._changed = changed

    async def replace(self, objects: Mapping[NamespacedName, Object[K]], version: str) -> None:
        self.drawn, self.unreadable = {}, {}
        for item in objects.values():
            self.put(item)
        self._changed.set()

    rewind = replace

    def put(self, new: Object[K]) -> None:
        found = read(new)
        self.delete(new)
        if not isinstance(found, Present):
            self.unreadable[new.key] = found.why
        elif (drawn := self._draw(found)) is not None:
            self.drawn[new.key] = drawn

    def delete(self, last: Object[K]) -> None:
        self.drawn.pop(last.key, None)
        self.unreadable.pop(last.key, None)
        self._changed.set()

    def reach(self, version: str) -> None:
        """Nothing is resumed."""

    def rows(self) -> list[Any]:
        return [self.drawn[key] for key in sorted(self.drawn, key=_place)]


async def follow(
    client: Watchable,
    kinds: Mapping[str, Followed[Any]],
    document: Callable[[Kept], Mapping[str, Any]],
    board: Board,
    *,
    liveness: Liveness | None = None,
) -> None:
    """Keep the document of the board up to date until cancelled; `liveness`: of the controller of the objects."""
    changed = asyncio.Event()
    sinks = {name: _Sink(each, changed) for name, each in kinds.items()}
    reflectors = {
        name: Reflector(client, each.kind, sinks[name], namespace=each.namespace) for name, each in kinds.items()
    }

    def show() -> None:
        pulses = {name: reflector.pulse for name, reflector in reflectors.items()}
        # Until the first lists are complete there is nothing to show, unless one of them fails.
        if not all(_is_known(pulse) for pulse in pulses.values()):
            return
        kept = Kept(
            rows={name: sink.rows() for name, sink in sinks.items()},
            unserved=[name for name, pulse in pulses.items() if pulse.stage is FollowStage.NOT_SERVED],
            alive=liveness.alive if liveness else Alive(),
        )
        told = [text for name, pulse in pulses.items() if (text := _trouble(kinds[name], pulse))]
        board.show(framed(document(kept), kept.alive, [*told, *_unreadable(kinds, sinks)]))

    async with asyncio.TaskGroup() as tasks:
        for name, reflector in reflectors.items():
            tasks.create_task(reflector.run(), name=f"follow {name}")
        if liveness:
            tasks.create_task(liveness.run(changed), name="look whether the controller runs")
        while True:
            show()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), LOOK if board.shown else BREATH)
            await asyncio.sleep(BREATH)
            changed.clear()


def framed(document: Mapping[str, Any], alive: Alive, troubles: Sequence[str]) -> dict[str, Any]:
    """The document with the parts of the frame. Pure. That nobody keeps objects up to date matters if some are shown:
    the keys of their parts have a slash."""
    shown: dict[str, Any] = {**document, TROUBLES: [*troubles]}
    there = any("/" in key for key in document)
    if alive.state is not Runs.UNTOLD:
        shown[RUNS] = alive
    if there and alive.state is Runs.STOPPED:
        shown[STALE] = f"{alive.text}. What is shown may be old"
    if there and alive.state is Runs.ABSENT:
        shown[TROUBLES] = [*troubles, f"Perhaps nobody keeps up to date what is shown: {alive.text}"]
    return shown


def _place(key: NamespacedName) -> tuple[str, str]:
    return key[0] or "", key[1]


def _is_known(pulse: Pulse) -> bool:
    return pulse.listed or pulse.failures > 0 or pulse.stage is FollowStage.NOT_SERVED


def _trouble(followed: Followed[Any], pulse: Pulse) -> str:
    if pulse.stage is FollowStage.NOT_SERVED or not (why := pulse.failing):
        return ""
    if pulse.listed and (pulse.failing_seconds or 0.0) < LOOK:
        return ""
    resource = followed.kind.RESOURCE.name
    return f"{resource} cannot be watched, so what is shown of them may be old or missing: {why}"


def _unreadable(kinds: Mapping[str, Followed[Any]], sinks: Mapping[str, _Sink[Any]]) -> list[str]:
    told = [
        f"{kinds[name].kind.RESOURCE.kind} {'/'.join(filter(None, key))} cannot be read and is not shown: "
        f"{shortened(why, LONGEST_WHY)}"
        for name, sink in sinks.items()
        for key, why in sorted(sink.unreadable.items(), key=lambda item: _place(item[0]))
    ]
    more = len(told) - MOST_UNREADABLE
    return told if more <= 0 else [*told[:MOST_UNREADABLE], f"{more} more objects cannot be read"]
