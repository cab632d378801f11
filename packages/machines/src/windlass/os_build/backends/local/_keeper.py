"""Runs commands one after another, and ends all their processes when it is told to or when its owner is gone.

    python -I -S _keeper.py OWNER LOCK GRACE FOLDER

Run by `process`. Standard input is a socket to the owner, a process id:

| packet of the owner | what happens |
|---|---|
| folder, environment and words of a command | it runs; what it prints is sent, each packet after a `>` |
| `stop` | SIGTERM to the command's process group, after GRACE seconds SIGKILL |
| end of file, or the owner is no longer our parent | the same, then the folder is removed: nobody will ask for it |

The last packet of a command is its exit status, negative for a signal. Nothing of it is left then: processes that it
put into the background become children of this one (a child subreaper of Linux), and are killed. If this process is
killed, the kernel kills the command. LOCK is a descriptor that is open until this process ends. `ps` shows FOLDER.

Mounts of root are in a mount namespace of their own, and go with this process: buildah leaves one for each store that
uses overlay, and all that it has when it is killed.

Little of the standard library, and nothing of windlass: it is run with `-I -S` to start fast.
"""

import ctypes
import marshal
import os
import select
import signal
import sys
import time

_OWNER = 0
"""The socket."""
_LARGEST = 1 << 18
"""Bytes of a packet: more than the kernel lets through by default."""
_OWNER_CHECK_SECONDS = 1.0
"""Seconds between checks that the owner lives: a child that it forked may keep the socket open for ever."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_SLAVE = 0x4000, 1 << 19
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""This process stops by its socket: a signal to it must not orphan the command."""

_libc = ctypes.CDLL(None)
_prctl = _libc.prctl


class Keeper:
    """Serves `owner`. Its methods raise ConnectionError when the owner is gone."""

    def __init__(self, owner: int, *, grace: float) -> None:
        self._owner = owner
        self._grace = grace
        self._ended, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Run what the owner asks for."""
        while True:
            # What is to be stopped may have ended by itself.
            if _OWNER in self._wait([_OWNER]) and (packet := _packet()) != b"stop":
                folder, environment, words = marshal.loads(packet)
                self._run(words, folder=folder, environment=environment)

    def _run(self, words: list[str], *, folder: str, environment: dict[str, str]) -> None:
        printed, output = os.pipe()
        child = _start(words, folder=folder, environment=environment, output=output)
        os.close(output)
        try:
            self._accompany(child, printed)
        except ConnectionError:
            self._end(child)
            import shutil  # it takes as long to import as all the rest

            shutil.rmtree(folder, ignore_errors=True)
            raise
        status = self._end(child)
        while _pass_on(printed):
            continue
        os.close(printed)
        os.write(_OWNER, b"%d" % status)

    def _accompany(self, child: int, printed: int) -> None:
        """Pass on what the command prints, until it ends or is to be stopped."""
        watched = [_OWNER, printed]
        while _runs(child):
            readable = self._wait(watched)
            if printed in readable and not _pass_on(printed):
                watched.remove(printed)
            if _OWNER in readable:
                _packet()
                return

    def _wait(self, watched: list[int]) -> list[int]:
        """Those of `watched` that can be read, if any; a child has ended if none can."""
        readable: list[int] = []
        while not readable:
            readable, _, _ = select.select([*watched, self._ended], [], [], _OWNER_CHECK_SECONDS)
            if os.getppid() != self._owner:
                raise ConnectionResetError
        if self._ended in readable:
            os.read(self._ended, 4096)
        return readable

    def _end(self, child: int) -> int:
        """End the command if it runs, and everything that it has started, and return its exit status."""
        if _runs(child):
            _signal_group(child, signal.SIGTERM)
            deadline = time.monotonic() + self._grace
            while _runs(child) and (left := deadline - time.monotonic()) > 0:
                if select.select([self._ended], [], [], left)[0]:
                    os.read(self._ended, 4096)
        # It is not reaped yet, so no other process has its id.
        _signal_group(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        _kill_descendants()
        return os.waitstatus_to_exitcode(status)


def _packet() -> bytes:
    if packet := os.read(_OWNER, _LARGEST):
        return packet
    raise ConnectionResetError


def _pass_on(printed: int) -> bool:
    """Tell the owner what a command has printed; False at its end."""
    if chunk := os.read(printed, 1 << 16):
        os.write(_OWNER, b">" + chunk)
    return bool(chunk)


def _start(words: list[str], *, folder: str, environment: dict[str, str], output: int) -> int:
    """Run a command in a process group of its own, and return its process id."""
    keeper = os.getpid()
    if child := os.fork():
        return child
    try:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != keeper:
            os._exit(1)  # it was killed before that call: the kernel will not send the signal
        # The latter two are ignored by Python.
        for number in (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        os.execvpe(words[0], words, environment)
    except OSError as error:
        os.write(output, f"Error: {words[0]} cannot be run: {error}\n".encode(errors="replace"))
    finally:
        os._exit(1)


def _runs(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _signal_group(child: int, number: signal.Signals) -> None:
    try:
        os.killpg(child, number)
    except ProcessLookupError:
        os.kill(child, number)  # it was not in its group yet


def _kill_descendants() -> None:
    """Kill until there is no child: whoever loses its parent becomes ours."""
    try:
        while True:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                for pid in _descendants(os.getpid()):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except (ProcessLookupError, PermissionError):
                        continue
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


def _keep_mounts() -> None:
    """Hide later mounts from other processes. Without the right to do that, buildah itself does so."""
    if _libc.unshare(_CLONE_NEWNS) == 0:
        _libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_SLAVE), None)


def main() -> None:
    """Serve the owner that the command line names."""
    owner, lock, grace, _ = sys.argv[1:]
    os.set_inheritable(int(lock), False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _keep_mounts()
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        Keeper(int(owner), grace=float(grace)).serve()
    except ConnectionError:
        return


if __name__ == "__main__":
    main()
