"""Renders the script that changes units of the base image, which an archive of files cannot.

| declared | done to the base image, as the node daemon does it |
|---|---|
| `enabled: false` | the links that start the unit go, and those of the units that it names in `Also` |
| `mask: false`, no contents | `/etc/systemd/system/NAME` goes: the mask, if it is one |
| a drop-in with empty contents | the drop-in goes |
| `enabled: true`, contents in the base image | `systemctl enable`, if the image has that program and the unit |

The script needs `sh`, `rm`, `readlink` and `sed`. It runs before the archive is added, so that nothing of that goes.

Source: `writeUnits` of the operator's daemon. We differ in two things: the daemon resets units without `enabled` to
their presets, and disables an enabled unit before it writes other contents; here both stay as the base image has them.
"""

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from windlass.os_build.inputs.machine_config import Unit
from windlass.os_build.inputs.units import DIRECTORY, disabled_names, enabled_in_base


def script(units: Sequence[Unit]) -> str:
    """The script; empty if no unit of the base image changes. `units` are valid (`units.unit_nodes`)."""
    gone = list(_gone(units))
    disabled, enabled = disabled_names(units), enabled_in_base(units)
    if not (gone or disabled or enabled):
        return ""
    parts = [_HEAD]
    parts += [f'rm -rf "$root"{shlex.quote(path)}\n' for path in gone]
    if disabled:
        parts += [_DISABLE, *(f"disable {shlex.quote(name)}\n" for name in disabled)]
    if enabled:
        parts.append(_ENABLE.format(names=shlex.join(enabled)))
    parts.append('rm -f "$0"\n')
    return "".join(parts)


def _gone(units: Iterable[Unit]) -> Iterable[str]:
    for unit in units:
        path = f"{DIRECTORY}/{unit.name}"
        yield from (f"{path}.d/{drop_in.name}" for drop_in in unit.dropins or () if not drop_in.contents)
        if unit.mask is False and not unit.contents:
            yield path


_HEAD: Final = f"""\
#!/bin/sh
# Changes units of the base image as the rendered MachineConfig asks. The argument is another root than /.
set -eu

root=${{1:-}}
system=$root{DIRECTORY}
"""

_DISABLE: Final = """
seen=
disable() {
    case " $seen " in *" $1 "*) return ;; esac
    seen="$seen $1"
    for link in "$system"/* "$system"/*/*; do
        if [ -L "$link" ]; then
            target=$(readlink "$link")
            # A mask stays.
            case "${link##*/}/${target##*/}" in
            */null) ;;
            "$1"/* | */"$1") rm -f "$link" ;;
            esac
        fi
    done
    for file in "$system/$1" "$root/usr/lib/systemd/system/$1"; do
        if [ -f "$file" ]; then
            for also in $(sed -n 's/^Also=//p' "$file"); do
                disable "$also"
            done
            break
        fi
    done
}
"""

_ENABLE: Final = """
if command -v systemctl > /dev/null; then
    for unit in {names}; do
        systemctl --root="${{root:-/}}" enable "$unit" || echo "$unit is enabled when the machine boots first"
    done
fi
"""
