"""Runs a command under a keeper: passes its output on, keeps the end of it, and ends the command at a deadline.

Nothing of the command is left when `run` returns or is cancelled, or when this process is gone, even by SIGKILL.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_STUCK: Final = 1.0
"""More seconds, after which the keeper itself is killed: the kernel cannot end its command now."""
_KEPT: Final = 1 << 16
"""Bytes of the output's end."""

_KEEPER: Final = Path(__file__).with_name("_keeper.py")

Output = Callable[[bytes], None]


class Ended(Struct, frozen=True):
    """How a command ended. `code` is negative if a signal ended it; `output` is the end of what it printed."""

    code: int
    output: str
    overdue: bool = False


class Place(Struct, frozen=True):
    """Where a command runs: its folder, which is removed if this process is gone, and its environment.

    `lock`: a descriptor of the lock on everything here, which the keeper shares until the command is gone.
    """

    folder: Path
    environment: Mapping[str, str]
    lock: int


async def run(
    argv: Sequence[str], *, place: Place, seconds: float, output: Output = lambda _: None, grace: float = GRACE
) -> Ended:
    """Run `argv` for `seconds` at most. If this is cancelled, the command is ended first."""
    keeper = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_KEEPER), str(os.getpid()), str(grace), str(place.folder), *argv),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=place.folder,
        env=place.environment,
        pass_fds=(place.lock,),
        # Neither Ctrl-C nor a signal to our process group may reach it.
        start_new_session=True,
    )
    end = _End()
    reading = asyncio.create_task(_read(keeper, end, output))
    overdue = False
    try:
        async with asyncio.timeout(seconds):
            await asyncio.shield(reading)
            await keeper.wait()
    except TimeoutError:
        overdue = True
    finally:
        await _stop(keeper, grace=grace)
        # At once, unless a process escaped the keeper and holds the other end.
        await asyncio.wait([reading], timeout=_STUCK)
        reading.cancel()
    return Ended(-signal.SIGKILL if keeper.returncode is None else keeper.returncode, end.text, overdue)


class _End:
    """The end of what was printed."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > 4 * _KEPT:
            self._chunks = [b"".join(self._chunks)[-_KEPT:]]
            self._size = _KEPT

    @property
    def text(self) -> str:
        return b"".join(self._chunks)[-_KEPT:].decode(errors="replace")


async def _read(keeper: asyncio.subprocess.Process, end: _End, output: Output) -> None:
    assert keeper.stdout is not None
    while chunk := await keeper.stdout.read(_KEPT):
        end.add(chunk)
        output(chunk)


async def _stop(keeper: asyncio.subprocess.Process, *, grace: float) -> None:
    """End the command if it runs, and wait until it is gone."""
    if keeper.returncode is not None:
        return
    assert keeper.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        keeper.stdin.write(b"\n")
    try:
        async with asyncio.timeout(grace + _STUCK):
            await keeper.wait()
    except TimeoutError:
        keeper.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STUCK):
                await keeper.wait()
