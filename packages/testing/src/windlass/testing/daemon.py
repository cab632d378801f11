"""Keeps something running in the background for one user: it stays when the command that started it ends.

    ${XDG_STATE_HOME:-~/.local/state}/windlass/FOLDER/
        lock          locked by the process that owns it, for as long as it lives
        NAME.json     how to use it; written when it is ready
        NAME/         its logs and credentials

Only the lock tells whether it runs. The kernel releases it when its holder ends, so neither a crash nor a recycled
process id can make us kill an unrelated process.
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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from windlass.testing.plane.errors import PlaneError, StartFailed
from windlass.testing.plane.waiting import wait_for

STOP_SECONDS = 60.0
"""How long it may take to end: three times STOP_SECONDS of `processes`, and some reserve."""


class Daemon:
    """The one `what` of this user, for the commands that begin with `command`; its files are in `state`."""

    def __init__(self, state: Path, *, name: str, what: str, command: str) -> None:
        self._state = state.absolute()
        self._name = name
        self._what = what
        self._command = command

    def look(self) -> dict[str, Any] | None:
        """What its owner has published, if it lives and has."""
        if not self._locked():
            return None
        try:
            content: dict[str, Any] = json.loads(self._published.read_text(encoding="utf-8"))
        except FileNotFoundError:
            # Its owner lives and is still starting it.
            return None
        return content

    def refuse_a_second(self) -> None:
        """Raise PlaneError if there is an owner."""
        if self._locked():
            raise PlaneError(
                f"{self._what} is running or starting already: look at it with `{self._command} status`"
            )  # fmt: skip

    def spawn(self, module: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Run `python -m module STATE OPTIONS` as the owner; what it publishes. Raises StartFailed."""
        with subprocess.Popen(
            [sys.executable, "-m", module, self._state, json.dumps(options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        ) as owner:
            assert owner.stdout is not None
            # The owner closes its end of the pipe when it has succeeded or failed.
            said = owner.stdout.read()
            if (published := self.look()) is None:
                raise StartFailed(said.strip() or f"the owner of {self._what} ended with code {owner.wait()}")
            # It lives on; tell Popen not to wait for it.
            owner.returncode = 0
        return published

    def end(self) -> dict[str, Any]:
        """End it and remove its files; returns what was published. Raises PlaneError if there is none."""
        published = self.look()
        if published is None:
            raise PlaneError(f"no {self._bare} that `{self._command} up` started is running: there is nothing to stop")
        os.kill(published["pid"], signal.SIGTERM)
        if wait_for(lambda: None if self._locked() else True, seconds=STOP_SECONDS) is None:
            raise PlaneError(
                f"process {published['pid']} does not stop: see {published['logs']}, or kill -9 {published['pid']}"
            )
        self._forget()
        return published

    @contextlib.contextmanager
    def claim(self) -> Iterator[Path]:
        """Make this process the owner for a `with` block; gives the folder that it is to use.

        The owner publishes, and ends at SIGTERM: that is all that the others need. Raises PlaneError if there is an
        owner already.
        """
        self._state.mkdir(parents=True, mode=0o700, exist_ok=True)
        with open(self._state / "lock", "a", encoding="utf-8") as lock:
            # A process that only checks the lock holds it for a moment too.
            if wait_for(lambda: _try_lock(lock.fileno()), seconds=1.0) is None:
                raise PlaneError(f"{self._what} is running or starting already: `{self._command} down` stops it")
            self._forget()
            yield self._state / self._name

    def publish_content(self, content: Mapping[str, Any]) -> None:
        """Say that it is ready; `content` has `pid` and `logs`."""
        incoming = self._published.with_suffix(".json.incoming")
        incoming.write_text(json.dumps(content), encoding="utf-8")
        incoming.rename(self._published)

    @property
    def _published(self) -> Path:
        return self._state / f"{self._name}.json"

    @property
    def _bare(self) -> str:
        return self._what.partition(" ")[2]

    def _forget(self) -> None:
        """Remove the files, but never the lock: if a locked file is removed, a second owner can start."""
        self._published.unlink(missing_ok=True)
        shutil.rmtree(self._state / self._name, ignore_errors=True)

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


def stay(ready: Callable[[], None]) -> None:
    """Be the owner: call `ready`, which publishes, let the command that waits end, and return at SIGTERM."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    ready()
    let_go_of_output()
    stopping.wait()


def let_go_of_output() -> None:
    """Close our end of the pipe, so that the command that waits for it can end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def main(own: Callable[[Path, dict[str, Any]], None], *, problem: type[Exception]) -> int:
    """The command line of an owner. It prints a PlaneError, an OSError and a `problem` for the command that waits."""
    try:
        own(Path(sys.argv[1]), json.loads(sys.argv[2]))
    except (PlaneError, OSError, problem) as error:
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write(f"{error}\n")
        return 1
    return 0
