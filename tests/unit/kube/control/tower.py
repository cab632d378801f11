"""A trivial system outside Kubernetes: a tower with bells, and a fence before them."""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from windlass.kube.control.plan import Request
from windlass.kube.errors import Failure, Fenced


class RingBell(Request, frozen=True):
    SYSTEM: ClassVar[str] = "tower"
    bell: str = "big"
    key: str = ""
    SECRET: ClassVar[frozenset[str]] = frozenset({"key"})


class Cracked(Failure):
    """The bell broke: it has not rung, and will not."""


class Tower:
    """Carries to the tower: rings as `ring` says."""

    def __init__(self, ring: Callable[[Request], Awaitable[Any]]) -> None:
        self._ring = ring
        self.rung: list[Request] = []
        self.doubted: list[Request] = []

    async def send(self, request: Request, /) -> Any:
        self.rung.append(request)
        return await self._ring(request)

    def doubt(self, request: Request, /) -> None:
        self.doubted.append(request)


class Gate:
    """A fence that lets everything through, or nothing."""

    longest_write = 8.0

    def __init__(self, *, open_: bool = True) -> None:
        self._open = open_
        self.asked: list[float] = []

    def gate(self, seconds: float) -> None:
        self.asked.append(seconds)
        if not self._open:
            raise Fenced("not the leader")
