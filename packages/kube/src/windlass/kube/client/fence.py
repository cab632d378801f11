"""The interface of a fence: it refuses writes while this process may not be the leader."""

from typing import Protocol


class Fence(Protocol):
    """Checked before each write, and each time that bytes of a write leave.

    `windlass.kube.process.lease.Election` is one.
    """

    @property
    def longest_write(self) -> float:
        """The longest time, in seconds, that a write may take."""
        ...

    def gate(self, seconds: float) -> None:
        """Raise Fenced unless a write that takes up to `seconds` may be sent now."""
        ...
