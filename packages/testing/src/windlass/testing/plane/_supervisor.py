"""Owns the processes of one plane, and kills them as soon as their owner ends, for whatever reason.

Run as a program by `processes.Processes`, in a session of its own so that neither Ctrl-C nor a SIGKILL of the owner's
process group reaches it. It reads one JSON command a line on standard input and answers each with one JSON line:

    {"do": "start", "name", "argv", "log"}   -> {"pid"}
    {"do": "stop", "names", "grace"}         -> {"codes": {name: code}}     SIGTERM, after `grace` seconds SIGKILL
    {"do": "kill", "name"}                   -> {"codes": {name: code}}     SIGKILL at once
    {"do": "poll", "name"}                   -> {"code": null while it runs}
    {"do": "keep"}                           -> {}                          do not remove the folders at the end
    anything that fails                      -> {"error"}

End of file on standard input means that the owner closed it or died: running processes are killed and the folders given
as arguments are removed. A pipe works on every Unix and closes when the process that holds it ends, whatever thread
created it; PR_SET_PDEATHSIG depends on the creating thread and exists only on Linux.

Standard library only, and nothing of windlass: it is run with `-I -S` to start fast.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

OWNER_CHECK_SECONDS = 1.0
"""Seconds between checks that the owner lives: a child that it forked may keep the pipe open for ever."""


class Supervisor:
    """The running processes by name, oldest first, and the folders to remove when all is over."""

    def __init__(self, folders: list[str]) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._folders = folders

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command and return the answer to it."""
        match command["do"]:
            case "start":
                return {"pid": self._start(command["name"], command["argv"], log=command["log"])}
            case "stop":
                return {"codes": self._stop(command["names"], grace=command["grace"])}
            case "kill":
                return {"codes": self._stop([command["name"]], grace=0)}
            case "poll":
                return {"code": self._children[command["name"]].poll()}
            case "keep":
                self._folders = []
                return {}
            case unknown:
                return {"error": f"unknown command {unknown!r}"}

    def _start(self, name: str, argv: list[str], *, log: str) -> int:
        with open(log, "ab") as output:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # A group of its own, so that its child processes are killed with it.
                process_group=0,
            )
        self._children[name] = child
        return child.pid

    def _stop(self, names: list[str], *, grace: float) -> dict[str, int]:
        children = {name: self._children[name] for name in names if name in self._children}
        if grace > 0:
            for child in children.values():
                _signal_group(child, signal.SIGTERM)
            _wait(list(children.values()), seconds=grace)
        for child in children.values():
            _signal_group(child, signal.SIGKILL)
        return {name: child.wait() for name, child in children.items()}

    def end(self) -> None:
        """Kill what still runs and remove the folders."""
        self._stop(list(self._children), grace=0)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # Not after the child was reaped: its id may belong to another group by then.
    if child.returncode is None:
        try:
            os.killpg(child.pid, number)
        except (ProcessLookupError, PermissionError):
            # Already ended, or (on macOS) a zombie that was not reaped yet.
            return


def _wait(children: list[subprocess.Popen[bytes]], *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for child in children:
        try:
            child.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return


def _commands(owner: int) -> Iterator[dict[str, Any]]:
    """Commands until the owner closes the pipe or is no longer our parent."""
    pending = b""
    while os.getppid() == owner:
        readable, _, _ = select.select([0], [], [], OWNER_CHECK_SECONDS)
        if not readable:
            continue
        received = os.read(0, 1 << 16)
        if not received:
            return
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            yield json.loads(line)


def main(owner: int, folders: list[str]) -> None:
    """Serve `owner`, a process id, until it is gone."""
    # SIGTERM to this process must not orphan its children either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    supervisor = Supervisor(folders)
    try:
        for command in _commands(owner):
            try:
                answer = supervisor.obey(command)
            except (OSError, KeyError) as problem:
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            os.write(1, json.dumps(answer).encode() + b"\n")
    except BrokenPipeError:
        # The owner died while it waited for an answer.
        return
    finally:
        supervisor.end()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
