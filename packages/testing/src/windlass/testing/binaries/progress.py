"""Reports the progress of a long build: plain lines on standard error, each with the elapsed time."""

import sys
import time
from collections.abc import Callable

Report = Callable[[str], None]
"""Takes one line of progress without a line end."""


def to_stderr(line: str) -> None:
    """Write a line to standard error at once."""
    sys.stderr.write(f"windlass: {line}\n")
    sys.stderr.flush()


class Clock:
    """Time since it was made, written for people: `8s`, `3m05s`."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def __str__(self) -> str:
        minutes, seconds = divmod(int(self.seconds), 60)
        return f"{minutes}m{seconds:02d}s" if minutes else f"{seconds}s"
