"""`python -m windlass` is the same program as `windlass`."""

import sys

from windlass.cli import main

if __name__ == "__main__":
    sys.exit(main())
