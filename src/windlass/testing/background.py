"""Runs a control plane in the background, for `windlass dev`: it stays when the command that started it ends.

    ${XDG_STATE_HOME:-~/.local/state}/windlass/dev/
        lock               locked by the process that owns the plane, for as long as it lives
        plane.json         the fields of `Running`; written when the plane is ready
        plane/             the plane's logs, keys and kubeconfigs

Only the lock tells whether the plane runs. The kernel releases it when its holder ends, so neither a crash nor a
recycled process id can make us kill an unrelated process.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from windlass.testing import crds
from windlass.testing.binaries import CLUSTER_API, CORE_PARTS, PARTS, BinariesError, obtain
from windlass.testing.machines import cluster_api
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.errors import PlaneError, StartFailed
from windlass.testing.plane.waiting import wait_for

STOP_SECONDS = 60.0
"""How long the plane may take to end: three times STOP_SECONDS of `processes`, and some reserve."""


@dataclass(frozen=True)
class Running:
    """A plane in the background; `pid` is the process that owns it, `since` is in RFC 3339."""

    pid: int
    url: str
    kubeconfig: str
    logs: str
    since: str
    cluster_api: bool

    @property
    def export(self) -> str:
        """The shell command that points kubectl and other programs at the plane."""
        return f"export KUBECONFIG={self.kubeconfig}"


class Background:
    """The one background plane of this user; its files are in `state`."""

    def __init__(self, state: Path | None = None) -> None:
        self._state = (state or _default_state()).absolute()

    def running(self) -> Running | None:
        """The plane, if it is up and was started by `up`."""
        if not self._locked():
            return None
        try:
            return Running(**json.loads((self._state / "plane.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            # Its owner lives and is still starting it.
            return None

    def up(self, *, with_cluster_api: bool = False, foreign_crds: bool = False, assets: str | None = None) -> Running:
        """Start the plane and return when it is ready. Raises PlaneError if there is one already."""
        if self._locked():
            raise PlaneError("a control plane is running or starting already: look at it with `windlass dev status`")
        # Here and not in the background, so that a first-time build is seen.
        wanted = [*CORE_PARTS, CLUSTER_API] if with_cluster_api else CORE_PARTS
        obtain(PARTS if foreign_crds else wanted, assets=assets)
        options = json.dumps({"with_cluster_api": with_cluster_api, "foreign_crds": foreign_crds, "assets": assets})
        with subprocess.Popen(
            [sys.executable, "-m", "windlass.testing.background", self._state, options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        ) as owner:
            assert owner.stdout is not None
            # The owner closes its end of the pipe when it has succeeded or failed.
            said = owner.stdout.read()
            if (running := self.running()) is None:
                raise StartFailed(said.strip() or f"the owner of the plane ended with code {owner.wait()}")
            # It lives on; tell Popen not to wait for it.
            owner.returncode = 0
        return running

    def down(self) -> Running:
        """Stop the plane and remove its files; returns what was running. Raises PlaneError if `up` started none."""
        running = self.running()
        if running is None:
            raise PlaneError("no control plane that `windlass dev up` started is running: there is nothing to stop")
        os.kill(running.pid, signal.SIGTERM)
        if wait_for(lambda: None if self._locked() else True, seconds=STOP_SECONDS) is None:
            raise PlaneError(f"process {running.pid} does not stop: see {running.logs}, or kill -9 {running.pid}")
        self._forget()
        return running

    def own(self, *, with_cluster_api: bool, foreign_crds: bool, assets: str | None) -> None:
        """Be the owner: run the plane until SIGTERM. For the background process itself."""
        stopping = threading.Event()
        with (
            self.claim() as directory,
            BlockingControlPlane(assets=assets, directory=directory) as plane,
        ):
            if with_cluster_api:
                cluster_api.start(plane)
            if foreign_crds:
                plane.apply_crds(*crds.documents())
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopping.set())
            self.publish(plane)
            let_go_of_output()
            stopping.wait()

    @contextlib.contextmanager
    def claim(self) -> Iterator[Path]:
        """Make this process the owner for a `with` block; gives the folder that its plane is to use.

        The owner publishes its plane, and ends it at SIGTERM: that is all that `running` and `down` need. Raises
        PlaneError if there is an owner already.
        """
        self._state.mkdir(parents=True, mode=0o700, exist_ok=True)
        with open(self._state / "lock", "a", encoding="utf-8") as lock:
            # A process that only checks the lock holds it for a moment too.
            if wait_for(lambda: _try_lock(lock.fileno()), seconds=1.0) is None:
                raise PlaneError("a control plane is running or starting already: `windlass dev down` stops it")
            self._forget()
            yield self._state / "plane"

    def _forget(self) -> None:
        """Remove a plane's files, but never the lock: if a locked file is removed, a second owner can start."""
        (self._state / "plane.json").unlink(missing_ok=True)
        shutil.rmtree(self._state / "plane", ignore_errors=True)

    def publish(self, plane: BlockingControlPlane) -> None:
        """Say that `plane` is ready, and how to use it."""
        running = Running(
            pid=os.getpid(),
            url=plane.url,
            kubeconfig=str(plane.kubeconfig()),
            logs=str(plane.connection.logs),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            cluster_api=cluster_api.runs(plane),
        )
        incoming = self._state / "plane.json.incoming"
        incoming.write_text(json.dumps(asdict(running)), encoding="utf-8")
        incoming.rename(self._state / "plane.json")

    def _locked(self) -> bool:
        try:
            with open(self._state / "lock", encoding="utf-8") as lock:
                fcntl.flock(lock.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False


def _try_lock(descriptor: int) -> bool | None:
    """True when the exclusive lock was taken, None when another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return True


def _default_state() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return home / "windlass" / "dev"


def let_go_of_output() -> None:
    """Close our end of the pipe, so that the command that waits for it can end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _main() -> int:
    options = json.loads(sys.argv[2])
    try:
        Background(Path(sys.argv[1])).own(**options)
    except (PlaneError, BinariesError, OSError) as problem:
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
