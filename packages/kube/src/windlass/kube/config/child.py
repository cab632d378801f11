"""Runs a program until it ends or times out, even if it leaves child processes behind.

    ended = await run(("aws", "eks", "get-token"), env=os.environ, timeout=60.0)
    print(ended.code, ended.printed, ended.complaint)

`asyncio.subprocess.Process` waits until every process has closed the program's output. When a shell script is killed,
the program that it started goes on running and may keep the output open indefinitely.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

_CLOSING_SECONDS = 1.0
"""How long to wait for the output to close after the program has ended: its own output arrives long before."""


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

    `terminal`: it shares our stdin and stderr. Otherwise it runs in a session of its own; on timeout or cancellation it
    is killed together with all processes that it started.
    """
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            _Output,
            *argv,
            stdin=None if terminal else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if terminal else asyncio.subprocess.PIPE,
            env=env,
            start_new_session=not terminal,
        )
    )
    try:
        # Shielded, because asyncio kills only the program itself when its start is cancelled.
        _, output = await asyncio.shield(starting)
        async with asyncio.timeout(timeout):
            await output.exited.wait()
        await _closed(output)
    finally:
        transport, output = await starting
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
