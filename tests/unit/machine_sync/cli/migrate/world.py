"""Machines in memory that `windlass migrate` moves, and somebody who plays the controllers that act on its requests."""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from tests.unit.machine_sync import preflight_cases as cases
from windlass.api import mapi
from windlass.kube.control.seen import Absent, seen
from windlass.kube.errors import NotFound
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.machine_sync.cli.migrate.last_seen import LastSeen
from windlass.machine_sync.cli.migrate.migrator import MigrationResult, Migrator
from windlass.machine_sync.cli.migrate.moving import Waves
from windlass.machine_sync.cli.migrate.selection import ObjectKey
from windlass.machine_sync.cli.migrate.stage import Reached
from windlass.machine_sync.crd_rules import machine_api
from windlass.machine_sync.preflight import Candidate
from windlass.model import MemoryApi
from windlass.model.changes import Happened, StoredWrite

Tree = dict[str, Any]

NAMESPACE = "openshift-machine-api"


def machine(name: str, **changes: Any) -> Tree:
    """A Machine under the authority of the Machine API, ready to move to Cluster API."""
    tree = cases.machine_api(metadata__name=name, metadata__uid=name, **changes)
    return {"apiVersion": mapi.Machine.RESOURCE.api_version, "kind": "Machine", **tree}


def synchronized(status: str, reason: str = "ResourceSynchronized", message: str = "") -> Tree:
    return cases.condition("Synchronized", status, reason, message)


def key(name: str) -> ObjectKey:
    return ObjectKey(mapi.Machine, name)


class PlayedMachineSync:
    """Plays Machine sync and the controllers that it waits for: moves status where spec points, in steps.

    It stands in for actors that are not part of a unit test. `pace`: seconds between its steps. Machines in `idle` it
    never touches, those in `failing` it reports as not synchronized.
    """

    def __init__(
        self, api: MemoryApi, *, pace: float = 1.0, idle: Sequence[str] = (), failing: Sequence[str] = ()
    ) -> None:
        self.moving: set[str] = set()
        self.most = 0
        self._api = api
        self._pace = pace
        self._idle = idle
        self._failing = failing
        self._tasks: set[asyncio.Task[None]] = set()
        api.subscribe(self._notice)

    def _notice(self, change: StoredWrite) -> None:
        tree = change.tree
        name, status = tree["metadata"]["name"], tree["status"]["authoritativeAPI"]
        if change.happened is Happened.DELETED or name in self.moving or name in self._idle:
            return
        if status != tree["spec"]["authoritativeAPI"]:
            self.moving.add(name)
            self.most = max(self.most, len(self.moving))
            task = asyncio.get_running_loop().create_task(self._move(name, tree["spec"]["authoritativeAPI"]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _move(self, name: str, target: str) -> None:
        failed = synchronized("False", "FailedToConvert", "no place for it")
        waiting = synchronized("Unknown", "AuthoritativeAPIChanged")
        await self._write(name, authoritativeAPI="Migrating")
        await self._write(name, authoritativeAPI=target, synchronizedAPI=target, conditions=[waiting])
        await self._write(name, conditions=[failed if name in self._failing else synchronized("True")])
        self.moving.discard(name)

    async def _write(self, name: str, **status: Any) -> None:
        await asyncio.sleep(self._pace)
        await self._api.patch(
            mapi.Machine,
            name,
            {"status": status},
            type=PatchType.MERGE,
            namespace=NAMESPACE,
            subresource="status",
        )


class Notebook:
    """An progress_view that remembers."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.finished: list[tuple[str, str]] = []
        self.said: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def update(self, key: ObjectKey, reached: Reached) -> None:
        if (key.name, str(reached.stage)) not in self.steps:
            self.steps.append((key.name, str(reached.stage)))

    def finish(self, key: ObjectKey, severity: str, text: str) -> None:
        self.finished.append((key.name, severity))

    def say(self, text: str) -> None:
        self.said.append(text)


class World:
    """Machines, the last state that was seen of each, and waves that move them to Cluster API."""

    def __init__(
        self, *machines: Tree, limit: float | None = 600.0, size: int = 5, keep_going: bool = False, wait: bool = True
    ) -> None:
        self.api = MemoryApi(machine_api(mapi.Machine))
        self.api.load(*machines)
        self.last_seen = LastSeen()
        self.notebook = Notebook()
        self.migrator = Migrator(
            self.api, self.look, self.last_seen, target="ClusterAPI", limit=limit, wait=wait, tell=self.notebook
        )
        self.waves = Waves(self.migrator, self.migrator.where, size=size, keep_going=keep_going, tell=self.notebook)
        for found in self.api.listing(mapi.Machine):
            self.last_seen.put(key(found.name), found)
        self.api.subscribe(self._show)

    async def look(self, wanted: ObjectKey) -> Candidate:
        """The Machine as it is now, with the other side as it should be."""
        try:
            found = seen(await self.api.get(mapi.Machine, wanted.name, namespace=NAMESPACE))
        except NotFound:
            found = Absent()
        return cases.candidate("ClusterAPI", machine_api=found, name=wanted.name)

    async def run(self, *names: str) -> dict[str, MigrationResult]:
        results = await self.waves.run([key(name) for name in names])
        return {moved.name: result for moved, result in results.items()}

    def spec(self, name: str) -> str:
        found = self.api.peek(mapi.Machine, name, namespace=NAMESPACE)
        assert found is not None
        return str(found.decode().spec.authoritative_api)

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until it is so."""
        while not holds():  # noqa: ASYNC110 - virtual time passes only when everybody else waits
            await asyncio.sleep(0.1)

    def _show(self, change: StoredWrite) -> None:
        gone = change.happened is Happened.DELETED
        name = change.tree["metadata"]["name"]
        self.last_seen.put(key(name), None if gone else Object.of(mapi.Machine, change.tree))
