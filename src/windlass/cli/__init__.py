"""The command line: `windlass COMMAND`.

One module per command, each with a click command named `command`, loaded only when it is used: `windlass --help` and
shell completion must not wait for an HTTP stack. What all commands share:

| module | what it settles |
|---|---|
| `program` | which commands there are, and how one is run |
| `conventions` | the options that every command accepts, before or after its name |
| `exit_codes` | the table of exit codes |
| `complaints` | what went wrong, as one line with a remedy |
| `connection` | from those options to a client of the API server |
| `table` | rows as columns |
| `terminal` | who reads it; colour only for people |

Data goes to standard output, everything else to standard error. A reader that goes away is no error worth a word.

Nothing is imported here that takes time: Ctrl-C may come at any moment, and before `main` runs it is a traceback of
Python's.
"""

import sys


def main(args: list[str] | None = None) -> int:
    """Run the command line `args` (default: this process's) and return its exit code; nothing is raised."""
    try:
        from windlass.cli.program import run

        return run(args)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130  # Exit.INTERRUPTED, which may not have been imported yet
