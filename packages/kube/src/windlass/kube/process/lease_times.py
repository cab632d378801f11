"""The times of a leader election, and the time that they leave for a write."""

from msgspec import Struct

SHORTEST_WRITE = 1.0
"""Seconds that a write needs at least."""


class LeaseTimes(Struct, frozen=True):
    """The times of an election, in seconds.

    `duration`: how long others wait for a holder that went silent. `renew_deadline`: how long a holder tries to renew
    before it gives up. `retry`: time between attempts. `margin`: time between the last possible write and the expiry,
    for clocks that run at different speeds.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0
    margin: float = 1.0

    def __post_init__(self) -> None:
        if self.duration < 1 or self.duration != int(self.duration):
            raise ValueError(f"the lease duration must be whole seconds, at least 1, not {self.duration:g}")
        if not self.duration - self.margin > self.renew_deadline:
            raise ValueError(
                f"the lease duration ({self.duration:g} s) less the margin ({self.margin:g} s) must exceed the "
                f"renew deadline ({self.renew_deadline:g} s): raise the duration or lower the deadline"
            )
        if not self.renew_deadline > 1.2 * self.retry > 0:
            raise ValueError(
                f"the renew deadline ({self.renew_deadline:g} s) must exceed 1.2 retry periods ({self.retry:g} s): "
                "else one lost request loses the lease"
            )
        if self.longest_write < SHORTEST_WRITE:
            raise ValueError(
                f"the lease duration ({self.duration:g} s) less the margin ({self.margin:g} s) and two retry periods "
                f"({self.retry:g} s) leaves a write {self.longest_write:g} s, less than {SHORTEST_WRITE:g} s: raise "
                "the duration or lower the retry period"
            )

    @property
    def longest_write(self) -> float:
        """The longest time-out of a write that passes the gate at any moment while renewals succeed."""
        return self.duration - self.margin - 2 * self.retry
