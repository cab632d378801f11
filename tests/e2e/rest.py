"""What Windlass writes on a ground, and that it stops: in the end nothing is written any more."""

import time
from collections.abc import Callable

from tests.patience import PATIENCE, QUIET
from tests.waiting import eventually

from .ground import Ground

WRITES = {"create", "update", "patch", "delete", "deletecollection"}


def writes(ground: Ground) -> int:
    """How often Windlass has written on this ground."""
    events = ground.stage.plane.audit.events(user=ground.stage.user)
    return sum(event["verb"] in WRITES for event in events)


async def at_rest(ground: Ground) -> None:
    """Wait until Windlass has written nothing for `QUIET` seconds."""
    await unchanged(lambda: writes(ground), what="no write by Windlass")


async def unchanged(count: Callable[[], int], *, what: str) -> None:
    """Wait until the count has stayed the same for `QUIET` seconds; fail after `PATIENCE` more."""
    last = (count(), time.monotonic())

    async def look() -> tuple[int, float]:
        nonlocal last
        if (now := count()) != last[0]:
            last = (now, time.monotonic())
        return now, time.monotonic() - last[1]

    await eventually(look, lambda found: found[1] >= QUIET, within=PATIENCE + QUIET, what=what)
