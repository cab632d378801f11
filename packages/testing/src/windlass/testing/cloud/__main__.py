"""`python -m windlass.testing.cloud`: install what clouds need ahead of time. Standard output lists the folders."""

import sys

from windlass.testing.cloud.cloud import install
from windlass.testing.cloud.errors import CloudError


def main() -> int:
    """Install; returns the exit code."""
    try:
        folders = install()
    except CloudError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1
    sys.stdout.writelines(f"{folder}\n" for folder in folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
