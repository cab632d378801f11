"""Moving authority over one object while caches lag: who takes turns, and what must not happen to anything mirrored."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader, MemoryReader
from windlass.testing.crash import Actor

from .process import Reconciled
from .trees import OURS, PAUSED, THEIRS

MOST_TURNS = 20
"""Within which nothing changes any more."""


class Movable(Struct, frozen=True, kw_only=True):
    """An object that authority moves over, a Machine or a MachineSet, and who acts on it.

    `machine_api` and `cluster_api` are its kinds, `name` is its name in both; `reconciled` is what one of us does about
    it, `machine_api_core` and `cluster_api_core` what the controllers of either API do.
    """

    name: str
    machine_api: type[KubernetesObject]
    cluster_api: type[KubernetesObject]
    reconciled: Reconciled
    machine_api_core: Actor
    cluster_api_core: Sequence[Actor]

    async def everybody(self, api: MemoryApi, *readers: MemoryReader) -> None:
        """Turns of one of us per reader and of the controllers, until nothing changes any more."""
        for _ in range(MOST_TURNS):
            before = api.version
            for reader in readers:
                await self.reconciled(api, reader)
            for actor in (self.machine_api_core, *self.cluster_api_core):
                await actor(api)
            if api.version == before:
                return
        raise AssertionError("\n".join(str(change) for change in api.changes_since(0)[-12:]))

    async def ask(self, api: MemoryApi, authority: str) -> None:
        """A user asks for this authority."""
        body = {"spec": {"authoritativeAPI": authority}}
        await api.patch(self.machine_api, self.name, body, type=PatchType.MERGE, namespace=OURS)

    def sides(self, api: MemoryApi) -> tuple[str, bool]:
        """Who is authoritative, and whether Cluster API is paused."""
        ours = api.peek(self.machine_api, self.name, namespace=OURS)
        theirs = api.peek(self.cluster_api, self.name, namespace=THEIRS)
        assert ours is not None
        assert theirs is not None
        return ours.tree()["status"]["authoritativeAPI"], PAUSED in theirs.metadata.annotations


async def cluster_api_stays_paused_after_a_move_that_was_called_off(api: MemoryApi, what: Movable) -> None:
    """A successor still sees the Machine API paused in the middle of the move; the Machine API is authoritative."""
    reader, successor = LaggingReader(api), LaggingReader(api)
    await what.everybody(api, reader)
    await what.ask(api, "ClusterAPI")
    await what.reconciled(api, reader)
    await what.machine_api_core(api)
    assert what.sides(api) == ("Migrating", True)
    successor.freeze(what.machine_api)
    await what.ask(api, "MachineAPI")
    await what.everybody(api, reader)
    assert what.sides(api) == ("MachineAPI", True)
    await what.reconciled(api, successor)
    assert what.sides(api) == ("MachineAPI", True)


async def a_change_that_a_successor_has_not_seen_is_not_lost(
    api: MemoryApi, what: Movable, *, authority: str, field: str, value: Any
) -> None:
    """Somebody changes the object of `authority`; a successor has not seen it when it moves authority to the other."""
    path = field.split(".")
    change = reduce(lambda inner, key: {key: inner}, reversed(path), value)
    reader, successor = LaggingReader(api), LaggingReader(api)
    for each in ("ClusterAPI", authority):
        await what.ask(api, each)
        await what.everybody(api, reader)
    ours = authority == "MachineAPI"
    kind, namespace = (what.machine_api, OURS) if ours else (what.cluster_api, THEIRS)
    successor.freeze(kind)
    await api.patch(kind, what.name, change, type=PatchType.MERGE, namespace=namespace)
    await what.reconciled(api, reader)
    await what.ask(api, "ClusterAPI" if ours else "MachineAPI")
    await what.reconciled(api, successor)
    successor.release()
    await what.everybody(api, successor)
    assert what.sides(api) == (("ClusterAPI", False) if ours else ("MachineAPI", True))
    for kind, namespace in ((what.machine_api, OURS), (what.cluster_api, THEIRS)):
        found = api.peek(kind, what.name, namespace=namespace)
        assert found is not None
        assert reduce(lambda tree, key: tree[key], path, found.tree()) == value


async def who_has_not_seen_the_move_changes_nothing(api: MemoryApi, what: Movable, *, first: str, then: str) -> None:
    """Authority moves from `first` to `then`, of which a successor has seen nothing in the Machine API."""
    reader, successor = LaggingReader(api), LaggingReader(api)
    for authority in ("ClusterAPI", first):
        await what.ask(api, authority)
        await what.everybody(api, reader)
    successor.freeze(what.machine_api)
    await what.ask(api, then)
    await what.everybody(api, reader)
    assert what.sides(api) == (then, then == "MachineAPI")
    before = api.version
    await what.reconciled(api, successor)
    assert api.version == before, [str(change) for change in api.changes_since(before)]
