"""Run pytest, and run the cases that failed once more, alone, if there are at most three.

A case that fails twice fails the run, and so does a fourth one. A case that passes only the second time is a bug to
find: its name and its first traceback are the last lines of the output. A case that hangs fails after `LONGEST`, with
the stacks of all threads; nothing else would end it.

    python -m tests.again [ARGUMENTS OF PYTEST]
"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

MOST: Final = 3
"""How many cases may fail the first time."""
LONGEST: Final = 600
"""Seconds for a case with its fixtures; the longest take two minutes. Programs must have been built before."""


def main(arguments: Sequence[str]) -> int:
    """The exit code: pytest's of the first run, 0 if its failures were few and all passed alone."""
    with tempfile.TemporaryDirectory(prefix="windlass-tests-") as folder:
        report = Path(folder) / "first.xml"
        code = _pytest(*arguments, "--cache-clear", f"--junitxml={report}", "-o", "junit_logging=no")
        # Any other code says that pytest was interrupted or failed itself: then not every case has run.
        if code != pytest.ExitCode.TESTS_FAILED:
            return code
        tracebacks = failures(report.read_text())
    if len(tracebacks) > MOST:
        print(f"{len(tracebacks)} cases failed; at most {MOST} are run again.")
        return code
    print(f"Running {len(tracebacks)} failed again, alone: {', '.join(tracebacks)}", flush=True)
    # Whose turn it is was decided among all cases; decided again among these few, it would leave some out.
    os.environ["WINDLASS_WHOLE"] = "1"
    second = _pytest(*arguments, "-n", "0", "--dist", "no", "--last-failed", "--last-failed-no-failures", "none")
    if second != pytest.ExitCode.OK:
        return second
    for name, traceback in tracebacks.items():
        print(f"\n{traceback}\n{name} failed beside other tests and passed alone: find out why.")
    return 0


def failures(report: str) -> dict[str, str]:
    """The first traceback of each failed case in a JUnit report, by the name of the case."""
    found: dict[str, str] = {}
    for case in ET.fromstring(report).iter("testcase"):
        for problem in (*case.iter("failure"), *case.iter("error")):
            found.setdefault(f"{case.get('classname')}.{case.get('name')}", (problem.text or "").strip())
    return found


def _pytest(*arguments: str) -> int:
    command = [sys.executable, "-m", "pytest", f"--timeout={LONGEST}", *arguments]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
