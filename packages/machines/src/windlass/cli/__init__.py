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

import os
import sys


def main(args: list[str] | None = None) -> int:
    """Run the command line `args` (default: this process's) and return its exit code; nothing is raised."""
    try:
        if (other := _other_program()) is not None:
            sys.stderr.write(f"error: {other}\n")
            return 1  # Exit.FAILED
        from windlass.cli.program import run

        return run(args)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130  # Exit.INTERRUPTED, which may not have been imported yet


def _other_program() -> str | None:
    """PyPI has a program `windlass` of somebody else, with the same command and import name: each of the two overwrites
    files of the other. Ours is the distribution `windlass-machines`."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        if found := next(filter(_is_of_the_other, names), None):
            return (
                f"{os.path.join(folder, found)} is of a distribution named windlass, which shares the files of this "
                "program: an AI framework from PyPI, or this program from before it was called windlass-machines. Run "
                "`pip uninstall windlass`, and install Windlass again from its checkout, or give each an environment"
            )
    return None


def _is_of_the_other(name: str) -> bool:
    """`windlass-VERSION.dist-info`, or `.egg-info`. Without `re`, which takes longer to import than all this."""
    before, _, ending = name.rpartition(".")
    version = before.removeprefix("windlass-")
    return ending in ("dist-info", "egg-info") and version not in ("", before) and "-" not in version


def run_update_status(args: list[str] | None = None) -> int:
    """The program `windlass-update-status`: `windlass run update-status` under a name of its own, for a Deployment."""
    return main(["run", "update-status", *(sys.argv[1:] if args is None else args)])
