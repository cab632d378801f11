"""The frame of the command line: `windlass COMMAND`.

Each command is a module or package with a click command named `command`, loaded only when it is used: `windlass --help`
and shell completion must not wait for an HTTP stack.

| module or package | what it holds |
|---|---|
| `program` | all commands, and how one is run |
| `capabilities` | the list of capabilities, with the commands of each |
| `plan`, `run`, `manifests`, `web`, `demo`, `dev`, `completion`, `version` | commands for all of them, and others |

What commands share is `windlass.capability.conventions`; a capability has its own commands in its package `cli`.

Nothing slow is imported here: a Ctrl-C before `main` runs would print a Python traceback.
"""

import sys


def main(args: list[str] | None = None) -> int:
    """Run the command line `args` (default: this process's) and return its exit code; nothing is raised."""
    try:
        import windlass.api  # noqa: F401 - ends the process beside the program of the same name that PyPI has
        from windlass.cli.program import run

        return run(args)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130  # Exit.INTERRUPTED, which may not have been imported yet


def run_update_status(args: list[str] | None = None) -> int:
    """The program `windlass-update-status`: `windlass run update-status` under a name of its own, for a Deployment."""
    return main(["run", "update-status", *(sys.argv[1:] if args is None else args)])
