"""What a program writes into a pipe, while it runs."""

import os
import select
import time
from collections.abc import Callable
from typing import IO

from tests.patience import PATIENCE


class Lines:
    """Lines of a pipe, waited for with a deadline."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._rest = b""

    def until(self, matches: Callable[[str], bool]) -> str:
        """The first line from here on that `matches`."""
        end = time.monotonic() + PATIENCE
        seen: list[str] = []
        while True:
            while b"\n" not in self._rest:
                ready, _, _ = select.select([self._pipe], [], [], max(end - time.monotonic(), 0))
                piece = os.read(self._pipe.fileno(), 65536) if ready else b""
                assert piece, f"not seen: got only {seen}"
                self._rest += piece
            line, _, self._rest = self._rest.partition(b"\n")
            seen.append(line.decode())
            if matches(seen[-1]):
                return seen[-1]
