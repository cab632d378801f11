"""The supervisor's client: starts, stops and checks the processes of one plane."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windlass.testing.plane.errors import PlaneError

STOP_SECONDS = 10.0
"""Between SIGTERM and SIGKILL."""

_SUPERVISOR = Path(__file__).with_name("_supervisor.py")


class Processes:
    """The processes of one plane. All of them die with this one, even by SIGKILL, and `folders` are removed then.

    Methods block; they may be called from any thread.
    """

    def __init__(self, *, folders: Sequence[Path], log: Path) -> None:
        self._lock = threading.Lock()
        with log.open("ab") as complaints:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", _SUPERVISOR, str(os.getpid()), *map(str, folders)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Not our own standard error: a reader of that would wait until the plane ends.
                stderr=complaints,
                start_new_session=True,
            )

    def start(self, name: str, argv: Sequence[str | Path], *, log: Path) -> None:
        """Run `argv` as `name`, its output appended to `log`."""
        self._ask(do="start", name=name, argv=[str(argument) for argument in argv], log=str(log))

    def stop(self, *names: str, grace: float = STOP_SECONDS) -> None:
        """Ask the named processes to end, all at once, and kill those that still run after `grace` seconds."""
        self._ask(do="stop", names=names, grace=grace)

    def kill(self, name: str) -> None:
        """SIGKILL; the process is gone when this returns."""
        self._ask(do="kill", name=name)

    def exit_code(self, name: str) -> int | None:
        """The exit code of a process, None while it runs; negative if a signal ended it."""
        code: int | None = self._ask(do="poll", name=name)["code"]
        return code

    def keep_folders(self) -> None:
        """Do not remove the folders at the end."""
        self._ask(do="keep")

    def close(self) -> None:
        """Kill what still runs, remove the folders, end the supervisor."""
        with self._lock:
            assert self._supervisor.stdin is not None
            assert self._supervisor.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                self._supervisor.stdin.close()
            self._supervisor.wait()
            self._supervisor.stdout.close()

    def _ask(self, **command: Any) -> dict[str, Any]:
        with self._lock:
            assert self._supervisor.stdin is not None
            assert self._supervisor.stdout is not None
            try:
                self._supervisor.stdin.write(json.dumps(command).encode() + b"\n")
                self._supervisor.stdin.flush()
                line = self._supervisor.stdout.readline()
            except (BrokenPipeError, ValueError):
                line = b""
        if not line:
            raise PlaneError("the supervisor of the plane is gone, and with it the plane: start a new one")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PlaneError(f"the supervisor could not {command['do']} {command.get('name', '')}: {answer['error']}")
        return answer
