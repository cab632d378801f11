"""Runs one command, and ends all its processes when it is told to or when its owner is gone.

    python -I -S _keeper.py OWNER GRACE FOLDER COMMAND...

Run by `process`. Standard input is a pipe of the owner, a process id:

| on the pipe | what happens |
|---|---|
| anything | SIGTERM to the command's process group, after GRACE seconds SIGKILL |
| end of file, or the owner is no longer our parent | the same, then FOLDER is removed: nobody will ask for it |

Standard output and error belong to the command. The exit status is the command's; a signal that ended it ends this
process too. Nothing of the command is left then: processes that it put into the background become children of this one
(a child subreaper of Linux), and are killed. If this process is killed, the kernel kills the command.

Standard library only, and nothing of windlass: it is run with `-I -S` to start fast.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time

_OWNER_CHECK_SECONDS = 1.0
"""Seconds between checks that the owner lives: a child that it forked may keep the pipe open for ever."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def keep(owner: int, grace: float, folder: str, *, argv: list[str]) -> int:
    """Run the command to its end, and return its exit status: negative for a signal."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ended, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    # This process stops by its pipe: a signal to it must not orphan the command.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

    keeper = os.getpid()

    def in_the_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != keeper:
            os._exit(1)  # it was killed before that call: the kernel will not send the signal
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    # This process has one thread, so `preexec_fn` is safe.
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, process_group=0, preexec_fn=in_the_child)
    told = _wait(child, owner=owner, ended=ended)
    if told is not None:
        _signal_group(child, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while child.poll() is None and (left := deadline - time.monotonic()) > 0:
            select.select([ended], [], [], left)
            _drain(ended)
        _signal_group(child, signal.SIGKILL)
    code = child.wait()
    _kill_descendants()
    if told == b"":
        import shutil  # it takes as long to import as all the rest

        shutil.rmtree(folder, ignore_errors=True)
    return code


def _wait(child: "subprocess.Popen[bytes]", *, owner: int, ended: int) -> bytes | None:
    """None when the command has ended by itself, else what came on the pipe: nothing if the owner is gone."""
    while child.poll() is None:
        readable, _, _ = select.select([0, ended], [], [], _OWNER_CHECK_SECONDS)
        if ended in readable:
            _drain(ended)
        if 0 in readable:
            return os.read(0, 1)
        if os.getppid() != owner:
            return b""
    return None


def _drain(pipe: int) -> None:
    while select.select([pipe], [], [], 0)[0]:
        os.read(pipe, 4096)


def _signal_group(child: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    # Not after the child was reaped: its id may belong to another group by then.
    if child.returncode is None:
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return


def _kill_descendants() -> None:
    """Kill until there is no child: whoever loses its parent becomes ours."""
    while True:
        for pid in _descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _descendants(ancestor: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", errors="replace") as stat:
                # The name in parentheses may have spaces and parentheses itself.
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(pid))
    found = [ancestor]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def main() -> None:
    """Keep the command of the command line, and end as it ended."""
    owner, grace, folder, *argv = sys.argv[1:]
    try:
        code = keep(int(owner), float(grace), folder, argv=argv)
    except OSError as error:
        sys.exit(f"Error: {argv[0]} cannot be run: {error}")
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
