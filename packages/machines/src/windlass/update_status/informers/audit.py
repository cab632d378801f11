"""Logs what is taken of informers and what is refused: once when it changes, at a bounded rate for each informer."""

from typing import Final

from windlass.kube.logger import Logger
from windlass.update_status.informers.churn import WINDOW, Allowance
from windlass.update_status.informers.heard import Heard

MOST_LINES: Final = 100
"""Of one informer within `WINDOW`."""


class Audit:
    """The lines about all informers."""

    def __init__(self) -> None:
        self._log = Logger(__name__)
        self._left: dict[str, Allowance] = {}
        self._more: set[str] = set()

    def answered(self, name: str, before: Heard, after: Heard, *, now: float) -> None:
        """Log the difference between two answers, at `now` in seconds of any clock."""
        if after.trouble and after.trouble != before.trouble:
            self._line("informer does not answer", name, now, why=after.trouble)
        elif before.trouble and not after.trouble:
            self._line("informer answers again", name, now, after_failures=before.failures)
        known, stays = {one.uid for one in before.insights}, {one.uid for one in after.insights}
        for one in after.insights:
            if one.uid not in known:
                said = one.insight
                facts = {"insight_level": said.level.title, "summary": said.summary}
                self._line("insight taken", name, now, uid=one.uid, **facts)
        for one in before.insights:
            if one.uid not in stays:
                self._line("insight resolved", name, now, uid=one.uid)
        for why in after.refused:
            if why not in before.refused:
                self._line("insight refused", name, now, why=why)

    def _line(self, event: str, name: str, now: float, **facts: object) -> None:
        if self._left.setdefault(name, Allowance(MOST_LINES)).take(now=now):
            self._more.discard(name)
            self._log.info(event, informer=name, **facts)
        elif name not in self._more:
            self._more.add(name)
            self._log.warning(
                "an informer changes too often for the log", informer=name, lines=MOST_LINES, seconds=WINDOW
            )
