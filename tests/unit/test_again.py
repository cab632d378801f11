"""`tests.again`: a case that failed gets a second try, alone; more than three, or a second failure, fail the run."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

AT_FIRST = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_shaky(number):
    seen = Path(__file__).with_name(f"seen-{{number}}")
    first = not seen.exists()
    seen.touch()
    assert not first, f"shaken {{number}}"

def test_steady():
    Path(__file__).with_name("steady").open("a").write("x")
"""
HANGS = """
import threading

def test_hanging():
    threading.Event().wait()
"""
ALWAYS = """
def test_broken():
    assert not "broken"
"""


def run(folder: Path, *tests: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    for number, text in enumerate(tests):
        (folder / f"test_{number}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    # A worker of pytest-xdist tells its children that they are workers, too.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "tests.again", "-q", "-p", "no:randomly", *options, str(folder)],
        env={**environment, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_cases_that_pass_alone_are_named_at_the_end_with_their_first_traceback(tmp_path: Path) -> None:
    result = run(tmp_path, AT_FIRST.format(count=3))

    assert result.returncode == 0, result.stdout
    end = result.stdout.partition("3 passed")[2]
    for number in range(3):
        assert f"AssertionError: shaken {number}" in end
        assert f"test_shaky[{number}] failed beside other tests and passed alone" in end


def test_a_case_that_hangs_fails_with_the_stack_at_which_it_hangs(tmp_path: Path) -> None:
    result = run(tmp_path, HANGS, options=["--timeout=1"])

    assert result.returncode == 1, result.stdout
    assert "threading.Event().wait()" in result.stdout
    assert "Timeout (>1.0s) from pytest-timeout" in result.stdout


def test_a_failed_case_that_had_its_turn_has_it_again(tmp_path: Path) -> None:
    result = run(tmp_path, 'import os\n\ndef test_sampled(): assert os.environ.get("WINDLASS_WHOLE")\n')

    assert result.returncode == 0, result.stdout


def test_only_failed_cases_run_again(tmp_path: Path) -> None:
    run(tmp_path, AT_FIRST.format(count=1))

    assert (tmp_path / "steady").read_text() == "x"


def test_a_second_failure_fails_the_run(tmp_path: Path) -> None:
    result = run(tmp_path, AT_FIRST.format(count=1), ALWAYS)

    assert result.returncode == 1
    assert "passed alone" not in result.stdout


def test_a_fourth_failure_fails_the_run_at_once(tmp_path: Path) -> None:
    result = run(tmp_path, AT_FIRST.format(count=4))

    assert result.returncode == 1
    assert "4 cases failed; at most 3 are run again" in result.stdout
    assert "shaken" not in result.stdout.partition("4 cases failed")[2]


def test_a_run_that_did_not_reach_every_case_is_not_repeated(tmp_path: Path) -> None:
    result = run(tmp_path, "import nothing_of_this_name")

    assert result.returncode == 2
    assert "again" not in result.stdout


def test_what_passes_the_first_time_runs_once(tmp_path: Path) -> None:
    result = run(tmp_path, "def test_fine(): pass")

    assert result.returncode == 0
    assert result.stdout.count("1 passed") == 1
