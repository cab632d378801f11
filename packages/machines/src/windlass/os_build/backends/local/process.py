"""Runs commands under a keeper: passes their output on, keeps the end of it, and ends them at a deadline.

Nothing of a command is left when `run` returns or is cancelled, or when this process is gone, even by SIGKILL.
"""

import asyncio
import contextlib
import marshal
import os
import socket
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
    """Where a command runs: its folder, which is removed if this process is gone, and its environment."""

    folder: Path
    environment: Mapping[str, str]


class Keeper:
    """Runs one command at a time. Its keeper lives from the first command to `close`.

    `folder`: the argument of the keeper that `ps` shows. `lock`: a descriptor of the lock on that folder, which the
    keeper shares while it lives. `grace`: seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, folder: Path, *, lock: int, grace: float = GRACE) -> None:
        self._folder = folder
        self._lock = lock
        self._grace = grace
        self._process: asyncio.subprocess.Process | None = None
        self._channel: socket.socket

    async def run(self, argv: Sequence[str], *, place: Place, seconds: float, output: Output = lambda _: None) -> Ended:
        """Run `argv` for `seconds` at most. If this is cancelled, the command is ended first."""
        if self._process is None:
            await self._start()
        printed = b""

        async def read() -> int:
            nonlocal printed
            while (packet := await self._hear()).startswith(b">"):
                printed = (printed + packet[1:])[-_KEPT:]
                output(packet[1:])
            return int(packet) if packet else await self.close()

        self._say(marshal.dumps((str(place.folder), {**place.environment}, [*argv])))
        reading = asyncio.create_task(read())
        try:
            await asyncio.wait([reading], timeout=seconds)
        finally:
            if overdue := not reading.done():
                await self._stop(reading)
        if reading.exception():  # of `output`: the command runs on, but not longer than its keeper
            await self.close()
        return Ended(reading.result(), printed.decode(errors="replace"), overdue)

    async def close(self) -> int:
        """End the keeper, and return its exit code."""
        if (process := self._process) is None:
            return 0
        self._channel.close()
        code = await process.wait()
        # Not before: whoever closes it again, because this was cancelled, has to wait too.
        self._process = None
        return code

    async def _start(self) -> None:
        ours, keepers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with keepers, contextlib.ExitStack() as stack:
            stack.enter_context(ours)
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_KEEPER)),
                *(str(os.getpid()), str(self._lock), str(self._grace), str(self._folder)),
                stdin=keepers.fileno(),
                env={},
                pass_fds=(self._lock,),
                # Neither Ctrl-C nor a signal to our process group may reach it.
                start_new_session=True,
            )
            stack.pop_all()
        self._channel = ours

    async def _hear(self) -> bytes:
        """The next packet of the keeper; empty if it is gone."""
        with contextlib.suppress(ConnectionResetError):
            return await asyncio.get_running_loop().sock_recv(self._channel, 2 * _KEPT)
        return b""

    def _say(self, packet: bytes) -> None:
        # If the keeper is gone, `_hear` says so.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._channel.send(packet)

    async def _stop(self, reading: "asyncio.Task[int]") -> None:
        """End the command, and wait until it is gone."""
        self._say(b"stop")
        await asyncio.wait([reading], timeout=self._grace + _STUCK)
        if not reading.done() and self._process is not None:
            self._process.kill()
            await asyncio.wait([reading])
