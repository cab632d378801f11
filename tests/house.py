"""Where the files of the program are: three distributions, one package."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = tuple(sorted((ROOT / "packages").glob("*/src")))
"""What each distribution adds to the path."""


def source(name: str) -> Path:
    """A file or folder of the program by its path below `windlass`, such as `kube/clock.py`."""
    (found,) = [path for each in SOURCES if (path := each / "windlass" / name).exists()]
    return found
