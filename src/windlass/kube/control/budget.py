"""Does a pure function keep to its time? Told only when one call in a hundred does not.

Decisions run on the event loop, where everybody waits while one thinks. A single slow call is an accident; a p99
beyond the budget is work that belongs in a thread, memoised by content.

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
        """Count one call. Returns the figures once the window's hundredth part was slow, then starts a new window."""
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
