"""What other processes write into files for a test to read."""

from pathlib import Path


def line_in(file: Path) -> str | None:
    """The line in `file`, once all of it is there; None before, though the file may exist."""
    text = file.read_text() if file.exists() else ""
    return text.removesuffix("\n") if text.endswith("\n") else None
