"""What a program writes to a terminal, read at the terminal's end (the master) of a pty."""

import contextlib
import os
import select
import time

from tests.patience import PATIENCE


def see(master: int, text: bytes) -> None:
    """Return when `text` was written."""
    end, seen = time.monotonic() + PATIENCE, b""
    while text not in seen:
        ready, _, _ = select.select([master], [], [], max(end - time.monotonic(), 0))
        assert ready, f"{text!r} not seen in {seen!r}"
        seen += os.read(master, 65536)


def read_to_the_end(master: int) -> bytes:
    """All that is written until nobody has the other end open any more.

    The kernel hands it over piece by piece. A program whose terminal nobody reads stands still when that is full.
    """
    written = b""
    with contextlib.suppress(OSError):  # EIO is how Linux says the end, others say it with nothing
        while piece := os.read(master, 65536):
            written += piece
    return written
