"""Computes delays of simulated instances from the age of an object, so that they survive a restart of the simulator."""

from datetime import datetime

from windlass.api.meta import ObjectMeta


def seconds_left(metadata: ObjectMeta, seconds: float, *, now: datetime) -> float:
    """How long until the object has existed for `seconds`; 0 if it has.

    The API server keeps creation times in whole seconds, so an object may seem up to a second older than it is.
    """
    if metadata.creation_timestamp is None:
        return seconds
    born = datetime.fromisoformat(metadata.creation_timestamp)
    return max(0.0, seconds - (now - born).total_seconds())
