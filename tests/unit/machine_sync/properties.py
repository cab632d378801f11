"""What holds for whatever is mirrored, a Machine or a MachineSet: rest, one of us beside another, Events said once."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Emit, Plan
from windlass.kube.control.rounds import Ending
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader, MemoryReader

from .process import Reconciled

ROUNDS = 8
"""Within which anything comes to rest."""


async def comes_to_rest_and_stays_there(api: MemoryApi, reconciled: Reconciled) -> None:
    reader = MemoryReader(api)
    rest = await reconciled(api, reader, max_rounds=ROUNDS)
    if rest.failed:  # it comes back, and what the server refused before it may take after another write
        rest = await reconciled(api, reader, max_rounds=ROUNDS)
    assert "no rest" not in str(rest.next), rest.next
    version = api.version
    again = await reconciled(api, reader)
    assert api.version == version, [str(change) for change in api.changes_since(version)]
    assert (again.writes, type(again.next)) == (0, type(rest.next))


async def two_at_once_come_to_rest(
    api: MemoryApi,
    reconciled: Reconciled,
    *,
    frozen: Sequence[type[KubernetesObject]],
    turns: Sequence[int],
    meanwhile: Sequence[Callable[[], Awaitable[None]]],
) -> list[Ending]:
    """Two processes whose caches of the `frozen` kinds stand still at different moments.

    `turns` says which of the two, 0 or 1, sees everything in a turn; what happens `meanwhile` happens in one turn each.
    Given is how they come to rest when both see everything: after the first of them has looked, nobody writes.
    """
    readers = [LaggingReader(api), LaggingReader(api)]
    for turn, who in enumerate(turns):
        readers[who].release()
        other = readers[1 - who]
        other.freeze(*frozen)
        if turn < len(meanwhile):
            await meanwhile[turn]()
        await reconciled(api, readers[who])
        await reconciled(api, other)
    for reader in readers:
        reader.release()
    began = api.version
    rests = [await reconciled(api, reader) for reader in (*readers, *readers)]
    assert [rest.writes for rest in rests[1:]] == [0, 0, 0], [str(change) for change in api.changes_since(began)]
    return rests


async def reconciled_beside_another(api: MemoryApi, reconciled: Reconciled, *, write: int) -> None:
    """Three turns of one of us, while the other does all its work right before the `write`-th write of the first."""

    async def other() -> Ending:
        return await reconciled(api, MemoryReader(api))

    async def nothing() -> None: ...

    for _ in range(write - 1):
        api.conflict_by(nothing)
    api.conflict_by(other)
    for _ in range(3):
        await reconciled(api, MemoryReader(api))


def events_are_said_once(decided: Callable[[], Plan]) -> None:
    """A controller that starts anew plans the same Events, by the same names."""
    plans = [decided() for _ in range(2)]
    notes = [[(e.target.uid, e.reason, e.note) for e in plan.actions if isinstance(e, Emit)] for plan in plans]
    assert notes[0] == notes[1]
    assert len(set(notes[0])) == len(notes[0])


def settled(api: MemoryApi) -> list[Any]:
    """What is stored, less what counts writes."""
    result = []
    for tree in api.dump():
        if tree["kind"] == "Event":
            continue
        metadata = {k: v for k, v in tree["metadata"].items() if k not in ("resourceVersion", "managedFields", "uid")}
        result.append({**tree, "metadata": metadata})
    return result
