"""docs/cli.md shows the exit codes that the program has."""

import re
from pathlib import Path

from windlass.capability.conventions.exit_codes import MEANING, Exit

DOCS = Path(__file__).parents[4] / "docs" / "cli.md"


def test_the_documented_table_is_the_programs() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", DOCS.read_text(), re.MULTILINE)

    assert rows == [(str(int(code)), meaning) for code, meaning in MEANING.items()]


def test_every_code_has_a_meaning() -> None:
    assert set(MEANING) == set(Exit)
