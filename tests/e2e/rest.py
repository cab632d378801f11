"""What Windlass writes on a ground, and that it stops: in the end nothing is written any more."""

import time

from tests.patience import PATIENCE, QUIET
from tests.waiting import eventually

from .ground import Ground

WRITES = {"create", "update", "patch", "delete", "deletecollection"}


def writes(ground: Ground) -> int:
    """How often Windlass has written on this ground."""
    events = ground.stage.plane.audit.events(user=ground.stage.user)
    return sum(event["verb"] in WRITES for event in events)


async def at_rest(ground: Ground) -> None:
    """Return when Windlass has written nothing for a while; fails if that does not come true."""
    last = (writes(ground), time.monotonic())

    async def look() -> float:
        nonlocal last
        if (count := writes(ground)) != last[0]:
            last = (count, time.monotonic())
        return time.monotonic() - last[1]

    await eventually(look, lambda seconds: seconds >= QUIET, within=PATIENCE + QUIET, what="no write by Windlass")
