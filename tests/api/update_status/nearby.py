"""`windlass-update-status` that finds the Services of informers on this machine."""

from pathlib import Path

from windlass.cli import run_update_status
from windlass.update_status.informers.fetching import SERVICE_CA, Fetcher

if __name__ == "__main__":
    usual = Fetcher.__init__

    def nearby(self: Fetcher, *, service_ca: Path = SERVICE_CA, resolve: object = None) -> None:
        usual(self, service_ca=service_ca, resolve=lambda _: ("127.0.0.1",))

    Fetcher.__init__ = nearby  # type: ignore[method-assign]
    run_update_status()
