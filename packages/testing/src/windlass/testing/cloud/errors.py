"""What can go wrong with a cloud; each error says what the caller may do about it.

The tree:

    CloudError
    ├── InstallFailed       packages or databases could not be made; the message has the end of the log
    └── StartFailed         a service did not get ready; the message has the end of its log
"""

from pathlib import Path


class CloudError(Exception):
    """Something is wrong with a cloud of ours."""


class InstallFailed(CloudError):
    """The packages could not be installed, or the databases not be made."""


class StartFailed(CloudError):
    """A service of the cloud died or did not get ready in time."""


def end_of(log: Path) -> str:
    """The last lines of a log, indented, for an error message."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"    {line[:500]}" for line in lines[-20:]) or "    (it wrote nothing)"
