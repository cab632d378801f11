"""What builds on this machine leave in their folder."""

import os
from pathlib import Path


def files_of_builds(folder: Path) -> list[str]:
    """Files and folders of builds, those that are being deleted too. Stores of images may stay."""
    # os.walk passes over a folder that is deleted while it is listed; rglob of Python 3.11 raises FileNotFoundError.
    return [
        os.path.join(at, name)
        for part in ("builds", "trash")
        for at, folders, names in os.walk(folder / part)
        for name in (*folders, *names)
    ]
