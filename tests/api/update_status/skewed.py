"""`windlass-update-status` with a wrong clock: `python -m tests.api.update_status.skewed SECONDS [OPTIONS]`."""

import sys
from datetime import UTC, datetime, timedelta

from windlass.cli import run_update_status
from windlass.kube.clock import SystemClock

if __name__ == "__main__":
    wrong = timedelta(seconds=int(sys.argv.pop(1)))
    SystemClock.now = lambda self: datetime.now(UTC) + wrong  # type: ignore[method-assign]
    run_update_status()
