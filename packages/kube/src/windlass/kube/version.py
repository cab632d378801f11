"""The version of Windlass: all three distributions have the same, each in its `pyproject.toml`."""

from typing import Final

VERSION: Final = "0.1.0"
