"""Commands under a keeper end with their owner, with everything that they started."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.patience import Stalls
from tests.waiting import until
from windlass.os_build.backends.local.process import Keeper, Place

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="keepers use what only Linux has")

BUSY = "setsid sleep 60 & echo $PPID $$ $!; sleep 60"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (folder := tmp_path / "build").mkdir()
    return Place(folder, {"PATH": "/usr/bin:/bin", "OURS": "1"})


@pytest.fixture
async def keeper(tmp_path: Path) -> AsyncIterator[Keeper]:
    with (tmp_path / "lock").open("w") as lock:
        keeper = Keeper(tmp_path, lock=lock.fileno(), grace=0.5)
        yield keeper
        await keeper.close()


async def test_output_and_exit_code_are_those_of_the_command(keeper: Keeper, place: Place) -> None:
    printed: list[bytes] = []
    script = "echo out; echo err >&2; echo $OURS; read line && echo never; exit 3"
    ended = await keeper.run(["sh", "-c", script], place=place, seconds=30, output=printed.append)
    assert (ended.code, ended.output, ended.overdue) == (3, "out\nerr\n1\n", False)
    assert b"".join(printed) == b"out\nerr\n1\n"
    assert place.folder.exists()


async def test_only_the_end_of_much_output_is_kept(keeper: Keeper, place: Place) -> None:
    ended = await keeper.run(["sh", "-c", "yes | head -c 3000000; echo end"], place=place, seconds=30)
    assert ended.output.endswith("y\ny\nend\n")
    assert len(ended.output) == 1 << 16


async def test_a_command_that_cannot_be_run_fails(keeper: Keeper, place: Place) -> None:
    ended = await keeper.run(["/nowhere/buildah"], place=place, seconds=30)
    assert ended.code == 1
    assert ended.output.startswith("Error: /nowhere/buildah cannot be run: ")


async def test_a_signal_that_ends_the_command_is_told(keeper: Keeper, place: Place) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        assert (await keeper.run(["sh", "-c", f"kill -{number.value} $$"], place=place, seconds=30)).code == -number


async def test_what_a_command_leaves_in_the_background_is_killed(keeper: Keeper, place: Place) -> None:
    begin = time.monotonic()
    ended = await keeper.run(["sh", "-c", "setsid sleep 60 & sleep 60 & echo $!"], place=place, seconds=30)
    assert time.monotonic() - begin < 20
    assert not alive(int(ended.output))


async def test_sigterm_comes_first_and_sigkill_after_a_grace(keeper: Keeper, place: Place) -> None:
    script = "trap 'echo asked' TERM; echo $$; while :; do sleep 0.1; done"
    ended = await keeper.run(["sh", "-c", script], place=place, seconds=0.5)
    assert ended.overdue
    assert "asked\n" in ended.output
    assert not alive(int(ended.output.split()[0]))


async def test_a_cancelled_command_is_gone_when_the_cancellation_is(keeper: Keeper, place: Place) -> None:
    printed: list[bytes] = []
    task = asyncio.create_task(
        keeper.run(["sh", "-c", "trap '' TERM; echo $$; sleep 60"], place=place, seconds=60, output=printed.append)
    )
    await until(lambda: b"\n" in b"".join(printed))
    async with Stalls() as stalls:
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert time.monotonic() - begin < 3.0 + stalls.seconds
    assert not alive(int(b"".join(printed)))


async def test_the_command_ends_when_its_keeper_is_killed(keeper: Keeper, place: Place) -> None:
    printed: list[bytes] = []
    task = asyncio.create_task(
        keeper.run(["sh", "-c", "echo $PPID $$; exec sleep 60"], place=place, seconds=60, output=printed.append)
    )
    await until(lambda: b"\n" in b"".join(printed))
    pid, command = map(int, b"".join(printed).split())
    os.kill(pid, signal.SIGKILL)
    assert (await task).code == -signal.SIGKILL
    await until(lambda: not alive(command))


async def test_commands_share_a_keeper_until_it_is_closed_or_killed(keeper: Keeper, place: Place) -> None:
    async def parent() -> int:
        return int((await keeper.run(["sh", "-c", "echo $PPID"], place=place, seconds=30)).output)

    first = await parent()
    assert await parent() == first
    await keeper.close()
    assert not alive(first)
    second = await parent()
    os.kill(second, signal.SIGKILL)
    assert (await keeper.run(["true"], place=place, seconds=30)).code == -signal.SIGKILL
    assert await parent() not in {first, second}


async def test_a_command_whose_output_cannot_be_passed_on_is_ended(keeper: Keeper, place: Place) -> None:
    printed: list[bytes] = []

    def fail(chunk: bytes) -> None:
        printed.append(chunk)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await keeper.run(["sh", "-c", "echo $$; exec sleep 60"], place=place, seconds=60, output=fail)
    assert not alive(int(printed[0]))


@pytest.mark.parametrize("forks", [False, True], ids=["socket-closed", "socket-held-by-a-fork"])
@pytest.mark.parametrize("busy", [True, False], ids=["busy", "idle"])
async def test_the_keeper_goes_when_its_owner_is_gone_with_the_command_and_its_folder(
    place: Place, *, busy: bool, forks: bool
) -> None:
    owner = f"""
import asyncio, os, pathlib, time
from windlass.os_build.backends.local.process import Keeper, Place

def fork(chunk):
    if {forks} and not os.fork():
        time.sleep(60)
    os.write(1, chunk)

async def main():
    place = Place(pathlib.Path({str(place.folder)!r}), {{"PATH": "/usr/bin:/bin"}})
    keeper = Keeper(place.folder, lock=os.open(os.devnull, os.O_RDONLY))
    ended = await keeper.run(["sh", "-c", "echo $PPID"], place=place, seconds=60)
    if {busy}:
        await keeper.run(["sh", "-c", {BUSY!r}], place=place, seconds=60, output=fork)
    fork(ended.output.encode())
    await asyncio.Event().wait()

asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", owner, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    processes = [int(word) for word in (await process.stdout.readline()).split()]
    process.kill()
    await until(lambda: not any(map(alive, processes)))
    assert place.folder.exists() is not busy
    if forks:
        os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


def alive(pid: int) -> bool:
    """It runs, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
