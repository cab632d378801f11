"""Every exit code of every `windlass` command, in one place.

Scripts branch on these, so a code keeps its meaning for good. docs/cli.md shows the same table; a test compares them.
"""

from enum import IntEnum


class Exit(IntEnum):
    """The result of a command, for the program that started it."""

    OK = 0
    FAILED = 1
    UNREADABLE = 2
    CHANGES = 3
    REFUSED = 4
    NEEDS_SOMEBODY = 5
    USAGE = 64
    BUG = 70
    TIMED_OUT = 124
    INTERRUPTED = 130
    CLOSED_PIPE = 141


MEANING = {
    Exit.OK: "Everything that was asked for was done.",
    Exit.FAILED: "Something could not be done; standard error says what. Everything else was done.",
    Exit.UNREADABLE: "The input cannot be read: a kubeconfig, credentials, or a file.",
    Exit.CHANGES: "`plan` has actions, `machines --unsynced` or `openstack orphans` has rows. Nothing went wrong.",
    Exit.REFUSED: "`windlass migrate` only: the pre-flight check refused some objects; all others were moved.",
    Exit.NEEDS_SOMEBODY: "`windlass status` only: the update has stalled or was refused, or what `--fail-on` names "
    "needs attention.",
    Exit.USAGE: "The command line is wrong: an unknown option, a missing argument, a value out of range.",
    Exit.BUG: "A defect of Windlass. `--log-level debug` shows where.",
    Exit.TIMED_OUT: "Something took longer than `--timeout` or `--wait`. It continues; run the command again to wait.",
    Exit.INTERRUPTED: "Interrupted by Ctrl-C (128 + SIGINT).",
    Exit.CLOSED_PIPE: "The reader of the output went away, as `head -1` does (128 + SIGPIPE).",
}
