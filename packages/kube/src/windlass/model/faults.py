"""Faults on order: the next matching request fails, loses its answer, or finds that somebody else wrote first.

Tests say what goes wrong as values, before it happens:

    api.fail_next("patch", Machine, refusals.internal("etcd is slow"), times=2)
    api.lose_answer_next("create", Machine)                  # stored, but the caller gets OutcomeUnknown
    api.lose_answer_next("create", Machine, stored=False)    # not stored, and the caller cannot tell
    api.conflict_by(second_writer, "patch", Machine)         # runs between the caller's decision and its write
"""

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Any

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.kube.errors import KubeError, OutcomeUnknown
from windlass.kube.verbs import ApiRequest


class Happens(Enum):
    """What a fault does to a request."""

    FAILS = auto()
    ANSWER_LOST = auto()
    NOT_STORED = auto()
    SOMEBODY_FIRST = auto()


class Fault(Struct):
    """One order. `verb` empty means any write; `kind` or `name` None means any."""

    happens: Happens
    verb: str
    kind: type[KubernetesObject] | None
    name: str | None
    times: int
    error: KubeError | None = None
    writer: Callable[[], Awaitable[object]] | None = None

    def fits(self, request: ApiRequest[Any]) -> bool:
        return (
            self.times > 0
            and (self.verb == request.VERB if self.verb else request.WRITES)
            and (self.kind is None or self.kind.RESOURCE == request.kind.RESOURCE)
            and self.name in (None, request.name)
        )


class Faults:
    """The orders of one API; of several that fit a request the first one given happens first."""

    def __init__(self) -> None:
        self._orders: list[Fault] = []
        self._suspended = False

    def order(self, fault: Fault) -> None:
        self._orders.append(fault)

    @property
    def pending(self) -> list[Fault]:
        """Orders that have not happened (often enough) yet: a test that expects all of them checks that it is empty."""
        return list(self._orders)

    async def before(self, request: ApiRequest[Any]) -> bool:
        """To be called before a request is carried out. Raises, or says whether its answer will be lost.

        One request meets every second writer that was ordered for it, once, and one failure or lost answer.
        """
        if self._suspended:
            return False
        fitting = [order for order in self._orders if order.fits(request)]
        for fault in fitting:
            if fault.writer is not None:
                self._count(fault)
                await self._undisturbed(fault.writer)
        ending = next((order for order in fitting if order.writer is None), None)
        if ending is None:
            return False
        self._count(ending)
        if ending.error is not None:
            raise ending.error
        if ending.happens is Happens.NOT_STORED:
            raise no_answer(request)
        return True

    def _count(self, fault: Fault) -> None:
        fault.times -= 1
        self._orders = [order for order in self._orders if order.times > 0]

    async def _undisturbed(self, writer: Callable[[], Awaitable[object]]) -> None:
        """Requests of the second writer itself meet no faults."""
        self._suspended = True
        try:
            await writer()
        finally:
            self._suspended = False


def no_answer(request: ApiRequest[Any]) -> OutcomeUnknown:
    """What a client raises for a write that was sent and not answered."""
    return OutcomeUnknown(f"{request}: the connection broke before the answer came")
