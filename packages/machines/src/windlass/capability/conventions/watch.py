"""How `--watch` looks again and again: the pause between two looks, and text that stays in place on a terminal."""

import sys
from typing import Final

LONGEST: Final = 60.0
"""Seconds between two looks at most."""
SHARE: Final = 10
"""The time between two looks is so many times what a look takes, so that large clusters are asked less often."""


def pause_after(took: float, *, shortest: float) -> float:
    """Seconds to the next look, after one that took so many."""
    return min(max(shortest, SHARE * took), LONGEST)


class InPlace:
    """Text on the terminal of standard output, until it is closed; each text replaces the one before."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=sys.stdout, highlight=False)
        self._live = Live("", console=console, auto_refresh=False, vertical_overflow="ellipsis")
        self._live.start()

    def show(self, text: str) -> None:
        from rich.text import Text

        self._live.update(Text.from_ansi(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def close(self) -> None:
        self._live.stop()
