"""The health of a cache, for probes and people: its stage, its last error, its age.

A `Pulse` describes a reflector, a `Health` the cache around it. Both are snapshots of one moment.
"""

from enum import StrEnum

from msgspec import Struct

_PATIENCE = 30.0
"""Seconds for which following may fail before a cache counts as unreliable."""


class FollowStage(StrEnum):
    """The state of a reflector; the value is its text for people."""

    WAITING = "not started"
    LISTING = "listing"
    WATCHING = "watching"
    BACKING_OFF = "backing off"
    NOT_SERVED = "kind not served"
    STOPPED = "stopped"


class Pulse(Struct, frozen=True):
    """How a reflector is doing. Times are seconds."""

    stage: FollowStage
    stage_seconds: float
    """How long it has been in `stage`."""
    silent_seconds: float
    """How long ago the server last gave a sign of life: an event, a bookmark, a page of a list, a watch that opened."""
    listed: bool
    """At least one list was complete."""
    error: str = ""
    """The last error, until the next success."""
    failures: int = 0
    """Attempts in a row that failed."""
    failing_seconds: float | None = None
    """For how long they have been failing; None while a watch is open."""
    lists: int = 0
    """Lists that were complete, since the start."""
    watches: int = 0
    """Watches begun, since the start."""
    skipped: int = 0
    """Objects left out because their metadata cannot be read, counted each time they are sent."""
    forbidden: bool = False
    """The last error was that the kind may not be listed or watched."""

    @property
    def failing(self) -> str:
        """The current error, or nothing: an open watch is a success, even before its first event."""
        return self.error if self.failing_seconds is not None else ""


class Health(Struct, frozen=True):
    """How a cache is doing, for probes and people."""

    kind: str
    """As `Resource` prints it: `Machine.cluster.x-k8s.io/v1beta2`."""
    namespace: str | None
    synced: bool
    """The first list is complete: an object that the cache lacks did not exist, or was not selected, when listed."""
    served: bool
    objects: int
    pending: int
    """Own writes that the stream has not passed yet."""
    inactivity: float
    pulse: Pulse

    @property
    def trouble(self) -> str:
        """Why this cache is unreliable now, or nothing. A kind that is not served is no trouble."""
        pulse = self.pulse
        if not self.served:
            return ""
        because = f": {pulse.error}" if pulse.error else ""
        if pulse.stage in (FollowStage.WAITING, FollowStage.STOPPED):
            return str(pulse.stage)
        if not self.synced:
            return f"not synced: {pulse.stage} for {pulse.stage_seconds:.0f} s{because}"
        if (pulse.failing_seconds or 0.0) > _PATIENCE or pulse.silent_seconds > 2 * self.inactivity:
            return f"nothing heard for {pulse.silent_seconds:.0f} s: {pulse.stage}{because}"
        return ""
