"""Waits for a condition with a deadline; all waiting in this package uses it."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05


def wait_for(look: Callable[[], T | None], *, seconds: float) -> T | None:
    """The first value of `look` that is not None, or None if `seconds` go by. `look` may raise to give up early."""
    deadline = time.monotonic() + seconds
    while True:
        looked = time.monotonic()
        found = look()
        if found is not None or time.monotonic() >= deadline:
            return found
        # A look may take CPU from what is waited for.
        time.sleep(max(POLL_SECONDS, time.monotonic() - looked))
