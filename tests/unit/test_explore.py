"""Exploring: every worker of a run sees the same tests, the next run sees others."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def seeds(number: str) -> str:
    """What a process that explores with this number draws, and how many of three cases it has."""
    program = (
        "from tests.explore import in_turn, seeds, usually; "
        "print(seeds(7), len(in_turn(1, 2, 3)), usually('few', exploring='many'))"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "WINDLASS_EXPLORE": number},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_number_gives_the_same_seeds_to_every_worker_and_another_one_others() -> None:
    assert seeds("1") == seeds("1") != seeds("2")
    assert seeds("1").endswith(" 3 many\n")


def test_without_a_number_nothing_is_explored() -> None:
    assert seeds("") == "[7] 1 few\n"
