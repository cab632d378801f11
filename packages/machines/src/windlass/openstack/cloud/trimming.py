"""Gives memory back to the system after large answers.

The C library keeps what a thread freed for that thread. So a process whose threads each once read an answer of 16 MiB
would keep as much for each of them, although nothing is held any more.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Final

AFTER: Final = 2.0
"""Seconds: an answer is freed only when nobody looks at its failure any more, and large answers come in numbers."""


def _of_the_c_library() -> Callable[[int], object] | None:
    """None: it is another one than glibc, and has no such function."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None


class Trimmer:
    """`soon` may be called by any thread, and as often as there is a reason."""

    def __init__(self) -> None:
        self._trim = _of_the_c_library()
        self._lock = threading.Lock()
        self._due = False

    def soon(self) -> None:
        """Give memory back in `AFTER` seconds; once for all calls until then."""
        with self._lock:
            if self._due or self._trim is None:
                return
            self._due = True
        timer = threading.Timer(AFTER, self._now)
        timer.daemon = True
        timer.start()

    def _now(self) -> None:
        with self._lock:
            self._due = False
        if self._trim is not None:
            self._trim(0)
