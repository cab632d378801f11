"""What stands between a client and the API server and lets a write through, or not: leadership."""

from typing import Protocol


class Fence(Protocol):
    """Stands before each write. `windlass.kube.process.lease.Election` is one."""

    @property
    def longest_write(self) -> float:
        """The longest time, in seconds, that a write may take."""
        ...

    def gate(self, seconds: float) -> None:
        """Raise Fenced unless a write that takes up to `seconds` may be sent now."""
        ...
