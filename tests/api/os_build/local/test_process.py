"""Commands under a keeper end with their owner, with everything that they started."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import Stalls
from tests.waiting import until
from windlass.os_build.backends.local.process import Place, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="keepers use what only Linux has")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (folder := tmp_path / "build").mkdir()
    with (tmp_path / "lock").open("w") as lock:
        yield Place(folder, {"PATH": "/usr/bin:/bin", "OURS": "1"}, lock.fileno())


async def test_output_and_exit_code_are_those_of_the_command(place: Place) -> None:
    printed: list[bytes] = []
    script = "echo out; echo err >&2; echo $OURS; read line && echo never; exit 3"
    ended = await run(["sh", "-c", script], place=place, seconds=30, output=printed.append)
    assert (ended.code, ended.output, ended.overdue) == (3, "out\nerr\n1\n", False)
    assert b"".join(printed) == b"out\nerr\n1\n"
    assert place.folder.exists()


async def test_only_the_end_of_much_output_is_kept(place: Place) -> None:
    ended = await run(["sh", "-c", "yes | head -c 3000000; echo end"], place=place, seconds=30)
    assert ended.output.endswith("y\ny\nend\n")
    assert len(ended.output) == 1 << 16


async def test_a_command_that_cannot_be_run_fails(place: Place) -> None:
    ended = await run(["/nowhere/buildah"], place=place, seconds=30)
    assert ended.code == 1
    assert ended.output.startswith("Error: /nowhere/buildah cannot be run: ")


async def test_a_signal_that_ends_the_command_is_told(place: Place) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        assert (await run(["sh", "-c", f"kill -{number.value} $$"], place=place, seconds=30)).code == -number


async def test_what_a_command_leaves_in_the_background_is_killed(place: Place) -> None:
    begin = time.monotonic()
    ended = await run(["sh", "-c", "setsid sleep 60 & sleep 60 & echo $!"], place=place, seconds=30)
    assert time.monotonic() - begin < 20
    assert not alive(int(ended.output))


async def test_sigterm_comes_first_and_sigkill_after_a_grace(place: Place) -> None:
    script = "trap 'echo asked' TERM; echo $$; while :; do sleep 0.1; done"
    ended = await run(["sh", "-c", script], place=place, seconds=0.5, grace=0.5)
    assert ended.overdue
    assert "asked\n" in ended.output
    assert not alive(int(ended.output.split()[0]))


async def test_a_cancelled_command_is_gone_when_the_cancellation_is(place: Place) -> None:
    printed: list[bytes] = []
    task = asyncio.create_task(
        run(["sh", "-c", "trap '' TERM; echo $$; sleep 60"], place=place, seconds=60, output=printed.append)
    )
    await until(lambda: b"\n" in b"".join(printed))
    async with Stalls() as stalls:
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert time.monotonic() - begin < 3.0 + stalls.seconds
    assert not alive(int(b"".join(printed)))


async def test_the_command_ends_when_its_keeper_is_killed(place: Place) -> None:
    printed: list[bytes] = []
    task = asyncio.create_task(
        run(["sh", "-c", "echo $PPID $$; exec sleep 60"], place=place, seconds=60, output=printed.append)
    )
    await until(lambda: b"\n" in b"".join(printed))
    keeper, command = map(int, b"".join(printed).split())
    os.kill(keeper, signal.SIGKILL)
    assert (await task).code == -signal.SIGKILL
    await until(lambda: not alive(command))


@pytest.mark.parametrize("holds_the_pipe", [False, True], ids=["pipe-closed", "pipe-held-by-a-fork"])
async def test_the_command_and_the_folder_go_when_the_owner_is_gone(place: Place, *, holds_the_pipe: bool) -> None:
    keeper = Path(sys.modules[run.__module__].__file__ or "").with_name("_keeper.py")
    owner = f"""
import os, subprocess, sys, time
keeper = [sys.executable, "-I", "-S", {str(keeper)!r}, str(os.getpid()), "2", {str(place.folder)!r}]
subprocess.Popen([*keeper, "sh", "-c", "echo $$; setsid sleep 60 & sleep 60"], stdin=subprocess.PIPE)
if {holds_the_pipe}:
    os.fork()
time.sleep(60)
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", owner, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    pid = int(await process.stdout.readline())
    process.kill()
    await until(lambda: not alive(pid) and not place.folder.exists())
    if holds_the_pipe:
        os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


def alive(pid: int) -> bool:
    """It runs, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
