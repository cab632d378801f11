"""What can go wrong while the parts of the control plane are obtained; each says what the caller may do about it.

The tree:

    BinariesError
    ├── MissingTool         a program is missing; the message has the command that installs it
    ├── NotEnoughCapacity   too little disk or memory for a build; free some, or bring your own programs
    ├── BuildFailed         the Go toolchain refused; the message has the end of its output
    └── UnusableAssets      the folder given by the user lacks a program that was asked for
"""


class BinariesError(Exception):
    """The parts of the control plane could not be obtained."""


class MissingTool(BinariesError):
    """A program that is needed is not installed."""


class NotEnoughCapacity(BinariesError):
    """The machine has too little free disk or memory to build."""


class BuildFailed(BinariesError):
    """A build or a module download failed."""


class UnusableAssets(BinariesError):
    """The folder named by the user does not hold what was asked of it."""
