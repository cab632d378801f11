"""A worker that crashes costs one failed case; all others run once."""

import subprocess
import sys
from pathlib import Path

from tests import scheduling

CRASHES = """
import os
from pathlib import Path

def test_before(): pass

def test_crash():
    try:
        Path("crashed").touch(exist_ok=False)
    except FileExistsError:
        return
    os.abort()

def test_after(): pass
"""


def test_what_a_crashed_worker_had_not_run_is_run_by_others(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"test_file_{number:02}.py").write_text("def test_one(): pass\n")
    (tmp_path / "test_file_05.py").write_text(CRASHES)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "tests.scheduling"]
    ended = subprocess.run(
        [*command, f"--rootdir={tmp_path}", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(scheduling.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.splitlines()[-1].startswith("1 failed, 13 passed"), ended.stdout
    assert "crashed while running 'test_file_05.py::test_crash'" in ended.stdout
