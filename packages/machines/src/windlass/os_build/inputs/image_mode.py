"""Has parts of scripts and Containerfiles for bases of image mode: with bootc, and maybe without rpm-ostree. Pure.

| the base has | packages | at the end of a script | at the end of the build |
|---|---|---|---|
| rpm-ostree | `rpm-ostree install` | `ostree container commit` | |
| rpm-ostree and bootc | the same | the same | `bootc container lint` |
| bootc, dnf and no rpm-ostree | `dnf install` | | `bootc container lint` |

Kernels are switched by dnf on all of them. What the base has is found out in the build: nothing tells before.
"""

import re
from typing import Final

from windlass.os_build.constants import BOOTC_LINT

COMMIT: Final = """\
# Without rpm-ostree there is no such command, and bootc looks at the image when the build ends.
if command -v rpm-ostree > /dev/null || ! command -v bootc > /dev/null; then ostree container commit; fi
"""
INSTALL: Final = """\
install() {
    if command -v rpm-ostree > /dev/null; then
        rpm-ostree install "$@"
    elif command -v dnf > /dev/null; then
        dnf -y install "$@" && dnf clean all
    else
        echo 'the base image has neither rpm-ostree nor dnf to install packages' >&2
        return 127
    fi
}
"""
# An early bootc has no lint, and no base without it is looked at.
LINT: Final = f"RUN if {BOOTC_LINT} --help > /dev/null 2>&1; then {BOOTC_LINT}; fi"

_RUN: Final = re.compile(r"^[ \t]*RUN[ \t]", re.IGNORECASE | re.MULTILINE)
_CONTINUES: Final = re.compile(r"\\\s*\Z")


def runs_commands(user_part: str) -> bool:
    """The user's part runs a command, so the image has a shell."""
    return _RUN.search(user_part) is not None


def linted(containerfile: str) -> str:
    """`containerfile` with the lint as its last step, unless the base lacks it."""
    # A backslash at the end would make our step a part of the user's.
    return f"{_CONTINUES.sub('', containerfile).rstrip()}\n\n{LINT}\n"
