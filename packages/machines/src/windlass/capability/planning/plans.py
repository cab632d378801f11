"""Makes the plan of each key: what a controller would do about it now, and what comes next."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from windlass.api.core import Event
from windlass.capability.planning.decider import Decider, PlanReader
from windlass.kube.control.asking import Inquiry
from windlass.kube.control.executor import event_name
from windlass.kube.control.plan import Action, Done, Emit, Next, Outcome
from windlass.kube.control.seen import Present, Reader, Unreadable
from windlass.kube.errors import Failure, KubeError
from windlass.kube.together import together

AT_ONCE = 16
"""Keys that are planned at the same time, as a running controller does."""


class KeyPlan(Struct, frozen=True):
    """The plan of one key, which stands for the `kind` called `name`.

    `actions` are those that would be sent: needed ones, without Events that exist already. `questions` are what the
    decision asked of the API server and of other systems, those of one moment together. `error` says why there is no
    plan, if reading failed.
    """

    kind: str
    name: str
    actions: tuple[Action, ...] = ()
    next: Next = Done()
    questions: tuple[tuple[str, ...], ...] = ()
    error: Failure | None = None

    @property
    def writes(self) -> int:
        """How many objects would be written, Events not counted."""
        return sum(not isinstance(action, Emit) for action in self.actions)

    @property
    def idle(self) -> bool:
        """There is nothing to do, to wait for or to say about it."""
        return not self.actions and isinstance(self.next, Done) and self.error is None


async def plans(asked: Iterable[tuple[Decider, Any]], reader: PlanReader, *, now: datetime) -> list[KeyPlan]:
    """The plans of the keys `asked` for, in their order."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(decider: Decider, key: Any) -> KeyPlan:
        async with gate:
            return await plan_of(decider, key, reader, now=now)

    return await together(one(decider, key) for decider, key in asked)


async def plan_of(decider: Decider, key: Any, reader: Reader, *, now: datetime) -> KeyPlan:
    """The plan of one key. It holds a Failure of reading; any other exception is a bug, and raised."""
    controller = decider.controller
    inquiry = controller.asker(now=lambda: now).inquiry(key)
    try:
        snapshot = await controller.observe(key, Outcome())
        plan = await inquiry.decide(snapshot, partial(controller.decide, now=now))
    except Failure as error:
        return KeyPlan(decider.kind, decider.name(key), questions=_texts(inquiry), error=error)
    actions = [action for action in plan.needed if not await _told(action, reader)]
    return KeyPlan(decider.kind, decider.name(key), tuple(actions), plan.next, _texts(inquiry))


def _texts(inquiry: Inquiry) -> tuple[tuple[str, ...], ...]:
    """What may have cost a request."""
    costly = (tuple(str(each) for each in some if not each.FREE) for some in inquiry.asked)
    return tuple(some for some in costly if some)


async def _told(action: Action, reader: Reader) -> bool:
    """Whether this Event exists already: the executor would count AlreadyExists as success."""
    if not isinstance(action, Emit):
        return False
    namespace = action.target.namespace or "default"
    try:
        found = await reader.see(Event, event_name(action), namespace=namespace)
    except KubeError:
        # Not worth failing for: at worst the plan shows an Event that would not be sent again.
        return False
    return isinstance(found, Present | Unreadable)
