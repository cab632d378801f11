"""The command line: `windlass COMMAND`.

Each command is a module or package with a click command named `command`, loaded only when it is used: `windlass --help`
and shell completion must not wait for an HTTP stack.

| module or package | what it holds |
|---|---|
| `program` | the list of commands, and how one is run |
| `conventions` | the behaviour that all commands share: options, connection, output, errors, exit codes |
| `machine_sync`, `update_status` | the commands of one capability each; they import `conventions` and that capability |
| `plan`, `run`, `manifests`, `demo`, `dev`, `completion`, `version` | the commands of all capabilities, and others |

Another capability's commands are a package like these, and a line for each in `program.COMMANDS`.

Nothing slow is imported here: a Ctrl-C before `main` runs would print a Python traceback.
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


def run_update_status(args: list[str] | None = None) -> int:
    """The program `windlass-update-status`: `windlass run update-status` under a name of its own, for a Deployment."""
    return main(["run", "update-status", *(sys.argv[1:] if args is None else args)])
