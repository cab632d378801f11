"""Programs that leave others behind, and how long one waits for them."""

import asyncio
import os
import select
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from windlass.kube.config.exec_plugin import Ended, run_program


async def shell(script: str, *, seconds: float = PATIENCE) -> Ended:
    async with asyncio.timeout(PATIENCE):
        return await run_program(("/bin/sh", "-c", script), env=os.environ, timeout=seconds)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def nobody_reads(fifo: Path) -> bool:
    """Nobody has `fifo` open, or comes to an end soon who had."""
    try:
        write = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        poll = select.poll()
        poll.register(write, 0)
        return bool(poll.poll(PATIENCE * 1000))
    finally:
        os.close(write)


async def test_what_a_program_says_and_how_it_ends_is_told() -> None:
    assert await shell("echo printed; echo complained >&2; exit 3") == Ended(3, b"printed\n", b"complained\n")


async def test_much_output_is_read_to_its_end() -> None:
    assert len((await shell("head -c 1000000 /dev/zero")).printed) == 1_000_000


async def test_a_program_that_leaves_another_one_behind_has_ended(fifo: Path) -> None:
    ended = await shell(f"cat {fifo} & echo printed")
    assert ended.printed == b"printed\n"
    os.close(os.open(fifo, os.O_WRONLY))  # and so the other one ends too


async def test_when_its_time_is_over_what_it_started_is_killed_with_it(fifo: Path) -> None:
    with pytest.raises(TimeoutError):
        await shell(f"cat {fifo} & wait", seconds=0.5)
    assert nobody_reads(fifo)


async def test_a_cancelled_run_leaves_nothing_running(fifo: Path) -> None:
    started = fifo.with_name("started")
    running = asyncio.create_task(shell(f"touch {started}; cat {fifo}; wait"))
    async with asyncio.timeout(PATIENCE):
        while not started.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])
    assert nobody_reads(fifo)


async def test_a_run_that_is_cancelled_while_it_starts_leaves_nothing_running(fifo: Path) -> None:
    started = fifo.with_name("started")
    running = asyncio.create_task(shell(f"cat {fifo} & touch {started}; wait"))
    deadline = time.monotonic() + PATIENCE
    for _ in range(2):
        await asyncio.sleep(0)  # the process is there by now, and its pipes are not
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)  # noqa: ASYNC251 - the loop must stand still
    running.cancel()
    await asyncio.wait([running])
    assert nobody_reads(fifo)
