"""The folders of a user's files, where the XDG Base Directory Specification puts them."""

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder `name` in `${XDG_CACHE_HOME:-~/.cache}/windlass`."""
    return _base("XDG_CACHE_HOME", ".cache") / "windlass" / name


def state_folder(name: str) -> Path:
    """The folder `name` in `${XDG_STATE_HOME:-~/.local/state}/windlass`."""
    return _base("XDG_STATE_HOME", ".local/state") / "windlass" / name


def _base(variable: str, default: str) -> Path:
    base = os.environ.get(variable, "")
    # The specification tells programs to ignore a relative path.
    return Path(base) if os.path.isabs(base) else Path.home() / default
