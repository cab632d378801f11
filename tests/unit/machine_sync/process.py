"""One process of ours that has just started, taking one object to rest on the in-memory API server."""

from datetime import datetime
from typing import Protocol, TypeVar

from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.rounds import MAX_ROUNDS, Ending
from windlass.kube.verbs import Api
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from .trees import NOW

S = TypeVar("S")


class Reconciled(Protocol):
    """What one process that has just started does about the object of a test: `reconciled` of either world."""

    async def __call__(self, api: Api, reader: MemoryReader, *, max_rounds: int = MAX_ROUNDS) -> Ending: ...


async def to_rest(
    controller: Controller[str, S],
    name: str,
    *,
    api: Api,
    reader: MemoryReader,
    now: datetime = NOW,
    max_rounds: int = MAX_ROUNDS,
) -> Ending:
    """What the controller does about the object of this name. Only what it declares can be read and written."""
    reader.only(controller)
    return await controller.reconcile(
        name,
        executor=Executor(api, ledger=reader, permits=Declared(controller.declared), now=lambda: now),
        now=lambda: now,
        max_rounds=max_rounds,
    )


async def rested(api: MemoryApi, reconciled: Reconciled) -> MemoryApi:
    """The world once one of us has done in it what there was to do."""
    rest = await reconciled(api, MemoryReader(api))
    assert not rest.failed, rest
    return api
