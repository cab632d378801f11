"""One process of ours that has just started, taking one object to rest on the in-memory API server."""

from datetime import UTC, datetime
from typing import Any

from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.rounds import MAX_ROUNDS, Ending
from windlass.kube.object import NamespacedName
from windlass.kube.verbs import Api
from windlass.model.reader import MemoryReader

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


async def to_rest(
    controller: Controller[NamespacedName, Any],
    key: NamespacedName,
    *,
    api: Api,
    reader: MemoryReader,
    now: datetime = NOW,
    max_rounds: int = MAX_ROUNDS,
) -> Ending:
    """What the controller does about the object of this key. Only what it declares can be read and written."""
    reader.only(controller)
    return await controller.reconcile(
        key,
        executor=Executor(api, ledger=reader, permits=Declared(controller.declared), now=lambda: now),
        now=lambda: now,
        max_rounds=max_rounds,
    )
