"""Run a program until it ends or its time is over, whatever it leaves behind.

    ended = await run(("aws", "eks", "get-token"), env=os.environ, timeout=60.0)
    print(ended.code, ended.printed, ended.complaint)

`asyncio.subprocess.Process` waits until everybody has closed the program's output. A shell script that is killed
leaves the program that it had started, and that one holds the output open for as long as it likes.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

_CLOSING_SECONDS = 1.0
"""For the output of a program that has ended to be closed: what it printed itself is there long before."""


class Ended(Struct, frozen=True):
    """How a program ended, and what it wrote to stdout and stderr."""

    code: int
    printed: bytes
    complaint: bytes


class _Output(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.written = {1: bytearray(), 2: bytearray()}
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.written[fd] += data

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()


async def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - what it started is to be killed
    terminal: bool = False,
) -> Ended:
    """Run the program `argv`. Raises TimeoutError after `timeout` seconds, and OSError if it cannot be started.

    `terminal`: it shares our stdin and stderr. Otherwise it gets a session of its own, and when its time is over or we
    are cancelled, everything that it has started is killed with it.
    """
    transport, output = await asyncio.get_running_loop().subprocess_exec(
        _Output,
        *argv,
        stdin=None if terminal else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=None if terminal else asyncio.subprocess.PIPE,
        env=env,
        start_new_session=not terminal,
    )
    try:
        async with asyncio.timeout(timeout):
            await output.exited.wait()
        await _closed(output)
    finally:
        if not output.exited.is_set() and not terminal:
            with suppress(ProcessLookupError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
        transport.close()
        await _closed(output)
    return Ended(transport.get_returncode() or 0, bytes(output.written[1]), bytes(output.written[2]))


async def _closed(output: _Output) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSING_SECONDS):
            await output.closed.wait()
