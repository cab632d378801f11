"""Child processes do not outlive their owner, however it ends; `sleep` stands for etcd here."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lines import line_in
from tests.patience import PATIENCE
from windlass.testing.plane.errors import PlaneError
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.waiting import wait_for

SLEEPER = [sys.executable, "-S", "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
STUBBORN = [*SLEEPER[:-1], f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER[-1]}"]

OWNER = """
import sys, time
from pathlib import Path
from windlass.testing.plane.processes import Processes
folder = Path(sys.argv[1])
processes = Processes(folders=[folder / "data"], log=folder / "supervisor.log")
processes.start("sleeper", {sleeper!r}, log=folder / "sleeper.log")
{then}
print("ready", flush=True)
time.sleep(600)
"""
FORKS = """
import os
forked = os.fork()
if forked == 0:
    time.sleep(600)
(folder / "forked").write_text(str(forked))
"""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    (tmp_path / "data").mkdir()
    made = Processes(folders=[tmp_path / "data"], log=tmp_path / "supervisor.log")
    yield made
    made.close()


def test_a_process_that_ends_on_its_own_leaves_its_exit_code_and_its_output(
    processes: Processes, tmp_path: Path
) -> None:
    processes.start("short", ["sh", "-c", "echo out; echo err >&2; exit 3"], log=tmp_path / "log")
    assert wait_for(lambda: processes.exit_code("short"), seconds=PATIENCE) == 3
    assert (tmp_path / "log").read_text().split() == ["out", "err"]


def test_a_process_that_ignores_sigterm_is_killed_after_the_grace_period(processes: Processes, tmp_path: Path) -> None:
    pid = started(processes, STUBBORN, tmp_path)
    processes.stop("child", grace=0.2)
    assert not alive(pid)
    assert processes.exit_code("child") == -signal.SIGKILL


def test_a_polite_process_is_not_killed(processes: Processes, tmp_path: Path) -> None:
    pid = started(processes, SLEEPER, tmp_path)
    processes.stop("child", grace=PATIENCE)
    assert not alive(pid)
    assert processes.exit_code("child") == -signal.SIGTERM


def test_stopping_what_was_never_started_is_fine(processes: Processes) -> None:
    processes.stop("nobody")


def test_what_a_process_has_started_goes_with_it(processes: Processes, tmp_path: Path) -> None:
    script = f"{sys.executable} -S -c 'import os, time; print(os.getpid(), flush=True); time.sleep(600)' & wait"
    pid = started(processes, ["sh", "-c", script], tmp_path)
    processes.kill("child")
    assert wait_for(lambda: None if alive(pid) else True, seconds=PATIENCE)


def test_a_program_that_does_not_exist_is_an_error_that_names_it(processes: Processes, tmp_path: Path) -> None:
    with pytest.raises(PlaneError, match=r"could not start ghost.*No such file.*/nowhere"):
        processes.start("ghost", ["/nowhere"], log=tmp_path / "log")


def test_closing_kills_and_removes_the_folders(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    processes = Processes(folders=[tmp_path / "data"], log=tmp_path / "supervisor.log")
    pid = started(processes, STUBBORN, tmp_path)
    processes.close()
    assert not alive(pid)
    assert not (tmp_path / "data").exists()


def test_folders_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    processes = Processes(folders=[tmp_path / "data"], log=tmp_path / "supervisor.log")
    processes.keep_folders()
    processes.close()
    assert (tmp_path / "data").exists()


def test_when_the_supervisor_is_gone_the_error_says_so(processes: Processes) -> None:
    processes._supervisor.kill()
    processes._supervisor.wait()
    with pytest.raises(PlaneError, match="supervisor of the plane is gone"):
        processes.exit_code("anything")


@pytest.mark.parametrize("then", ["", FORKS], ids=["alone", "with a forked child that keeps the pipe open"])
def test_nothing_is_left_when_the_owner_is_killed(tmp_path: Path, then: str) -> None:
    (tmp_path / "data").mkdir()
    with owner(tmp_path, then) as killed:
        sleeper = wait_for(lambda: pid_in(tmp_path / "sleeper.log"), seconds=PATIENCE)
        assert sleeper is not None
        killed.kill()
        assert wait_for(lambda: None if alive(sleeper) else True, seconds=PATIENCE)
        assert wait_for(lambda: None if (tmp_path / "data").exists() else True, seconds=PATIENCE)
    if (tmp_path / "forked").exists():
        os.kill(int((tmp_path / "forked").read_text()), signal.SIGKILL)


def test_nothing_is_left_when_the_owners_whole_process_group_is_killed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with owner(tmp_path, "") as killed:
        sleeper = wait_for(lambda: pid_in(tmp_path / "sleeper.log"), seconds=PATIENCE)
        assert sleeper is not None
        os.killpg(killed.pid, signal.SIGKILL)
        assert wait_for(lambda: None if alive(sleeper) else True, seconds=PATIENCE)
        assert wait_for(lambda: None if (tmp_path / "data").exists() else True, seconds=PATIENCE)


def owner(folder: Path, then: str) -> subprocess.Popen[str]:
    """Another Python that starts a sleeper and would wait for ever."""
    program = OWNER.format(sleeper=SLEEPER, then=then)
    process = subprocess.Popen(
        [sys.executable, "-c", program, folder], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def started(processes: Processes, argv: list[str], folder: Path) -> int:
    processes.start("child", argv, log=folder / "log")
    pid = wait_for(lambda: pid_in(folder / "log"), seconds=PATIENCE)
    assert pid is not None
    return pid


def pid_in(log: Path) -> int | None:
    line = line_in(log)
    return None if line is None else int(line)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that nobody reaps is dead all the same.
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.strip().startswith("Z") and bool(state.strip())
