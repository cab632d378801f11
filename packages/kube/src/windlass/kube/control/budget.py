"""Checks the p99 of a function's running time against a limit.

Decisions run on the event loop and block it. A single slow call is an accident; if the p99 exceeds the budget, the
work belongs in a thread, memoised by content.

    budget = Budget("machine-sync", limit=0.005)
    if exceeded := budget.spend(seconds):
        log.warning("decide takes longer than its budget", **exceeded)
"""


class Budget:
    """At most one of a hundred calls may take longer than `limit` seconds; judged over windows of `window` calls."""

    def __init__(self, name: str, *, limit: float = 0.005, window: int = 1000) -> None:
        self.name = name
        self.limit = limit
        self._window = window
        self._calls = 0
        self._slow: list[float] = []

    def spend(self, seconds: float) -> dict[str, float | int] | None:
        """Count one call. Returns the figures once 1% of the window was slow, then starts a new window."""
        self._calls += 1
        if seconds > self.limit:
            self._slow.append(seconds)
        if len(self._slow) > self._window // 100:
            figures = {
                "budget": self.limit,
                "slow_calls": len(self._slow),
                "calls": self._calls,
                "slowest": round(max(self._slow), 6),
            }
            self._reset()
            return figures
        if self._calls >= self._window:
            self._reset()
        return None

    def _reset(self) -> None:
        self._calls = 0
        self._slow.clear()
